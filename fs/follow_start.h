#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "fs/follow_bounds.h"
#include "fs/partitions.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// Where a name of `follow/` begins, its suffix cut off.
//
//   start := "end" | offset | "last-" K | time
//
// Plain digits are an offset, always; times are the other forms of time_expression.h. Numbers are
// canonical and K is at least 1.
struct FollowStart {
  enum class From : std::uint8_t { kEnd, kOffset, kLast, kTime };
  From from = From::kEnd;
  std::int64_t number = 0;  // the offset, or K
  std::string text;         // the time as written

  friend bool operator==(const FollowStart&, const FollowStart&) = default;
};

std::optional<FollowStart> parse_follow_start(std::string_view text);

// Whether resolve_follow_start() may take long.
bool resolves_slowly(const FollowStart& start);

// What a start means in a log as it is now.
struct FollowFrom {
  // Of the first record, or the one after it where there is a gap; not below the log start, and
  // past the log end if the user said so.
  storage::Offset offset{};
  // No record is so new yet: the first that is, is the first.
  std::optional<storage::TimestampMs> awaited;
  bool at_end = false;  // `offset` is the log end and nothing else
};
storage::Result<FollowFrom> resolve_follow_start(const PartitionView& view,
                                                 const FollowStart& start,
                                                 const FollowBounds& bounds,
                                                 storage::TimestampMs now, bool show_control,
                                                 std::stop_token stop = {});

}  // namespace offsetfs::fs
