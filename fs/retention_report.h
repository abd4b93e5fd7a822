#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/partition_log.h"
#include "storage/result.h"
#include "storage/retention.h"
#include "storage/settings.h"

namespace offsetfs::fs {

// What retention/ says of one segment.
struct RetentionRow {
  // kDeleting: renamed to .deleted, its files are still there.
  enum class State { kActive, kKept, kExpired, kDeleting };

  State state = State::kKept;
  storage::RetentionSegment segment;
  storage::TimestampMs first_timestamp = storage::kNoTimestamp;  // of its first batch
  storage::RetentionVerdict verdict;                             // of kDeleting: the unlink alone
  std::string remark;  // impossible dates, what could not be read; empty else
};
const char* retention_state_name(RetentionRow::State state);

// retention/ of one partition at one moment: status, next, expired/, deleting/, the timeline and
// what-if are all views of this.
struct RetentionReport {
  storage::TopicPartition topic_partition;
  storage::TimestampMs now{};
  storage::EffectiveConfig config;
  bool knows_cluster = false;  // settings of the cluster's metadata log are among them
  storage::Offset log_start_offset{}, log_end_offset{};
  // As checkpointed: a lower bound. Where no checkpoint has one, the log end is assumed, as a
  // broker that is the only replica would.
  storage::Offset high_watermark{};
  bool high_watermark_known = false;
  std::vector<RetentionRow> deleting;  // by base offset
  std::vector<RetentionRow> segments;  // oldest first; the last is active

  std::int64_t size_bytes() const;  // of the live segments
  // The segment that goes next; null: none has a date.
  const RetentionRow* next() const;
};

// Reads what the report needs: the last time-index entry of each segment, its first batch header,
// the sizes. Opens each segment's files in turn, keeps none. kIo if the partition can't be listed;
// a segment that can't be read, or vanishes meanwhile, is a remark.
storage::Result<RetentionReport> make_retention_report(const storage::PartitionLog& log,
                                                       storage::EffectiveConfig config,
                                                       bool knows_cluster,
                                                       storage::TimestampMs now);

}  // namespace offsetfs::fs
