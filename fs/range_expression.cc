#include "fs/range_expression.h"

#include <algorithm>

#include "fs/decimal.h"

namespace offsetfs::fs {
namespace {

using Base = RangeEnd::Base;
using storage::Offset;
using storage::Result;

// What stands behind "first" or "last": nothing, or "-" K.
std::optional<RangeEnd> parse_word(Base base, std::string_view rest) {
  if (rest.empty()) return RangeEnd{base, 1};
  if (rest.front() != '-') return std::nullopt;
  const auto count = parse_canonical(rest.substr(1));
  if (!count || *count == 0) return std::nullopt;
  return RangeEnd{base, *count};
}

std::optional<RangeEnd> parse_end(std::string_view text) {
  if (text.starts_with("first")) return parse_word(Base::kFromFirst, text.substr(5));
  if (text.starts_with("last")) return parse_word(Base::kFromLast, text.substr(4));
  const auto offset = parse_canonical(text);
  if (!offset) return std::nullopt;
  return RangeEnd{Base::kOffset, *offset};
}

// "first-K" and "last-K" alone; the bare words are links elsewhere, not ranges.
std::optional<RangeExpression> parse_count(std::string_view text) {
  const auto end = parse_end(text);
  if (!end || end->base == Base::kOffset || text.find('-') == std::string_view::npos) {
    return std::nullopt;
  }
  if (end->base == Base::kFromFirst) return RangeExpression{{Base::kFromFirst, 1}, *end};
  return RangeExpression{*end, {Base::kFromLast, 1}};
}

Result<std::optional<Offset>> resolve_end(const RangeEnd& end, const FindRangeEnd& find) {
  if (end.base == Base::kOffset) return std::optional(Offset{end.number});
  return find(end);
}

}  // namespace

std::optional<RangeExpression> parse_range(std::string_view text) {
  const auto dots = text.find("..");
  if (dots == std::string_view::npos) return parse_count(text);
  const auto from = parse_end(text.substr(0, dots));
  const auto to = parse_end(text.substr(dots + 2));
  if (!from || !to) return std::nullopt;
  return RangeExpression{*from, *to};
}

Result<std::optional<OffsetSpan>> resolve_range(const RangeExpression& range,
                                                Offset log_start_offset, Offset log_end_offset,
                                                const FindRangeEnd& find) {
  using Nothing = std::optional<OffsetSpan>;
  ASSIGN_OR_RETURN(const std::optional<Offset> from, resolve_end(range.from, find));
  ASSIGN_OR_RETURN(const std::optional<Offset> to, resolve_end(range.to, find));
  if (!from || !to || *from > *to) return Nothing{};
  // Clipped before the 1 is added: `to` may be the greatest offset there is.
  const Offset base = std::max(*from, log_start_offset);
  if (base >= log_end_offset || *to < base) return Nothing{};
  return std::optional(OffsetSpan{base, *to < log_end_offset ? *to + 1 : log_end_offset});
}

}  // namespace offsetfs::fs
