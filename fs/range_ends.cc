#include "fs/range_ends.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "fs/offset_cursor.h"
#include "fs/range_expression.h"
#include "fs/time_expression.h"

namespace offsetfs::fs {
namespace {

using storage::Errc;
using storage::LogOffsets;
using storage::Offset;
using storage::Result;
using storage::TimestampMs;

constexpr std::int64_t kManyRecords = 100'000;

tl::unexpected<storage::Error> nothing_left() {
  return storage::fail(Errc::kNotFound, "nothing in this range");
}

std::int64_t records_in(const OffsetCursor::Batch& batch, Offset from) {
  if (batch.dense) return batch.header.next_offset() - std::max(batch.header.base_offset, from);
  return batch.offsets.end() - std::lower_bound(batch.offsets.begin(), batch.offsets.end(), from);
}

Offset nth_in(const OffsetCursor::Batch& batch, Offset from, std::int64_t n) {
  if (batch.dense) return std::max(batch.header.base_offset, from) + n;
  return *(std::lower_bound(batch.offsets.begin(), batch.offsets.end(), from) + n);
}

// Walks over records from an offset on.
class RecordCounter {
 public:
  RecordCounter(const PartitionView& view, bool show_control, std::stop_token stop)
      : view_(view), show_control_(show_control), stop_(std::move(stop)) {}

  // Records at or after `from`; the walk ends once there are `enough`.
  Result<std::int64_t> count(Offset from, std::int64_t enough) const {
    OffsetCursor cursor(view_.log, show_control_);
    std::int64_t counted = 0;
    while (counted < enough) {
      ASSIGN_OR_RETURN(const OffsetCursor::Batch* batch, next(cursor, from));
      if (batch == nullptr) break;
      counted += records_in(*batch, from);
      from = batch->header.next_offset();
    }
    return counted;
  }

  // The offset of the record that has `n` others between `from` and itself; nothing beyond the end.
  Result<std::optional<Offset>> nth(Offset from, std::int64_t n) const {
    OffsetCursor cursor(view_.log, show_control_);
    for (;;) {
      ASSIGN_OR_RETURN(const OffsetCursor::Batch* batch, next(cursor, from));
      if (batch == nullptr) return std::nullopt;
      const std::int64_t records = records_in(*batch, from);
      if (n < records) return nth_in(*batch, from, n);
      n -= records;
      from = batch->header.next_offset();
    }
  }

 private:
  Result<const OffsetCursor::Batch*> next(OffsetCursor& cursor, Offset from) const {
    if (stop_.stop_requested()) return storage::fail_errno(EINTR, "counting records");
    return cursor.at_or_after(from);
  }

  const PartitionView& view_;
  const bool show_control_;
  const std::stop_token stop_;
};

// Steps back from the end until enough records lie behind, twice as far each time: a log without
// gaps needs one step. Fewer than `count`: the first there is.
Result<std::optional<Offset>> nth_last(const RecordCounter& counter, const LogOffsets& log,
                                       std::int64_t count) {
  const std::int64_t length = log.readable_end - log.log_start_offset;
  if (length == 0) return std::nullopt;
  for (std::int64_t back = std::min(count, length);; back = std::min(back * 2, length)) {
    const Offset from = log.readable_end - back;
    ASSIGN_OR_RETURN(const std::int64_t records, counter.count(from, INT64_MAX));
    if (records < count && back < length) continue;
    return counter.nth(from, std::max<std::int64_t>(records - count, 0));
  }
}

Result<std::optional<Offset>> nth_first(const PartitionView& view, const RecordCounter& counter,
                                        const LogOffsets& log, std::int64_t count) {
  ASSIGN_OR_RETURN(const auto found, counter.nth(log.log_start_offset, count - 1));
  if (found) return found;
  return view.log->last_record();
}

// As if every offset bore a record.
Offset guess(const RangeEnd& end, const LogOffsets& log) {
  const std::int64_t steps = std::min(end.number, log.readable_end - log.log_start_offset);
  return end.base == RangeEnd::Base::kFromFirst ? log.log_start_offset + (steps - 1)
                                                : log.readable_end - steps;
}

Result<RecordRange> offset_range(const PartitionView& view, const RangeExpression& expression,
                                 const LogOffsets& log, const RecordCounter& counter,
                                 bool exactly) {
  ASSIGN_OR_RETURN(const auto span,
                   resolve_range(expression, log.log_start_offset, log.readable_end,
                                 [&](const RangeEnd& end) -> Result<std::optional<Offset>> {
                                   if (!exactly) return guess(end, log);
                                   if (end.base == RangeEnd::Base::kFromFirst)
                                     return nth_first(view, counter, log, end.number);
                                   return nth_last(counter, log, end.number);
                                 }));
  if (!span) return nothing_left();
  RecordRange range;
  range.from = span->base_offset;
  range.to = span->next_offset;
  range.moving = expression.is_moving();
  return range;
}

// The records between two times lie anywhere behind the first that is not older than the first
// time.
Result<RecordRange> time_range(const PartitionView& view, const Node& node, const LogOffsets& log,
                               TimestampMs now) {
  const std::string_view text = node.text;
  const auto dots = text.find("..");
  const auto from_time = parse_time(text.substr(0, dots), now);
  const auto to_time = parse_time(text.substr(std::min(dots + 2, text.size())), now);
  if (!from_time || !to_time || *from_time >= *to_time) return nothing_left();
  RecordRange range{log.log_start_offset, log.readable_end, from_time, to_time, false};
  range.moving = text.find("now") != std::string_view::npos;
  ASSIGN_OR_RETURN(const auto found, view.log->find_time(*from_time));
  // Nothing so new: an empty file, not an absent one. The last offset has nothing to give either.
  range.from = found.record.value_or(std::max(log.readable_end - 1, log.log_start_offset));
  return range;
}

bool is_far(const RangeEnd& end) {
  return end.base != RangeEnd::Base::kOffset && end.number > kManyRecords;
}

}  // namespace

bool counts_many_records(const Node& node) {
  if (node.kind != NodeKind::kRange) return false;
  const auto expression = parse_range(node.text);
  return expression && (is_far(expression->from) || is_far(expression->to));
}

Result<RangeEnds> resolve_ends(const PartitionView& view, const Node& node, TimestampMs now,
                               bool show_control, bool exactly, std::stop_token stop) {
  ASSIGN_OR_RETURN(const LogOffsets log, view.log->offsets());
  const RecordCounter counter(view, show_control, std::move(stop));
  RangeEnds ends;
  switch (node.kind) {
    case NodeKind::kRange: {
      const auto expression = parse_range(node.text);
      if (!expression) return nothing_left();
      ASSIGN_OR_RETURN(ends.range, offset_range(view, *expression, log, counter, exactly));
      ends.is_final = !ends.range.moving && expression->to.number < log.high_watermark.value;
      break;
    }
    case NodeKind::kTimeRange: {
      ASSIGN_OR_RETURN(ends.range, time_range(view, node, log, now));
      break;
    }
    default: ends.range = {log.log_start_offset, log.readable_end, {}, {}, true};
  }
  return ends;
}

}  // namespace offsetfs::fs
