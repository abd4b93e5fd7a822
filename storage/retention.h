#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/log_config.h"
#include "storage/units.h"

// Which segments of a log go, when, by which rule, and what holds the others back: the verdicts of
// Kafka's UnifiedLog.deleteOldSegments, computed and not carried out. Pure: no clock, no file.
//
// Each rule runs over the segments oldest first and stops at the first it may not take. The order
// in a run is log start, size, time; each works on what the one before left. Source: Kafka 4.3.1
// UnifiedLog (deleteLogStartOffsetBreachedSegments, deleteRetentionSizeBreachedSegments,
// deleteRetentionMsBreachedSegments), LogCleaner for compacted topics.

namespace offsetfs::storage {

// Where a segment's largest timestamp was read.
enum class TimestampOrigin {
  kLog,        // its record batches
  kTimeIndex,  // the last entry of its time index, as a broker takes it for a sealed segment
  kMtime,      // the `.log` file's modification time: no record had a time, or the index was lost
};
const char* timestamp_origin_name(TimestampOrigin origin);  // "log", "time index", "mtime"

struct RetentionSegment {
  Offset base_offset{};
  Offset next_offset{};         // upper bound: the next segment's base, or the log end
  std::int64_t size_bytes = 0;  // of the `.log`: indexes don't count
  TimestampMs largest_timestamp = kNoTimestamp;
  TimestampOrigin timestamp_origin = TimestampOrigin::kLog;
  bool is_known = true;  // false: it can't be read, so nothing is said of its time
};

struct RetentionInput {
  std::vector<RetentionSegment> segments;  // oldest first; the last is active
  Offset log_start_offset{};
  Offset log_end_offset{};
  Offset high_watermark{};
  bool is_internal = false;  // a topic of Kafka's own: never tiered
  LogConfig config;
  TimestampMs now{};
};

enum class RetentionRule { kNone, kLogStart, kSize, kTime };
const char* retention_rule_name(RetentionRule rule);  // "none", "log start", "size", "time"

// What stands between a segment and its deletion; the first that holds.
enum class Hold {
  kNothing,        // the next run takes it
  kNotExpired,     // its own time has not come
  kBehind,         // an older segment stays, and rules never pass over one: see `blocker`
  kFuture,         // its largest timestamp lies ahead of the clock
  kHighWatermark,  // not replicated as far as its end
  kActive,         // empty, or rolled only at an append: nothing to delete yet
  kNoRule,         // no rule of this policy deletes by time or size
  kUnknown,        // it can't be read: what a broker makes of it is not known
  kRemote,         // tiered storage: must be uploaded first, which the directory does not show
};
const char* hold_name(Hold hold);

// A moment as retention sees it: saturates instead of overflowing; kNever is "not by any rule".
inline constexpr TimestampMs kNever{INT64_MAX};

struct RetentionVerdict {
  Hold hold = Hold::kNothing;
  RetentionRule rule = RetentionRule::kNone;  // that takes it, or will take it first
  // From when on a run takes it, if nothing is appended and the replicas have caught up by then:
  // `now` or earlier for what is due already; kNever where only new records, a new setting,
  // DeleteRecords or (for what is overdue) a replica can make it go.
  TimestampMs due = kNever;
  // The files are renamed to .deleted by the first run after `due`, and unlinked after
  // file.delete.delay.ms: no sooner than `earliest_gone`, no later than `latest_gone` while a
  // broker works on it.
  TimestampMs earliest_renamed = kNever, latest_renamed = kNever;
  TimestampMs earliest_gone = kNever, latest_gone = kNever;
  std::optional<Offset> blocker;  // kBehind: base offset of the segment that stays
  std::int64_t bytes_to_go = 0;  // size rule: the log must grow by this before it takes the segment
  std::string reason;            // a sentence, with the figures it rests on
  bool rolls_first = false;      // the active segment: rolled in the run that takes it
};

// One verdict a segment, in order.
std::vector<RetentionVerdict> judge_retention(const RetentionInput& input);

// How many segments from the front a run at `now` deletes (the last one is rolled first if all go).
// What a writer's own retention carries out.
std::size_t count_deletable(const RetentionInput& input);

// A sentence where a timestamp is no sane millisecond time: looks like seconds, microseconds,
// nanoseconds, or lies ahead of `now` by over a day. Empty otherwise.
std::string implausible_timestamp(TimestampMs timestamp, TimestampMs now);

TimestampMs add_saturated(TimestampMs time, std::int64_t ms);

}  // namespace offsetfs::storage
