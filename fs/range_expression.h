#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// An end of a range: an offset, or the K-th record counted from either end of the log.
//
//   end := offset | ("first" | "last") [ "-" K ]
//
// `first` is the first record and `first-1` too; `last-5` is the fifth newest. Numbers are
// canonical and K is at least 1.
struct RangeEnd {
  enum class Base : std::uint8_t { kOffset, kFromFirst, kFromLast };
  Base base = Base::kOffset;
  std::int64_t number = 0;  // the offset, or K

  friend bool operator==(const RangeEnd&, const RangeEnd&) = default;
};

// What a range of `offsets/` says in its name: the records between two ends, both included.
//
//   range := end ".." end
//          | "first-" K      the first K records: first..first-K
//          | "last-" K       the newest K records: last-K..last
struct RangeExpression {
  RangeEnd from;
  RangeEnd to;

  // The name means other records when the log has moved on.
  bool is_moving() const {
    return from.base != RangeEnd::Base::kOffset || to.base != RangeEnd::Base::kOffset;
  }
  friend bool operator==(const RangeExpression&, const RangeExpression&) = default;
};

std::optional<RangeExpression> parse_range(std::string_view text);

// The offsets that a range covers: [base_offset, next_offset).
struct OffsetSpan {
  storage::Offset base_offset{};
  storage::Offset next_offset{};
  friend bool operator==(const OffsetSpan&, const OffsetSpan&) = default;
};

// The span of a range in a log as it is now, clipped to [log_start_offset, log_end_offset). `find`
// gives the offset of the K-th visible record from an end (the last one that way if there are
// fewer, nothing if there is none); it is asked for words only. Nothing: the ends are the wrong way
// round, or nothing is left after the clip. The errors are `find`'s.
using FindRangeEnd =
    std::function<storage::Result<std::optional<storage::Offset>>(const RangeEnd& end)>;
storage::Result<std::optional<OffsetSpan>> resolve_range(const RangeExpression& range,
                                                         storage::Offset log_start_offset,
                                                         storage::Offset log_end_offset,
                                                         const FindRangeEnd& find);

}  // namespace offsetfs::fs
