#pragma once

#include <cstddef>
#include <cstdint>

#include <unistd.h>

#include "storage/units.h"

namespace offsetfs::storage {

inline std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// The pages that hold the bytes of [position, position + size), size > 0.
struct PageRange {
  Position from;  // the first page's begin
  std::size_t pages = 0;

  static PageRange holding(Position position, std::size_t size) {
    const auto page = static_cast<std::int64_t>(page_bytes());
    const auto first = position.value / page;
    const auto last = (position.value + static_cast<std::int64_t>(size) - 1) / page;
    return {Position{first * page}, static_cast<std::size_t>(last - first + 1)};
  }
  std::size_t bytes() const { return pages * page_bytes(); }
  Position end() const { return from + static_cast<std::int64_t>(bytes()); }
  bool overlaps(const PageRange& other) const { return from < other.end() && other.from < end(); }
};

}  // namespace offsetfs::storage
