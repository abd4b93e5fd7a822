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
    ASSIGN_OR_RETURN(const Times times, times_of(current, index));
    timestamp.largest = times.largest;
  } else {
    ASSIGN_OR_RETURN(timestamp.largest, segment->max_timestamp(Position{info.size_bytes}));
  }
  return timestamp;
}

Result<PartitionLog::Times> PartitionLog::times_of(const Reading& reading,
                                                   std::size_t index) const {
  std::atomic<std::int64_t>& known = reading.snapshot->times[index];
  const bool active = reading.is_active(index);
  if (!active) {
    const std::int64_t coded = known.load(std::memory_order_relaxed);
    if (coded != Snapshot::kUnknown) return Times::decoded(coded);
  }
  ASSIGN_OR_RETURN(const auto segment, this->segment(reading.live()[index]));
  Times times;
  if (active) {
    ASSIGN_OR_RETURN(times.largest, largest_of_active(reading, *segment));
  } else {
    ASSIGN_OR_RETURN(const Position limit, search_limit(reading, index, *segment));
    ASSIGN_OR_RETURN(times.largest, segment->max_timestamp(limit));
  }
  times.kafka = times.largest;
  if (times.largest.value < 0) {
    times.largest = kNoTimestamp;
    ASSIGN_OR_RETURN(const FileInfo info, segment->log().info());
    times.kafka = TimestampMs{std::max<std::int64_t>(info.mtime_ns / 1'000'000, 0)};
  }
  if (!active) known.store(times.coded(), std::memory_order_relaxed);
  return times;
}

// Only what was appended since the last look is looked through.
Result<TimestampMs> PartitionLog::largest_of_active(const Reading& reading,
                                                    const Segment& segment) const {
  ASSIGN_OR_RETURN(const SegmentTail tail, active_tail(reading));
  std::shared_ptr<const ActiveTimes> known;
  {
    const MutexLock lock(mutex_);
    known = active_times_;
  }
  auto fresh = std::make_shared<ActiveTimes>();
  fresh->base_offset = segment.base_offset();
  fresh->ino = segment.opened_info().ino;
  fresh->end = tail.end;
  if (known && known->base_offset == fresh->base_offset && known->ino == fresh->ino &&
      known->end <= tail.end) {
    if (known->end == tail.end) return known->largest;
    ASSIGN_OR_RETURN(fresh->largest,
                     segment.max_timestamp_from(known->end, known->largest, tail.end));
  } else {
    ASSIGN_OR_RETURN(fresh->largest, segment.max_timestamp(tail.end));
  }
  const MutexLock lock(mutex_);
  active_times_ = fresh;
  return fresh->largest;
}

// The first segment whose time, the one or the other, is at or after `target`; live().size(): none.
Result<std::size_t> PartitionLog::first_segment_at(const Reading& reading, TimestampMs target,
                                                   By by) const {
  const Snapshot& snapshot = *reading.snapshot;
  const auto time = [by](const Snapshot::Running& running) {
    return by == By::kLargest ? running.largest : running.kafka;
  };
  const std::size_t count = snapshot.live().size();
  while (count > 0) {
    std::size_t known = 0;
    {
      const MutexLock lock(snapshot.mutex);
      const auto found = std::partition_point(
          snapshot.running.begin(), snapshot.running.end(),
          [&](const Snapshot::Running& running) { return time(running) < target.value; });
      if (found != snapshot.running.end()) {
        return static_cast<std::size_t>(found - snapshot.running.begin());
      }
      known = snapshot.running.size();
    }
    ASSIGN_OR_RETURN(const Times times, times_of(reading, known));
    Snapshot::Running next{times.largest.value, times.kafka.value};
    if (known + 1 == count) {
      return time(next) >= target.value ? known : count;  // the active one's go on
    }
    const MutexLock lock(snapshot.mutex);
    if (snapshot.running.size() != known) continue;  // somebody else was faster
    if (known > 0) {
      next.largest = std::max(next.largest, snapshot.running.back().largest);
      next.kafka = std::max(next.kafka, snapshot.running.back().kafka);
    }
    snapshot.running.push_back(next);
  }
  return count;
}

Result<TimeLookup> PartitionLog::find_time(TimestampMs target) const {
  return retried([&] { return find_time_once(target); });
}

Result<TimeLookup> PartitionLog::find_time_once(TimestampMs target) const {
  TimeLookup lookup;
  const Reading current{look_again(), {}};
  const std::size_t count = current.live().size();
  const Offset start = log_start(current);
  // Kafka takes times below 0 for special requests; no record has one.
  const TimestampMs time{std::max<std::int64_t>(target.value, 0)};
  // A broker takes the first segment that may hold it, by its mtime where no record has a time, and
  // looks no further.
  std::size_t brokers = count;
  if (target.value >= 0) {
    ASSIGN_OR_RETURN(brokers, first_segment_at(current, time, By::kKafka));
  }
  ASSIGN_OR_RETURN(std::size_t index, first_segment_at(current, time, By::kLargest));
  for (; index < count; ++index) {
    ASSIGN_OR_RETURN(const Times times, times_of(current, index));
    if (times.largest < time) continue;
    ASSIGN_OR_RETURN(const auto found, first_at_time(current, index, time, start, lookup.place));
    if (index == brokers) {
      ASSIGN_OR_RETURN(lookup.kafka, shown(current, found));
    }
    if (!found) continue;
    ASSIGN_OR_RETURN(lookup.record, seek_once(current, *found, Damaged::kFail));
    break;
  }
  return lookup;
}

// The first record or marker of a segment at or after `from` with a timestamp >= target.
Result<std::optional<Offset>> PartitionLog::first_at_time(const Reading& reading, std::size_t index,
                                                          TimestampMs target, Offset from,
                                                          std::optional<BatchPlace>& place) const {
  ASSIGN_OR_RETURN(const auto segment, this->segment(reading.live()[index]));
  ASSIGN_OR_RETURN(const Position limit, search_limit(reading, index, *segment));
  const Offset next_base_offset = reading.next_base_offset(index);
  while (true) {
    auto found = segment->find_batch_by_time(target, from, limit);
    if (!found) {
      if (found.error().code == Errc::kNotFound) return std::optional<Offset>();
      return fail(std::move(found.error()));
    }
    auto batch = read_through_cache(*segment, *found, next_base_offset);
    if (!batch && batch.error().code != Errc::kCorrupt && batch.error().code != Errc::kTooLarge &&
        batch.error().code != Errc::kUnsupported) {
      return fail(std::move(batch.error()));
    }
    if (batch) {
      RecordReader reader = (*batch)->batch()->records();
      Record record;
      while (reader.next(record) == RecordReader::Step::kRecord) {
        if (record.offset >= next_base_offset) return std::optional<Offset>();
        if (record.offset < from || record.timestamp < target) continue;
        place = std::move(*found);
        return std::optional(record.offset);
      }
    }
    from = found->header.next_offset();
    if (from >= next_base_offset) return std::optional<Offset>();
  }
}

Result<std::shared_ptr<const CachedBatch>> PartitionLog::read_through_cache(
    const Segment& segment, const BatchPlace& place, Offset next_base_offset) const {
  const auto known = shared_.batches->find(owner_, place.header.last_offset);
  if (known && known->place().position == place.position &&
      known->place().segment_base_offset == place.segment_base_offset) {
    return known;
  }
  const std::uint64_t forgets = shared_.batches->forgets();
  ASSIGN_OR_RETURN(auto batch, segment.read_batch(place, shared_.options.limits));
  auto cached = std::make_shared<const CachedBatch>(place, std::move(batch));
  if (cached->last_offset() < next_base_offset) shared_.batches->insert(owner_, cached, forgets);
  return std::shared_ptr<const CachedBatch>(std::move(cached));
}

}  // namespace offsetfs::storage
