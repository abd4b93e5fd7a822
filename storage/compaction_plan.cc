#include "storage/compaction_plan.h"

#include <algorithm>

namespace offsetfs::storage {
namespace {

// The segment that holds `offset`; past all of them if the active one does.
std::size_t segment_of(const CompactionInput& input, Offset offset) {
  if (offset >= input.active_base_offset) return input.segments.size();
  const auto behind =
      std::ranges::upper_bound(input.segments, offset, {}, &CompactionSegment::base_offset);
  const auto index = behind - input.segments.begin();
  return index == 0 ? 0 : static_cast<std::size_t>(index) - 1;
}

Offset base_of(const CompactionInput& input, std::size_t segment) {
  return segment < input.segments.size() ? input.segments[segment].base_offset
                                         : input.active_base_offset;
}

// A checkpoint that lies outside the log is of another one.
Offset first_dirty_of(const CompactionInput& input) {
  const Offset noted = input.checkpoint.value_or(input.log_start_offset);
  const bool inside = noted >= input.log_start_offset && noted <= input.log_end_offset;
  return inside ? noted : input.log_start_offset;
}

Offset lag_bound_of(const CompactionInput& input, std::size_t first_dirty) {
  const std::int64_t lag = input.config.min_compaction_lag_ms;
  if (lag <= 0) return input.active_base_offset;
  for (std::size_t i = first_dirty; i < input.segments.size(); ++i)
    if (input.now - input.segments[i].largest_timestamp < lag) return input.segments[i].base_offset;
  return input.active_base_offset;
}

bool waited_too_long(const CompactionInput& input, std::size_t first_dirty) {
  const std::int64_t lag = input.config.max_compaction_lag_ms;
  return std::any_of(input.segments.begin() + static_cast<std::ptrdiff_t>(first_dirty),
                     input.segments.end(), [&](const CompactionSegment& segment) {
                       const TimestampMs first = segment.first_batch_timestamp;
                       return first.value > 0 && input.now - first > lag;
                     });
}

}  // namespace

std::optional<CompactionPlan> plan_compaction(const CompactionInput& input) {
  CompactionPlan plan;
  plan.first_dirty = first_dirty_of(input);
  const std::size_t dirty = segment_of(input, plan.first_dirty);
  const Offset bound = std::max(
      plan.first_dirty,
      std::min({input.last_stable_offset, input.active_base_offset, lag_bound_of(input, dirty)}));
  const std::size_t uncleanable = segment_of(input, bound);
  plan.first_uncleanable = base_of(input, uncleanable);

  std::int64_t clean_bytes = 0, cleanable_bytes = 0;
  for (std::size_t i = 0; i < input.segments.size(); ++i) {
    const CompactionSegment& segment = input.segments[i];
    if (segment.base_offset < plan.first_dirty) clean_bytes += segment.size_bytes;
    if (i >= dirty && i < uncleanable) cleanable_bytes += segment.size_bytes;
  }
  if (cleanable_bytes == 0 || plan.first_uncleanable <= plan.first_dirty) return std::nullopt;
  plan.dirty_ratio =
      static_cast<double>(cleanable_bytes) / static_cast<double>(clean_bytes + cleanable_bytes);
  plan.is_due =
      plan.dirty_ratio > input.config.min_cleanable_dirty_ratio || waited_too_long(input, dirty);
  return plan;
}

std::vector<CompactionGroup> group_segments(const CompactionInput& input, Offset end,
                                            Offset first_uncleanable) {
  std::vector<CompactionGroup> groups;
  const auto& segments = input.segments;
  std::size_t next = 0;
  while (next < segments.size() && segments[next].base_offset < end) {
    CompactionGroup group{next, 1};
    CompactionSegment sum = segments[next];
    for (++next; next < segments.size() && segments[next].base_offset < end; ++next) {
      const CompactionSegment& more = segments[next];
      const bool is_last = next + 1 == segments.size() || segments[next + 1].base_offset >= end;
      const Offset last_offset = (is_last ? first_uncleanable : segments[next + 1].base_offset) - 1;
      // An empty one takes no room: left by itself it would come again every 2^31 offsets.
      const bool offsets_fit = more.size_bytes == 0 || last_offset - sum.base_offset <= INT32_MAX;
      sum.size_bytes += more.size_bytes;
      sum.offset_index_bytes += more.offset_index_bytes;
      sum.time_index_bytes += more.time_index_bytes;
      if (sum.size_bytes > input.config.segment_bytes ||
          sum.offset_index_bytes > input.config.segment_index_bytes ||
          sum.time_index_bytes > input.config.segment_index_bytes || !offsets_fit)
        break;
      ++group.count;
    }
    groups.push_back(group);
  }
  return groups;
}

}  // namespace offsetfs::storage
