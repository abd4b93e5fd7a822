#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "storage/batch_header.h"
#include "storage/offset_index.h"
#include "storage/units.h"

namespace offsetfs::storage {

// Where a batch was found, and what it took to find it.
struct BatchPlace {
  BatchHeader header;
  Position position{};
  Offset segment_base_offset{};
  std::optional<OffsetPosition> index_entry;  // where the scan began; none: at the file's front
  std::int32_t batches_scanned = 0;
};

// A stretch of a `.log` that can't be read, from where a batch had to begin to where one begins
// again.
struct Damage {
  Position position{};
  Position end{};  // a batch boundary, or the end of what was looked at
  // The offsets that lay here, as far as the damaged header and its neighbours tell: [first, next).
  // `next` absent: all up to the end of the segment.
  Offset first{};
  std::optional<Offset> next;
  std::string what;  // a sentence without file and position: "CRC-32C expected ..., found ..."

  bool holds(Offset offset) const { return offset >= first && (!next || offset < *next); }
};

}  // namespace offsetfs::storage
