#include "fs/time_expression.h"

#include <array>
#include <chrono>
#include <cstdio>

#include "fs/decimal.h"

namespace offsetfs::fs {
namespace {

using storage::TimestampMs;
__extension__ using Wide = __int128;  // no sum of what a name can hold overflows it

constexpr std::int64_t kMsPerSecond = 1000;
constexpr std::int64_t kMsPerDay = 86'400'000;

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<TimestampMs> narrow(Wide ms) {
  if (ms < INT64_MIN || ms > INT64_MAX) return std::nullopt;
  return TimestampMs{static_cast<std::int64_t>(ms)};
}

// A cursor over what is left to read.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool empty() const { return text_.empty(); }
  bool take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool take_any(std::string_view choice, char& taken) {
    if (text_.empty() || choice.find(text_.front()) == std::string_view::npos) return false;
    taken = text_.front();
    text_.remove_prefix(1);
    return true;
  }
  // Exactly `count` digits.
  bool number(std::size_t count, std::int64_t& value) {
    if (text_.size() < count) return false;
    value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_digit(text_[i])) return false;
      value = value * 10 + (text_[i] - '0');
    }
    text_.remove_prefix(count);
    return true;
  }
  std::string_view digits() {
    std::size_t count = 0;
    while (count < text_.size() && is_digit(text_[count])) ++count;
    const std::string_view taken = text_.substr(0, count);
    text_.remove_prefix(count);
    return taken;
  }

 private:
  std::string_view text_;
};

struct Fraction {
  std::int64_t ms = 0;     // rounded down
  bool remainder = false;  // something is left below the millisecond
  std::int64_t ms_rounded_up() const { return ms + (remainder ? 1 : 0); }
};

// [ "." digits ]; nothing if the point has no digit behind it.
std::optional<Fraction> read_fraction(Reader& reader) {
  Fraction fraction;
  if (!reader.take('.')) return fraction;
  const std::string_view digits = reader.digits();
  if (digits.empty()) return std::nullopt;
  for (std::size_t i = 0; i < 3; ++i) {
    fraction.ms = fraction.ms * 10 + (i < digits.size() ? digits[i] - '0' : 0);
  }
  fraction.remainder =
      digits.size() > 3 && digits.find_first_not_of('0', 3) != std::string_view::npos;
  return fraction;
}

std::optional<TimestampMs> parse_milliseconds(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (!negative) {
    const auto ms = parse_canonical(text);
    return ms ? narrow(*ms) : std::nullopt;
  }
  if (text == "-9223372036854775808") return TimestampMs{INT64_MIN};
  const auto ms = parse_canonical(text.substr(1));
  if (!ms || *ms == 0) return std::nullopt;
  return TimestampMs{-*ms};
}

// What follows the '@'.
std::optional<TimestampMs> parse_seconds(std::string_view text) {
  Reader reader(text);
  const bool negative = reader.take('-');
  const auto seconds = parse_canonical(reader.digits());
  const auto fraction = seconds ? read_fraction(reader) : std::nullopt;
  if (!fraction || !reader.empty()) return std::nullopt;
  const Wide whole_ms = Wide{*seconds} * kMsPerSecond;
  // Rounded up means: away from zero after 1970, towards zero before.
  return narrow(negative ? -(whole_ms + fraction->ms) : whole_ms + fraction->ms_rounded_up());
}

// hh ":" mm
bool read_hours_minutes(Reader& reader, std::int64_t& minutes) {
  std::int64_t hours = 0;
  std::int64_t rest = 0;
  if (!reader.number(2, hours) || !reader.take(':') || !reader.number(2, rest)) return false;
  minutes = hours * 60 + rest;
  return hours <= 23 && rest <= 59;
}

// "Z", "+hh:mm", "-hh:mm" or nothing (UTC): minutes east.
bool read_zone(Reader& reader, std::int64_t& minutes) {
  char sign = 'Z';
  minutes = 0;
  if (reader.empty() || (reader.take_any("Zz+-", sign) && (sign == 'Z' || sign == 'z'))) {
    return true;
  }
  if (sign == 'Z' || !read_hours_minutes(reader, minutes)) return false;
  if (sign == '-') minutes = -minutes;
  return true;
}

std::optional<std::int64_t> read_date(Reader& reader) {
  std::int64_t year = 0;
  std::int64_t month = 0;
  std::int64_t day = 0;
  if (!reader.number(4, year) || !reader.take('-') || !reader.number(2, month) ||
      !reader.take('-') || !reader.number(2, day)) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
}

// Date, and behind 'T' the time of day. A leap second, which only the last minute of a UTC day can
// have, is the first second of the next day: POSIX time has no other place for it.
std::optional<TimestampMs> parse_rfc3339(std::string_view text) {
  Reader reader(text);
  const auto days = read_date(reader);
  if (!days) return std::nullopt;
  if (reader.empty()) return narrow(Wide{*days} * kMsPerDay);

  char separator = 'T';
  std::int64_t minutes = 0;
  if (!reader.take_any("Tt ", separator) || !read_hours_minutes(reader, minutes)) {
    return std::nullopt;
  }
  std::int64_t seconds = 0;
  Fraction fraction;
  if (reader.take(':')) {
    if (!reader.number(2, seconds) || seconds > 60) return std::nullopt;
    const auto read = read_fraction(reader);
    if (!read) return std::nullopt;
    fraction = *read;
  }
  std::int64_t zone_minutes = 0;
  if (!read_zone(reader, zone_minutes) || !reader.empty()) return std::nullopt;
  const std::int64_t utc_minutes = minutes - zone_minutes;
  constexpr std::int64_t kMinutesPerDay = 1440;
  const bool last_minute = (utc_minutes + kMinutesPerDay) % kMinutesPerDay == kMinutesPerDay - 1;
  if (seconds == 60 && !last_minute) return std::nullopt;
  return narrow(Wide{*days} * kMsPerDay + utc_minutes * 60 * kMsPerSecond + seconds * kMsPerSecond +
                fraction.ms_rounded_up());
}

// What follows "now": nothing, or "-" count unit.
std::optional<TimestampMs> parse_ago(std::string_view text, TimestampMs now) {
  if (text.empty()) return now;
  Reader reader(text);
  if (!reader.take('-')) return std::nullopt;
  const auto count = parse_canonical(reader.digits());
  char unit = 's';
  if (!count || !reader.take_any("smhdw", unit) || !reader.empty()) return std::nullopt;
  std::int64_t unit_ms = kMsPerSecond;
  switch (unit) {
    case 'm': unit_ms = 60 * kMsPerSecond; break;
    case 'h': unit_ms = 3600 * kMsPerSecond; break;
    case 'd': unit_ms = kMsPerDay; break;
    case 'w': unit_ms = 7 * kMsPerDay; break;
    default: break;
  }
  return narrow(now.value - Wide{*count} * unit_ms);
}

}  // namespace

std::optional<TimestampMs> parse_time(std::string_view text, TimestampMs now) {
  if (text.starts_with('@')) return parse_seconds(text.substr(1));
  if (text.starts_with("now")) return parse_ago(text.substr(3), now);
  if (const auto ms = parse_milliseconds(text)) return ms;
  return parse_rfc3339(text);
}

std::string print_time(TimestampMs time) {
  constexpr std::int64_t kYear10000 = 253'402'300'800'000;
  if (time.value < 0 || time.value >= kYear10000) return std::to_string(time.value);
  const std::int64_t ms = time.value % kMsPerDay;
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(time.value / kMsPerDay))};
  std::array<char, 40> text{};
  const int size =
      std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
                    static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                    static_cast<unsigned>(date.day()), static_cast<int>(ms / 3'600'000),
                    static_cast<int>(ms / 60'000 % 60), static_cast<int>(ms / 1000 % 60),
                    static_cast<int>(ms % 1000));
  return {text.data(), static_cast<std::size_t>(size)};
}

namespace {

struct OtherUnit {
  const char* name;
  std::int64_t least;  // [least, below): what instants from 1973 on look like in this unit
  std::int64_t below;
  std::int64_t per_ms;    // 0: seconds
  std::int64_t epoch_ms;  // of the unit's zero
};

// Milliseconds in these ranges lie in early 1970 or past the year 5138. The first that fits is
// taken: a FILETIME of 1970 to 2107 as nanoseconds would lie in the seventies.
constexpr OtherUnit kOtherUnits[] = {
    {"seconds", 100'000'000, 10'000'000'000, 0, 0},
    {"microseconds", 100'000'000'000'000, 10'000'000'000'000'000, 1000, 0},
    {"a FILETIME (100 ns since 1601)", 116'444'736'000'000'000, 160'000'000'000'000'000, 10'000,
     -11'644'473'600'000},
    {"nanoseconds", 100'000'000'000'000'000, INT64_MAX, 1'000'000, 0},
};

}  // namespace

std::string suspicion(TimestampMs time) {
  for (const OtherUnit& unit : kOtherUnits) {
    if (time.value < unit.least || time.value >= unit.below) continue;
    const std::int64_t meant =
        unit.per_ms == 0 ? time.value * kMsPerSecond : time.value / unit.per_ms + unit.epoch_ms;
    return std::to_string(time.value) + " looks like " + unit.name + ", which would be " +
           print_time(TimestampMs{meant}) + " (" + std::to_string(meant) +
           " ms); it was read as milliseconds.";
  }
  return {};
}

}  // namespace offsetfs::fs
