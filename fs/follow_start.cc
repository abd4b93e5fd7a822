#include "fs/follow_start.h"

#include <algorithm>
#include <utility>

#include "fs/decimal.h"
#include "fs/range_ends.h"
#include "fs/time_expression.h"

namespace offsetfs::fs {
namespace {

using storage::Errc;
using storage::Offset;
using storage::Result;
using storage::TimestampMs;
using From = FollowStart::From;

constexpr std::string_view kLastWord = "last-";

bool is_plain_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The newest K records as a range knows them.
Node newest(std::int64_t count) {
  Node node;
  node.kind = NodeKind::kRange;
  node.form = Form::kJsonl;
  node.text = std::string(kLastWord) + std::to_string(count);
  return node;
}

FollowFrom at_end(const FollowBounds& bounds) { return {bounds.end, std::nullopt, true}; }

Result<FollowFrom> from_last(const PartitionView& view, std::int64_t count,
                             const FollowBounds& bounds, TimestampMs now, bool show_control,
                             std::stop_token stop) {
  const auto ends =
      resolve_ends(view, newest(count), now, show_control, /*exactly=*/true, std::move(stop));
  if (ends) return FollowFrom{ends->range.from, std::nullopt, false};
  if (ends.error().code == Errc::kNotFound) return at_end(bounds);
  return storage::fail(ends.error());
}

Result<FollowFrom> from_time(const PartitionView& view, const std::string& text,
                             const FollowBounds& bounds, TimestampMs now) {
  const auto time = parse_time(text, now);
  if (!time) return storage::fail(Errc::kNotFound, "no time: " + text);
  ASSIGN_OR_RETURN(const auto found, view.log->find_time(*time));
  if (found.record) return FollowFrom{*found.record, std::nullopt, false};
  return FollowFrom{bounds.end, time, false};
}

}  // namespace

std::optional<FollowStart> parse_follow_start(std::string_view text) {
  if (text == "end") return FollowStart{};
  if (const auto offset = parse_canonical(text)) return FollowStart{From::kOffset, *offset, {}};
  if (text.starts_with(kLastWord)) {
    const auto count = parse_canonical(text.substr(kLastWord.size()));
    if (!count || *count < 1) return std::nullopt;
    return FollowStart{From::kLast, *count, {}};
  }
  // Only the spelling matters here.
  if (is_plain_number(text) || !parse_time(text, TimestampMs{})) return std::nullopt;
  return FollowStart{From::kTime, 0, std::string(text)};
}

bool resolves_slowly(const FollowStart& start) {
  return start.from == From::kLast && counts_many_records(newest(start.number));
}

Result<FollowFrom> resolve_follow_start(const PartitionView& view, const FollowStart& start,
                                        const FollowBounds& bounds, TimestampMs now,
                                        bool show_control, std::stop_token stop) {
  switch (start.from) {
    case From::kEnd: break;
    case From::kOffset:
      return FollowFrom{std::max(Offset{start.number}, bounds.log_start_offset), std::nullopt,
                        false};
    case From::kLast:
      return from_last(view, start.number, bounds, now, show_control, std::move(stop));
    case From::kTime: return from_time(view, start.text, bounds, now);
  }
  return at_end(bounds);
}

}  // namespace offsetfs::fs
