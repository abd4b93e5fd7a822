#include "storage/log_retention.h"

#include <utility>
#include <vector>

namespace offsetfs::storage {
namespace {

RetentionInput input_of(const LogWriter& log, TimestampMs now) {
  RetentionInput input;
  const auto segments = log.segments();
  input.log_start_offset = log.log_start_offset();
  // A log without replicas: what is appended is committed.
  input.log_end_offset = input.high_watermark = segments.back().next_offset;
  input.config = log.config();
  input.now = now;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    RetentionSegment segment;
    segment.base_offset = segments[i].base_offset;
    segment.next_offset =
        i + 1 < segments.size() ? segments[i + 1].base_offset : segments[i].next_offset;
    segment.size_bytes = segments[i].size_bytes;
    segment.largest_timestamp = segments[i].indexes.max_timestamp;
    segment.timestamp_origin = TimestampOrigin::kTimeIndex;
    if (segment.largest_timestamp.value < 0) {
      segment.largest_timestamp = log.mtime_of(segments[i]);
      segment.timestamp_origin = TimestampOrigin::kMtime;
    }
    input.segments.push_back(segment);
  }
  return input;
}

}  // namespace

Result<LogRetention::Run> LogRetention::run(TimestampMs now) {
  Run run;
  const RetentionInput input = input_of(log_, now);
  const std::size_t count = count_deletable(input);
  if (count == 0) return run;
  // Where they end, not how many: an append since then may have made the last one newer.
  auto removed = log_.remove_segments(input.segments[count - 1].next_offset, run.renamed);
  waiting_.add(run.renamed, now, log_.config());
  RETURN_IF_ERROR(std::move(removed));
  for (const auto& name : run.renamed) run.segments += name.ends_with(".log.deleted") ? 1 : 0;
  return run;
}

Result<std::size_t> LogRetention::unlink_due(TimestampMs now) {
  return waiting_.unlink_due(log_, now);
}

}  // namespace offsetfs::storage
