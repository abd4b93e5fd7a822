#include <algorithm>
#include <utility>

#include "storage/partition_log.h"
#include "storage/partition_snapshot.h"

// Times -> records.

namespace offsetfs::storage {

Result<SegmentTimestamp> PartitionLog::largest_timestamp(const SegmentEntry& entry) const {
  ASSIGN_OR_RETURN(const auto segment, this->segment(entry));
  ASSIGN_OR_RETURN(const FileInfo info, segment->log().info());
  SegmentTimestamp timestamp;
  timestamp.mtime = TimestampMs{info.mtime_ns / 1'000'000};
  const Reading current{snapshot(), {}};
  const std::size_t index = current.floor(entry.base_offset);
  if (index < current.live().size() && current.live()[index] == entry) {
    ASSIGN_OR_RETURN(timestamp.largest, largest_of(current, index));
  } else {
    ASSIGN_OR_RETURN(timestamp.largest, segment->max_timestamp(Position{info.size_bytes}));
  }
  return timestamp;
}

Result<TimestampMs> PartitionLog::largest_of(const Reading& reading, std::size_t index) const {
  std::atomic<std::int64_t>& known = reading.snapshot->largest_timestamps[index];
  if (!reading.is_active(index)) {
    const std::int64_t value = known.load(std::memory_order_relaxed);
    if (value != Snapshot::kUnknown) return TimestampMs{value};
  }
  ASSIGN_OR_RETURN(const auto segment, this->segment(reading.live()[index]));
  ASSIGN_OR_RETURN(const Position limit, search_limit(reading, index, *segment));
  ASSIGN_OR_RETURN(const TimestampMs largest, segment->max_timestamp(limit));
  if (!reading.is_active(index)) known.store(largest.value, std::memory_order_relaxed);
  return largest;
}

Result<TimeLookup> PartitionLog::find_time(TimestampMs target) const {
  return retried([&] { return find_time_once(target); });
}

Result<TimeLookup> PartitionLog::find_time_once(TimestampMs target) const {
  TimeLookup lookup;
  const Reading current{look_again(), {}};
  const Offset start = log_start(current);
  // Kafka takes times below 0 for special requests; no record has one.
  bool kafka_decided = target.value < 0;
  const TimestampMs time{std::max<std::int64_t>(target.value, 0)};
  for (std::size_t i = 0; i < current.live().size(); ++i) {
    ASSIGN_OR_RETURN(const TimestampMs largest, largest_of(current, i));
    std::optional<Offset> found;
    if (largest >= time) {
      ASSIGN_OR_RETURN(found, first_at_time(current, i, time, start, lookup.place));
    }
    if (!kafka_decided) {
      // A broker takes the first segment that may hold it, by its mtime where no record has a time,
      // and looks no further.
      bool taken = largest >= time;
      if (largest.value < 0) {
        ASSIGN_OR_RETURN(const auto segment, this->segment(current.live()[i]));
        ASSIGN_OR_RETURN(const FileInfo info, segment->log().info());
        taken = info.mtime_ns / 1'000'000 >= time.value;
      }
      if (taken) {
        kafka_decided = true;
        lookup.kafka = found;
      }
    }
    if (found) {
      ASSIGN_OR_RETURN(lookup.record, seek_once(current, *found, Damaged::kFail));
      return lookup;
    }
  }
  return lookup;
}

// The first record or marker of a segment at or after `from` with a timestamp >= target.
Result<std::optional<Offset>> PartitionLog::first_at_time(const Reading& reading, std::size_t index,
                                                          TimestampMs target, Offset from,
                                                          std::optional<BatchPlace>& place) const {
  ASSIGN_OR_RETURN(const auto segment, this->segment(reading.live()[index]));
  ASSIGN_OR_RETURN(const Position limit, search_limit(reading, index, *segment));
  while (true) {
    auto found = segment->find_batch_by_time(target, from, limit);
    if (!found) {
      if (found.error().code == Errc::kNotFound) return std::optional<Offset>();
      return fail(std::move(found.error()));
    }
    auto batch = segment->read_batch(*found, shared_.options.limits);
    if (!batch && batch.error().code == Errc::kIo) return fail(std::move(batch.error()));
    if (batch) {
      RecordReader reader = (*batch)->records();
      Record record;
      while (reader.next(record) == RecordReader::Step::kRecord) {
        if (record.offset < from || record.timestamp < target) continue;
        place = std::move(*found);
        return std::optional(record.offset);
      }
    }
    from = found->header.next_offset();
  }
}

}  // namespace offsetfs::storage
