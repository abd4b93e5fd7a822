#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/mutex.h"
#include "storage/partition_log.h"

namespace offsetfs::storage {

// The segments of a partition as one listing of its directory had them. Immutable but for what was
// learned of the segments since.
struct PartitionLog::Snapshot {
  static constexpr std::int64_t kUnknown = INT64_MIN;

  std::uint64_t number = 0;  // they count from 1
  SegmentList list;
  std::vector<ino_t> log_inos;         // of list.live
  FileInfo dir_info;                   // as it was before the listing
  std::uint32_t generations = 0;       // that were given out; see SegmentEntry
  std::optional<Offset> highest_base;  // of all segments ever seen
  bool may_be_stale = false;           // list again at the next look, whatever the mtime says
  // Of list.live: the times of a sealed segment, once somebody asked; coded, see Times.
  std::unique_ptr<std::atomic<std::int64_t>[]> times;
  // The greatest `largest` and `kafka` of all segments up to this one, as far as they are known:
  // both ascend, so that the first segment at or after a time is found by binary search.
  struct Running {
    std::int64_t largest = -1;
    std::int64_t kafka = -1;
  };
  mutable Mutex mutex;
  mutable std::vector<Running> running GUARDED_BY(mutex);

  const std::vector<SegmentEntry>& live() const { return list.live; }
  bool is_active(std::size_t index) const { return index + 1 == live().size(); }
  Offset first_base_offset() const { return live().empty() ? Offset{0} : live()[0].base_offset; }
  // The segment an offset belongs to: the last with base_offset <= offset. live().size(): none.
  std::size_t floor(Offset offset) const;
};

// The times of a segment that decide whether it may hold a record at or after a time.
struct PartitionLog::Times {
  TimestampMs largest = kNoTimestamp;
  TimestampMs kafka =
      kNoTimestamp;  // what a broker goes by: the `.log`'s mtime where `largest` is none

  // In one number: `largest`, or below -1 the mtime.
  std::int64_t coded() const { return largest.value >= 0 ? largest.value : -2 - kafka.value; }
  static Times decoded(std::int64_t value) {
    if (value >= 0) return {TimestampMs{value}, TimestampMs{value}};
    return {kNoTimestamp, TimestampMs{-2 - value}};
  }
};

// The largest timestamp of the active segment up to a batch boundary.
struct PartitionLog::ActiveTimes {
  Offset base_offset{};
  ino_t ino = 0;
  Position end{};
  TimestampMs largest = kNoTimestamp;
};

// The active segment's end, as its file was when that was looked at.
struct PartitionLog::ActiveTail {
  Offset base_offset{};
  ino_t ino = 0;
  std::int64_t size_bytes = 0;
  std::int64_t mtime_ns = 0;
  Offset settled{};  // it was looked at as if batches below this were written to their end
  SegmentTail tail;
};

// One call's view: a snapshot, and one end of the active segment for all of the call.
struct PartitionLog::Reading {
  std::shared_ptr<const Snapshot> snapshot;
  mutable std::optional<SegmentTail> tail;

  const std::vector<SegmentEntry>& live() const { return snapshot->live(); }
  bool is_active(std::size_t index) const { return snapshot->is_active(index); }
  std::size_t floor(Offset offset) const { return snapshot->floor(offset); }
  // Where the segment's share of the offsets ends: what it holds beyond is not looked at.
  Offset next_base_offset(std::size_t index) const {
    return is_active(index) ? kNoNextSegment : live()[index + 1].base_offset;
  }
};

// What a lookup came upon: the first batch with last_offset >= target, or damage in its place.
struct PartitionLog::Hit {
  enum class Kind { kNothing, kBatch, kDamaged };
  Kind kind = Kind::kNothing;
  std::shared_ptr<const CachedBatch> batch;  // kBatch
  Damage damage;                             // kDamaged; `next` is always there
  BatchPlace place;                          // of either
  std::string file;                          // kDamaged: the segment's name
  Offset next_base_offset = kNoNextSegment;  // above it another segment's batches count
};

// A segment vanished or shrank under the call: it begins again, on a fresh listing.
template <class Call>
auto PartitionLog::retried(const Call& call) const -> decltype(call()) {
  constexpr int kMostTries = 3;
  for (int tries = 1;; ++tries) {
    auto result = call();
    if (result || tries == kMostTries) return result;
    if (result.error().code != Errc::kNotFound && result.error().code != Errc::kOutOfRange) {
      return result;
    }
    look_again(true);
  }
}

}  // namespace offsetfs::storage
