#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string_view>

// The quantities of a Kafka log, each a type of its own: a Position can't be passed where an Offset
// is meant. An Offset counts records, a Position counts bytes in one file.

namespace offsetfs::storage {

template <class Tag, class Rep>
struct Quantity {
  Rep value{};

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Rep b) { return {static_cast<Rep>(a.value + b)}; }
  friend constexpr Quantity operator-(Quantity a, Rep b) { return {static_cast<Rep>(a.value - b)}; }
  friend constexpr Rep operator-(Quantity a, Quantity b) {
    return static_cast<Rep>(a.value - b.value);
  }
};

using Offset = Quantity<struct OffsetTag, std::int64_t>;            // >= 0; -1 = unknown
using Position = Quantity<struct PositionTag, std::int64_t>;        // bytes from the file's start
using TimestampMs = Quantity<struct TimestampTag, std::int64_t>;    // since 1970 UTC; -1 = none
using LeaderEpoch = Quantity<struct LeaderEpochTag, std::int32_t>;  // -1 = none

inline constexpr TimestampMs kNoTimestamp{-1};
inline constexpr LeaderEpoch kNoLeaderEpoch{-1};

// Bytes as they lie in a file or in memory, owned by somebody else. Not text unless it says so.
using Bytes = std::string_view;

}  // namespace offsetfs::storage

template <class Tag, class Rep>
struct std::hash<offsetfs::storage::Quantity<Tag, Rep>> {
  std::size_t operator()(offsetfs::storage::Quantity<Tag, Rep> q) const noexcept {
    return std::hash<Rep>{}(q.value);
  }
};
