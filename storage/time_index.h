#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "storage/file.h"
#include "storage/index_file.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::storage {

struct TimestampOffset {
  TimestampMs timestamp = kNoTimestamp;
  Offset offset{};
  friend bool operator==(const TimestampOffset&, const TimestampOffset&) = default;
};

// The sparse map timestamp -> offset beside a segment (`<base offset>.timeindex`).
//
//   file  := entry* zero*      big-endian; no header, no checksum
//   entry := timestamp: i64 ms   relative_offset: i32 (offset - base offset)
//
// What an entry (T, O) says: every record at an offset <= O has a timestamp <= T. On a sealed
// segment the last entry's T is the largest timestamp of the segment. A hint, as the offset index
// is. Any thread.
class TimeIndex {
 public:
  TimeIndex(std::unique_ptr<const File> file, Offset base_offset);

  // The greatest entry with timestamp <= target; nothing if there is none.
  Result<std::optional<TimestampOffset>> lookup(TimestampMs target) const;
  // The last genuine entry (the end of a padded file is found by binary search); nothing if empty.
  Result<std::optional<TimestampOffset>> last() const;
  // Every entry up to the first that does not ascend: what timeindex.tsv shows. Reads the whole
  // file. kTooLarge beyond kMostEntries.
  static constexpr std::size_t kMostEntries = std::size_t{4} << 20;
  Result<std::vector<TimestampOffset>> entries() const;
  // The same one by one, in O(1) memory, until `visit` returns false.
  Result<void> for_each(const std::function<bool(const TimestampOffset&)>& visit) const;

  const File& file() const { return index_.file(); }

 private:
  Result<std::optional<TimestampOffset>> zero_at_the_front() const;

  const IndexFile index_;
  const Offset base_offset_;
};

}  // namespace offsetfs::storage
