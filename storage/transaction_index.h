#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "storage/file.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::storage {

struct AbortedTransaction {
  std::int64_t producer_id = -1;
  Offset first_offset{};
  Offset last_offset{};         // of the ABORT marker
  Offset last_stable_offset{};  // when the marker was appended
  friend bool operator==(const AbortedTransaction&, const AbortedTransaction&) = default;
};

// The aborted transactions whose markers lie in a segment (`<base offset>.txnindex`), in the order
// of their markers. Exists only where there are any.
//
//   file  := entry*      big-endian; no header, no checksum; offsets are absolute
//   entry := version: i16 (0)  producer_id: i64  first_offset: i64  last_offset: i64
//            last_stable_offset: i64
//
// Never padded; a last entry that is cut short was being appended. Any thread.
class TransactionIndex {
 public:
  static constexpr std::size_t kEntryBytes = 34;
  static constexpr std::size_t kMostEntries = std::size_t{1} << 20;

  TransactionIndex(std::unique_ptr<const File> file, Offset base_offset);

  // One by one, in O(1) memory, until `visit` returns false. kUnsupported for a version above 0 and
  // kCorrupt for a marker below the segment, each after the entries before it were visited.
  Result<void> for_each(const std::function<bool(const AbortedTransaction&)>& visit) const;
  // kTooLarge beyond kMostEntries.
  Result<std::vector<AbortedTransaction>> entries() const;

  const File& file() const { return *file_; }

 private:
  const std::unique_ptr<const File> file_;
  const Offset base_offset_;
};

}  // namespace offsetfs::storage
