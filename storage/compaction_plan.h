#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "storage/log_config.h"
#include "storage/units.h"

// What a compaction would work on, and whether it is worth it. Pure: no clock, no file.
// Source: Kafka 4.3.1, LogCleanerManager (grabFilthiestCompactedLog, cleanableOffsets,
// calculateCleanableBytes), Cleaner.groupSegmentsBySize.

namespace offsetfs::storage {

// A sealed segment.
struct CompactionSegment {
  Offset base_offset{};
  std::int64_t size_bytes = 0;  // of the `.log`
  std::int64_t offset_index_bytes = 0;
  std::int64_t time_index_bytes = 0;
  TimestampMs largest_timestamp = kNoTimestamp;  // the `.log`'s mtime where no record has a time
  TimestampMs first_batch_timestamp = kNoTimestamp;  // largest of the first batch
};

struct CompactionInput {
  std::vector<CompactionSegment> segments;  // oldest first; without the active one
  Offset active_base_offset{};
  Offset log_start_offset{};
  Offset log_end_offset{};
  Offset last_stable_offset{};
  std::optional<Offset> checkpoint;  // the first offset that was never cleaned, as noted
  LogConfig config;
  TimestampMs now{};
};

struct CompactionPlan {
  Offset first_dirty{};        // everything below was cleaned once
  Offset first_uncleanable{};  // a segment's base; records from here on stay as they are
  double dirty_ratio = 0;
  bool is_due = false;  // by min.cleanable.dirty.ratio or max.compaction.lag.ms
};

// Nothing where there is nothing that could be cleaned.
std::optional<CompactionPlan> plan_compaction(const CompactionInput& input);

// Segments [first, first + count) of those below `end` become one: as many as fit segment.bytes,
// the size of either index, and offsets that lie 2^31 - 1 apart at most.
struct CompactionGroup {
  std::size_t first = 0;
  std::size_t count = 0;
};
std::vector<CompactionGroup> group_segments(const CompactionInput& input, Offset end,
                                            Offset first_uncleanable);

}  // namespace offsetfs::storage
