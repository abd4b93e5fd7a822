#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "storage/file.h"
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
// What an entry (T, O) says: every record at an offset <= O has a timestamp <= T. On a sealed segment
// the last entry's T is the largest timestamp of the segment. A hint, as the offset index is.
// Any thread.
class TimeIndex {
 public:
  TimeIndex(std::unique_ptr<const File> file, Offset base_offset);

  // The greatest entry with timestamp <= target; nothing if there is none.
  Result<std::optional<TimestampOffset>> lookup(TimestampMs target) const;
  // The last genuine entry (the end of a padded file is found by binary search); nothing if empty.
  Result<std::optional<TimestampOffset>> last() const;
  Result<std::vector<TimestampOffset>> entries() const;

 private:
  // Private parts are the implementer's.
  const std::unique_ptr<const File> file_;
  const Offset base_offset_;
};

}  // namespace offsetfs::storage
