#include "fs/time_expression.h"

#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offsetfs::fs {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr storage::TimestampMs kNow{1'793'247'836'476};  // 2026-10-29T04:23:56.476Z

std::optional<std::int64_t> parsed(std::string_view text) {
  const auto time = parse_time(text, kNow);
  return time ? std::optional(time->value) : std::nullopt;
}

struct Row {
  const char* text;
  std::optional<std::int64_t> ms;
};

class TimeTable : public ::testing::TestWithParam<Row> {};

TEST_P(TimeTable, IsReadAsWritten) { EXPECT_EQ(parsed(GetParam().text), GetParam().ms); }

INSTANTIATE_TEST_SUITE_P(
    Milliseconds, TimeTable,
    ::testing::Values(Row{"0", 0}, Row{"1793247836476", 1'793'247'836'476}, Row{"-5", -5},
                      Row{"9223372036854775807", INT64_MAX}, Row{"9223372036854775808", {}},
                      Row{"-9223372036854775808", INT64_MIN}, Row{"-9223372036854775809", {}},
                      Row{"007", {}}, Row{"+7", {}}, Row{"-0", {}}, Row{"--1", {}}, Row{"", {}},
                      Row{"7 ", {}}, Row{"0x7", {}}, Row{"1e3", {}}));

INSTANTIATE_TEST_SUITE_P(
    Seconds, TimeTable,
    ::testing::Values(Row{"@0", 0}, Row{"@1", 1000}, Row{"@1.5", 1500}, Row{"@1.0001", 1001},
                      Row{"@1.000", 1000}, Row{"@1.0000000", 1000}, Row{"@1.9999", 2000},
                      Row{"@0.0000000000000000000000000000000000000000000000000001", 1},
                      Row{"@1793247836.476", 1'793'247'836'476}, Row{"@-1", -1000},
                      Row{"@-1.5", -1500}, Row{"@-1.0001", -1000}, Row{"@-0.0001", 0},
                      Row{"@9223372036854775.807", INT64_MAX}, Row{"@9223372036854775.8071", {}},
                      Row{"@9223372036854775.808", {}}, Row{"@-9223372036854775.808", INT64_MIN},
                      Row{"@-9223372036854775.809", {}}, Row{"@9223372036854775807", {}},
                      Row{"@9223372036854775808", {}}, Row{"@", {}}, Row{"@.5", {}}, Row{"@1.", {}},
                      Row{"@1.5s", {}}, Row{"@01", {}}, Row{"@1.-5", {}}));

INSTANTIATE_TEST_SUITE_P(
    Rfc3339, TimeTable,
    ::testing::Values(
        Row{"2026-10-29T04:23:56.476Z", 1'793'247'836'476},
        Row{"2026-10-29T04:23:56Z", 1'793'247'836'000},
        Row{"2026-10-29T04:23:56", 1'793'247'836'000}, Row{"2026-10-29T04:23Z", 1'793'247'780'000},
        Row{"2026-10-29T04:23", 1'793'247'780'000}, Row{"2026-10-29t04:23z", 1'793'247'780'000},
        Row{"2026-10-29 04:23:56.476", 1'793'247'836'476},
        Row{"2026-10-29T06:23:56.476+02:00", 1'793'247'836'476},
        Row{"2026-10-28T23:53:56.476-04:30", 1'793'247'836'476},
        Row{"2026-10-29T04:23:56.4760001Z", 1'793'247'836'477},
        Row{"2026-10-29T04:23:56.4Z", 1'793'247'836'400},
        Row{"2026-10-29T04:23:56.9999999Z", 1'793'247'837'000},
        Row{"2026-10-29", 1'793'232'000'000}, Row{"1970-01-01", 0}, Row{"1969-12-31", -86'400'000},
        Row{"1969-12-31T23:59:59.0001Z", -999}, Row{"0000-01-01", -62'167'219'200'000},
        Row{"9999-12-31T23:59:59.999Z", 253'402'300'799'999}, Row{"2000-02-29", 951'782'400'000},
        Row{"2024-02-29T00:00Z", 1'709'164'800'000}, Row{"2016-12-31T23:59:60Z", 1'483'228'800'000},
        Row{"2017-01-01T00:59:60+01:00", 1'483'228'800'000}));

INSTANTIATE_TEST_SUITE_P(
    NoTimes, TimeTable,
    ::testing::Values(Row{"2023-02-29", {}}, Row{"1900-02-29", {}}, Row{"2026-13-01", {}},
                      Row{"2026-00-01", {}}, Row{"2026-04-31", {}}, Row{"2026-01-00", {}},
                      Row{"2026-1-1", {}}, Row{"2026-10-29T", {}}, Row{"2026-10-29T04", {}},
                      Row{"2026-10-29T24:00", {}}, Row{"2026-10-29T04:60", {}},
                      Row{"2026-10-29T04:23:61", {}}, Row{"2026-10-29T04:23:60", {}},
                      Row{"2026-10-29T04:23:56.", {}}, Row{"2026-10-29T04:23:56,476", {}},
                      Row{"2026-10-29T04:23:56+0200", {}}, Row{"2026-10-29T04:23:56+24:00", {}},
                      Row{"2026-10-29T04:23:56ZZ", {}}, Row{"2026-10-29Z", {}},
                      Row{"20261029T042356Z", {}}, Row{"yesterday", {}}));

INSTANTIATE_TEST_SUITE_P(
    Ago, TimeTable,
    ::testing::Values(Row{"now", kNow.value}, Row{"now-0s", kNow.value},
                      Row{"now-15m", kNow.value - 900'000}, Row{"now-1s", kNow.value - 1000},
                      Row{"now-2h", kNow.value - 7'200'000}, Row{"now-1d", kNow.value - 86'400'000},
                      Row{"now-1w", kNow.value - 604'800'000}, Row{"now-15", {}}, Row{"now-m", {}},
                      Row{"now-15M", {}}, Row{"now-15ms", {}}, Row{"now+15m", {}},
                      Row{"now-05m", {}}, Row{"now--5m", {}}, Row{"nowish", {}},
                      Row{"now-9223372036854775807s", {}}, Row{"now-9223372036854775807w", {}},
                      Row{"now-99999999999999999999w", {}}));

TEST(TimeExpression, NowMayLieAtTheEdgesOfTime) {
  EXPECT_EQ(parse_time("now-1s", storage::TimestampMs{INT64_MIN + 1000})->value, INT64_MIN);
  EXPECT_FALSE(parse_time("now-1s", storage::TimestampMs{INT64_MIN + 999}));
}

TEST(TimeExpression, ATimeIsPrintedInItsCanonicalForm) {
  EXPECT_EQ(print_time({0}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(print_time(kNow), "2026-10-29T04:23:56.476Z");
  EXPECT_EQ(print_time({951'782'400'000}), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(print_time({253'402'300'799'999}), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(print_time({253'402'300'800'000}), "253402300800000");
  EXPECT_EQ(print_time({-1}), "-1");
  EXPECT_EQ(print_time({INT64_MIN}), "-9223372036854775808");
}

TEST(TimeExpression, WhatIsPrintedIsReadBackAsTheSameTime) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::int64_t> any(INT64_MIN, INT64_MAX);
  std::uniform_int_distribution<std::int64_t> dated(0, 253'402'300'799'999);
  for (int i = 0; i < 20'000; ++i) {
    for (const storage::TimestampMs time : {storage::TimestampMs{any(random)}, {dated(random)}}) {
      const std::string text = print_time(time);
      ASSERT_EQ(parse_time(text, kNow), time) << text;
    }
  }
}

TEST(TimeExpression, EveryDayOfFourCenturiesFollowsTheOneBefore) {
  std::int64_t days = 0;
  for (int year = 1970; year < 2370; ++year) {
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    const int months[] = {31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    for (int month = 1; month <= 12; ++month) {
      for (int day = 1; day <= months[month - 1]; ++day, ++days) {
        char text[32];
        std::snprintf(text, sizeof text, "%04d-%02d-%02d", year, month, day);
        ASSERT_EQ(parsed(text), days * 86'400'000) << text;
        ASSERT_EQ(print_time({days * 86'400'000}), std::string(text).append("T00:00:00.000Z"));
      }
    }
  }
}

TEST(Suspicion, DigitsOfAnotherUnitAreNamedWithTheTimeThatWasMeant) {
  EXPECT_THAT(suspicion({1'793'247'836}), HasSubstr("looks like seconds, which would be "
                                                    "2026-10-29T04:23:56.000Z (1793247836000 ms)"));
  EXPECT_THAT(suspicion({1'793'247'836'476'000}),
              HasSubstr("looks like microseconds, which would be 2026-10-29T04:23:56.476Z"));
  EXPECT_THAT(suspicion({1'793'247'836'476'000'000}),
              HasSubstr("looks like nanoseconds, which would be 2026-10-29T04:23:56.476Z"));
  EXPECT_THAT(suspicion({(1'793'247'836'476 + 11'644'473'600'000) * 10'000}),
              HasSubstr("looks like a FILETIME (100 ns since 1601), which would be "
                        "2026-10-29T04:23:56.476Z"));
}

TEST(Suspicion, OrdinaryMillisecondsRaiseNone) {
  for (const std::int64_t ms :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{5000}, std::int64_t{946'684'800'000},
        kNow.value, std::int64_t{5'000'000'000'000}, std::int64_t{INT64_MIN}}) {
    EXPECT_THAT(suspicion({ms}), IsEmpty()) << ms;
  }
}

}  // namespace
}  // namespace offsetfs::fs
