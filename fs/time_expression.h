#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/units.h"

namespace offsetfs::fs {

// TS of `time/TS`: epoch milliseconds in plain digits, `@seconds[.fraction]`, RFC 3339 (seconds may
// be left out; without an offset UTC), a date, or `now-15m` (s m h d w; also plain `now`).
//
// The least millisecond not before the instant written: "@1.0001" is 1001, so that a record at 1000
// is not taken for one at or after it. Nothing for what is no time, and for what lies outside of
// 64-bit milliseconds.
std::optional<storage::TimestampMs> parse_time(std::string_view text, storage::TimestampMs now);

// The canonical name of a time: RFC 3339 with milliseconds and Z, or plain milliseconds past 9999
// and before 1970.
std::string print_time(storage::TimestampMs time);

// A sentence if plain digits look like seconds, microseconds, nanoseconds or a FILETIME rather than
// milliseconds; with the time that was probably meant. Empty otherwise.
std::string suspicion(storage::TimestampMs time);

}  // namespace offsetfs::fs
