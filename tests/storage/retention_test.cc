#include "storage/retention.h"

#include <functional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kNow = 1'800'000'000'000;
constexpr std::int64_t kHour = 3'600'000;
constexpr std::int64_t kNeverMs = INT64_MAX;

// Segments of ten offsets each, oldest first, `ages` in ms before now; the last is active.
RetentionInput log_of(const std::vector<std::int64_t>& ages, std::int64_t size_bytes = 100) {
  RetentionInput input;
  input.now = {kNow};
  for (std::size_t i = 0; i < ages.size(); ++i) {
    const auto base = static_cast<std::int64_t>(i) * 10;
    input.segments.push_back(
        {{base}, {base + 10}, size_bytes, {kNow - ages[i]}, TimestampOrigin::kLog});
  }
  input.log_end_offset = input.high_watermark = {static_cast<std::int64_t>(ages.size()) * 10};
  input.config.retention_ms = kHour;
  return input;
}

RetentionInput with(RetentionInput input, const std::function<void(RetentionInput&)>& change) {
  change(input);
  return input;
}

struct Row {
  const char* story;
  RetentionInput input;
  std::size_t deletable;  // by the next run
  std::size_t segment;    // whose verdict is looked at
  Hold hold;
  RetentionRule rule;
  std::int64_t due;    // kNeverMs: never
  const char* reason;  // part of it
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.story; }

class RetentionTable : public testing::TestWithParam<Row> {};

TEST_P(RetentionTable, TheVerdictIsTheBrokers) {
  const auto& row = GetParam();
  EXPECT_EQ(count_deletable(row.input), row.deletable);
  const auto verdicts = judge_retention(row.input);
  ASSERT_EQ(verdicts.size(), row.input.segments.size());
  for (std::size_t i = 0; i < verdicts.size(); ++i)
    EXPECT_EQ(verdicts[i].hold == Hold::kNothing, i < row.deletable) << i;
  const auto& verdict = verdicts[row.segment];
  EXPECT_STREQ(hold_name(verdict.hold), hold_name(row.hold));
  EXPECT_STREQ(retention_rule_name(verdict.rule), retention_rule_name(row.rule));
  EXPECT_EQ(verdict.due.value, row.due);
  EXPECT_THAT(verdict.reason, HasSubstr(row.reason));
}

using enum RetentionRule;

INSTANTIATE_TEST_SUITE_P(
    Rules, RetentionTable,
    testing::Values(
        Row{"the time rule is strict: at the very millisecond it stays", log_of({kHour, 0}), 0, 0,
            Hold::kNotExpired, kTime, kNow + 1, "still to come"},
        Row{"one millisecond later it goes", log_of({kHour + 1, 0}), 1, 0, Hold::kNothing, kTime,
            kNow, "more than retention.ms=3600000"},
        Row{"what is due says since when", log_of({3 * kHour, 0}), 1, 0, Hold::kNothing, kTime,
            kNow - 2 * kHour + 1, ""},
        Row{"a younger segment in front holds back an older one behind it",
            log_of({kHour / 2, 5 * kHour, 0}), 0, 1, Hold::kBehind, kTime, kNow + kHour / 2 + 1,
            "segment 0 before it stays"},
        Row{"one future timestamp holds all behind it",
            log_of({2 * kHour, -500 * kHour, 2 * kHour, 0}), 1, 2, Hold::kBehind, kTime,
            kNow + 501 * kHour + 1, "segment 10 before it stays"},
        Row{"and the blocker itself is called by its name",
            log_of({2 * kHour, -500 * kHour, 2 * kHour, 0}), 1, 1, Hold::kFuture, kTime,
            kNow + 501 * kHour + 1, "ahead of the clock"},
        Row{"a younger segment behind waits for its own time", log_of({kHour / 2, 0}), 0, 1,
            Hold::kNotExpired, kTime, kNow + kHour + 1, ""},
        Row{"the high watermark must have passed the segment's end",
            with(log_of({2 * kHour, 2 * kHour, 0}), [](auto& in) { in.high_watermark = {15}; }), 1,
            1, Hold::kHighWatermark, kTime, kNeverMs, "high watermark 15"},
        Row{"the active segment goes too when all is expired and replicated",
            log_of({2 * kHour, 2 * kHour}), 2, 1, Hold::kNothing, kTime, kNow - kHour + 1, ""},
        Row{"an empty active segment is never deleted",
            with(log_of({2 * kHour, 2 * kHour}),
                 [](auto& in) {
                   in.segments[1].size_bytes = 0;
                   in.segments[1].next_offset = {10};
                 }),
            1, 1, Hold::kActive, kNone, kNeverMs, "empty"},
        Row{"retention.ms=-1 keeps for ever",
            with(log_of({900 * kHour, 0}), [](auto& in) { in.config.retention_ms = -1; }), 0, 0,
            Hold::kNoRule, kNone, kNeverMs, "both off"},
        Row{"five segments of 600072 bytes: retention.bytes 2400289 deletes none",
            with(log_of({0, 0, 0, 0, 0}, 600072),
                 [](auto& in) { in.config.retention_bytes = 2400289; }),
            0, 0, Hold::kNotExpired, kTime, kNow + kHour + 1, ""},
        Row{"2400288 deletes one",
            with(log_of({0, 0, 0, 0, 0}, 600072),
                 [](auto& in) { in.config.retention_bytes = 2400288; }),
            1, 0, Hold::kNothing, kSize, kNow, "retention.bytes=2400288"},
        Row{"retention.bytes 1 keeps the last",
            with(log_of({0, 0, 0, 0, 0}, 600072), [](auto& in) { in.config.retention_bytes = 1; }),
            4, 4, Hold::kNotExpired, kTime, kNow + kHour + 1, ""},
        Row{"retention.bytes 0 takes that too",
            with(log_of({0, 0, 0, 0, 0}, 600072), [](auto& in) { in.config.retention_bytes = 0; }),
            5, 4, Hold::kNothing, kSize, kNow, ""},
        Row{"size first, then time on what it left",
            with(log_of({0, 2 * kHour, 0}), [](auto& in) { in.config.retention_bytes = 200; }), 2,
            1, Hold::kNothing, kTime, kNow - kHour + 1, ""},
        Row{"the log start takes what lies wholly below it, young or not",
            with(log_of({kHour / 2, kHour / 3, 0}), [](auto& in) { in.log_start_offset = {10}; }),
            1, 0, Hold::kNothing, kLogStart, kNow, "log start offset 10"},
        Row{"a log start inside a segment takes only the ones before",
            with(log_of({kHour / 2, kHour / 3, 0}), [](auto& in) { in.log_start_offset = {15}; }),
            1, 1, Hold::kNotExpired, kTime, kNow + kHour - kHour / 3 + 1, ""},
        Row{"the log start at the log end leaves the active segment",
            with(log_of({kHour / 2, kHour / 3, 0}), [](auto& in) { in.log_start_offset = {30}; }),
            2, 2, Hold::kNotExpired, kTime, kNow + kHour + 1, ""},
        Row{"compact alone deletes nothing by time",
            with(log_of({9 * kHour, 0}),
                 [](auto& in) {
                   in.config.cleanup_policy = {true, false};
                 }),
            0, 0, Hold::kNoRule, kNone, kNeverMs, "cleanup.policy=compact"},
        Row{"compact,delete follows all rules",
            with(log_of({9 * kHour, 0}),
                 [](auto& in) {
                   in.config.cleanup_policy = {true, true};
                 }),
            1, 0, Hold::kNothing, kTime, kNow - 8 * kHour + 1, ""},
        Row{"an empty policy lets only the log start act",
            with(log_of({9 * kHour, 9 * kHour, 0}),
                 [](auto& in) {
                   in.config.cleanup_policy = {false, false};
                   in.log_start_offset = {10};
                 }),
            1, 1, Hold::kNoRule, kNone, kNeverMs, "cleanup.policy is empty"},
        Row{"with the cleaner off a compacted log is not trimmed at all",
            with(log_of({9 * kHour, 0}),
                 [](auto& in) {
                   in.config.cleanup_policy = {true, true};
                   in.config.cleaner_enable = false;
                   in.log_start_offset = {10};
                 }),
            0, 0, Hold::kNoRule, kNone, kNeverMs, "log.cleaner.enable"},
        Row{"tiered: the local limit rules, and what is not uploaded stays",
            with(log_of({2 * kHour, 0}),
                 [](auto& in) {
                   in.config.remote_storage_enable = true;
                   in.config.retention_ms = 900 * kHour;
                   in.config.local_retention_ms = kHour;
                 }),
            0, 0, Hold::kRemote, kTime, kNeverMs, "uploaded"},
        Row{"tiered: -2 takes the plain limit",
            with(log_of({2 * kHour, 0}),
                 [](auto& in) {
                   in.config.remote_storage_enable = true;
                   in.config.retention_ms = 900 * kHour;
                 }),
            0, 0, Hold::kNotExpired, kTime, kNow + 898 * kHour + 1, "uploaded"},
        Row{"tiered with copying off follows the plain limits",
            with(log_of({2 * kHour, 0}),
                 [](auto& in) {
                   in.config.remote_storage_enable = in.config.remote_log_copy_disable = true;
                   in.config.local_retention_ms = 900 * kHour;
                 }),
            1, 0, Hold::kNothing, kTime, kNow - kHour + 1, ""},
        Row{"a timestamp at the end of time does not overflow",
            with(log_of({0, 0}),
                 [](auto& in) { in.segments[0].largest_timestamp = {INT64_MAX - 5}; }),
            0, 0, Hold::kNoRule, kNone, kNeverMs, "beyond what a clock can reach"}));

TEST(RetentionTest, RenameAndUnlinkHaveAnEarliestAndALatestMoment) {
  auto input = log_of({kHour / 2, 0});
  input.config.retention_check_interval_ms = 300'000;
  input.config.file_delete_delay_ms = 60'000;
  const auto verdict = judge_retention(input)[0];
  const auto due = kNow + kHour / 2 + 1;
  EXPECT_EQ(verdict.earliest_renamed.value, due);
  EXPECT_EQ(verdict.latest_renamed.value, due + 300'000);
  EXPECT_EQ(verdict.earliest_gone.value, due + 60'000);
  EXPECT_EQ(verdict.latest_gone.value, due + 360'000);
}

TEST(RetentionTest, CompactDeleteIsRunByTheCleanerAtItsBackoff) {
  auto input = log_of({2 * kHour, 0});
  input.config.cleanup_policy = {true, true};
  input.config.cleaner_backoff_ms = 15'000;
  EXPECT_EQ(judge_retention(input)[0].latest_renamed.value, kNow + 15'000);
}

TEST(RetentionTest, TheSizeRuleSaysHowMuchTheLogMustGrow) {
  auto input = log_of({0, 0, 0}, 100);
  input.config.retention_bytes = 250;
  const auto verdicts = judge_retention(input);
  EXPECT_EQ(verdicts[0].bytes_to_go, 50);  // 350 - 100 = 250
  EXPECT_EQ(verdicts[1].bytes_to_go, 150);
  EXPECT_EQ(verdicts[2].bytes_to_go, 250);
  input.segments.back().size_bytes += 50;
  EXPECT_EQ(count_deletable(input), 1U);
}

TEST(RetentionTest, TheActiveSegmentIsRolledInTheRunThatTakesIt) {
  const auto verdicts = judge_retention(log_of({2 * kHour, 2 * kHour}));
  EXPECT_FALSE(verdicts[0].rolls_first);
  EXPECT_TRUE(verdicts[1].rolls_first);
}

TEST(RetentionTest, ImpossibleDatesArePointedOut) {
  const TimestampMs now{kNow};
  EXPECT_EQ(implausible_timestamp({kNow - kHour}, now), "");
  EXPECT_THAT(implausible_timestamp({kNow / 1000}, now), HasSubstr("seconds"));
  EXPECT_THAT(implausible_timestamp({kNow * 1000}, now), HasSubstr("microseconds"));
  EXPECT_THAT(implausible_timestamp({kNow * 1'000'000}, now), HasSubstr("nanoseconds"));
  EXPECT_THAT(implausible_timestamp({kNow + 48 * kHour}, now), HasSubstr("ahead of the clock"));
  EXPECT_THAT(implausible_timestamp({INT64_MAX}, now), HasSubstr("ahead of the clock"));
  EXPECT_EQ(implausible_timestamp({-1}, now), "");
}

// The dates a verdict gives are those at which a run, asked at that very moment, does it.
TEST(RetentionTest, WhatIsDueAtAMomentIsDeletedByARunAtThatMomentAndNotBefore) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto any = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::int64_t> ages;
    for (auto n = 1 + any(6); n > 0; --n) ages.push_back(any(4 * kHour) - kHour);
    auto input = log_of(ages);
    if (any(3) == 0) input.log_start_offset = {any(input.log_end_offset.value)};
    if (any(3) == 0) input.high_watermark = {any(input.log_end_offset.value)};
    if (any(3) == 0) input.config.retention_bytes = any(700);
    if (any(5) == 0) input.config.cleanup_policy = {any(1) == 1, any(1) == 1};
    const auto verdicts = judge_retention(input);
    const auto now_deletable = count_deletable(input);
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      if (verdicts[i].due == kNever) continue;
      auto then = input;
      then.now = std::max(verdicts[i].due, input.now);
      if (i >= now_deletable) then.high_watermark = then.log_end_offset;  // caught up by then
      EXPECT_GT(count_deletable(then), i) << "round " << round;
      if (i < now_deletable) continue;
      then.now = then.now - 1;
      EXPECT_LE(count_deletable(then), i) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace offsetfs::storage
