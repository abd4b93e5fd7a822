#include "fs/retention_report.h"

#include <filesystem>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "fs/render_retention.h"
#include "fs/timeline_svg.h"
#include "storage/log_dir.h"
#include "tests/support/log_builder.h"
#include "tests/support/temp_dir.h"

namespace offsetfs::fs {
namespace {

using storage::TimestampMs;
using testing::HasSubstr;
using testing::Not;
using tests::LogBuilder;

constexpr std::int64_t kHour = 3'600'000;
constexpr std::int64_t kNow = LogBuilder::kFirstTime + 100 * kHour;

class RetentionReportTest : public testing::Test {
 protected:
  // Three sealed segments, `ages` hours old, and an active one that is young.
  LogBuilder log_of_ages(const std::vector<std::int64_t>& ages) {
    LogBuilder builder(temp_ / "orders-0");
    for (const auto& age : ages) {
      builder.clock(kNow - age * kHour).fill(3, 10, 100);
      if (&age != &ages.back()) builder.roll();
    }
    return builder;
  }

  RetentionReport report_of(const std::string& dir, const storage::ConfigMap& settings) {
    auto source =
        storage::LogDir::open({dir}, make_io_backend(storage::IoChoice::kPread, nullptr), {});
    EXPECT_TRUE(source.has_value()) << source.error().what;
    auto log = (*source)->open((*source)->partitions()->front().id);
    EXPECT_TRUE(log.has_value());
    storage::ConfigLevels levels;
    levels.command_line = settings;
    auto report = make_retention_report(**log, resolve_config(levels), false, TimestampMs{kNow});
    EXPECT_TRUE(report.has_value()) << report.error().what;
    return std::move(*report);
  }

  tests::TempDir temp_;
};

std::vector<std::string> states(const RetentionReport& report) {
  std::vector<std::string> names;
  for (const auto& row : report.segments) names.emplace_back(retention_state_name(row.state));
  return names;
}

TEST_F(RetentionReportTest, WhatIsPastRetentionIsExpiredAndTheActiveSegmentIsActive) {
  const auto report =
      report_of(log_of_ages({50, 20, 5, 1}).build(), {{"retention.ms", "36000000"}});
  EXPECT_EQ(states(report), (std::vector<std::string>{"expired", "expired", "kept", "active"}));
  EXPECT_EQ(report.segments[0].segment.timestamp_origin, storage::TimestampOrigin::kTimeIndex);
  EXPECT_EQ(report.segments[3].segment.timestamp_origin, storage::TimestampOrigin::kLog);
  EXPECT_EQ(report.segments[0].first_timestamp.value, kNow - 50 * kHour);
  ASSERT_NE(report.next(), nullptr);
  EXPECT_EQ(report.next()->segment.base_offset.value, 0);
}

TEST_F(RetentionReportTest, AnActiveSegmentOfOldRecordsIsActiveAndRollsFirst) {
  const auto report = report_of(log_of_ages({50, 20}).build(), {{"retention.ms", "36000000"}});
  EXPECT_EQ(states(report), (std::vector<std::string>{"expired", "active"}));
  EXPECT_TRUE(report.segments[1].verdict.rolls_first);
}

TEST_F(RetentionReportTest, ALostTimeIndexSwitchesToTheFilesMtimeAndSaysSo) {
  auto builder = log_of_ages({50, 20, 1});
  builder.build();
  std::filesystem::remove(temp_ / "orders-0/00000000000000000000.timeindex");
  const timespec mtime[2] = {{kNow / 1000 - 7200, 0}, {kNow / 1000 - 7200, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (temp_ / "orders-0/00000000000000000000.log").c_str(), mtime, 0),
            0);
  const auto report = report_of(builder.dir(), {{"retention.ms", "36000000"}});
  EXPECT_EQ(states(report), (std::vector<std::string>{"kept", "kept", "active"}));
  const auto& row = report.segments[0];
  EXPECT_EQ(row.segment.timestamp_origin, storage::TimestampOrigin::kMtime);
  EXPECT_EQ(row.segment.largest_timestamp.value, (kNow / 1000 - 7200) * 1000);
  EXPECT_THAT(row.remark, HasSubstr("time index is lost"));
  EXPECT_EQ(report.segments[1].verdict.hold, storage::Hold::kBehind);
}

TEST_F(RetentionReportTest, ARenamedSegmentIsDeletingAndSaysWhatTimeIsLeft) {
  auto builder = log_of_ages({50, 1});
  builder.build();
  for (const auto* extension : {".log", ".index", ".timeindex"}) {
    const auto name = temp_ / ("orders-0/00000000000000000000" + std::string(extension));
    std::filesystem::rename(name, std::string(name) + ".deleted");
  }
  const auto report = report_of(builder.dir(), {{"file.delete.delay.ms", "60000"}});
  ASSERT_EQ(report.deleting.size(), 1U);
  const auto& row = report.deleting[0];
  EXPECT_EQ(row.segment.next_offset.value, 30);
  EXPECT_EQ(row.verdict.latest_gone - row.verdict.due, 60000);
  EXPECT_EQ(report.segments.size(), 1U);
  EXPECT_THAT(render_retention_status_tsv(report),
              HasSubstr("00000000000000000000\tdeleting\t0\t29\t"));
}

TEST_F(RetentionReportTest, ATimestampInMicrosecondsIsPrintedAndPointedOut) {
  LogBuilder builder(temp_ / "orders-0");
  builder.clock(kNow * 1000).fill(1, 2, 10).roll().clock(kNow).fill(1, 2, 10);
  const auto report = report_of(builder.build(), {{"retention.ms", "1000"}});
  const auto& row = report.segments[0];
  EXPECT_EQ(row.verdict.hold, storage::Hold::kFuture);
  EXPECT_THAT(row.remark, HasSubstr("microseconds"));
  EXPECT_THAT(render_retention_status_tsv(report), HasSubstr(std::to_string(kNow * 1000 + 1)));
}

TEST_F(RetentionReportTest, NextNamesTheSegmentTheOffsetsAndBothMoments) {
  const auto report = report_of(log_of_ages({50, 5, 1}).build(), {{"retention.ms", "36000000"}});
  const auto text = render_retention_next(report);
  EXPECT_THAT(text, HasSubstr("segment: 00000000000000000000\n"));
  EXPECT_THAT(text, HasSubstr("offsets: 0..29\n"));
  EXPECT_THAT(text, HasSubstr("rule: time\n"));
  EXPECT_THAT(text, HasSubstr("the next check takes it"));
  EXPECT_THAT(text, HasSubstr("log_start_offset_then: 30\n"));
}

TEST_F(RetentionReportTest, NextSaysWhyNothingGoes) {
  const auto report = report_of(log_of_ages({50, 1}).build(), {{"retention.ms", "-1"}});
  EXPECT_EQ(report.next(), nullptr);
  EXPECT_EQ(render_retention_next(report),
            "segment: none\nreason: retention.ms and retention.bytes are both off\n");
}

TEST_F(RetentionReportTest, PolicyShowsEachValueItsOriginAndWhatItOverrides) {
  const auto report = report_of(log_of_ages({1}).build(), {{"retention.ms", "5"}});
  const auto text = render_retention_policy_tsv(report);
  EXPECT_THAT(text, HasSubstr("\nretention.ms\t5\tcommand line\tretention.ms\tdefault "
                              "retention.ms=604800000\t-\n"));
  EXPECT_THAT(text, HasSubstr("\n(cluster)\t-\t-\t-\t-\tno whole metadata log was found"));
}

// Every text that is drawn, as its line (y) and where it stands.
TEST_F(RetentionReportTest, TheTimelineOfAThousandSegmentsDrawsTheOldestAndTheNewest) {
  RetentionReport report;
  report.now = {kNow};
  report.topic_partition = {"a<b", 0};
  for (int i = 0; i < 1000; ++i) {
    RetentionRow row;
    row.segment.base_offset = {i};
    row.segment.size_bytes = 1024;
    row.segment.largest_timestamp = {kNow - (1000 - i) * kHour};
    report.segments.push_back(row);
  }
  const auto svg = render_timeline_svg(report);
  EXPECT_THAT(svg, HasSubstr("920 more segments, 920.0 KiB"));
  EXPECT_THAT(svg, HasSubstr(">00000000000000000059<"));
  EXPECT_THAT(svg, Not(HasSubstr(">00000000000000000060<")));
  EXPECT_THAT(svg, HasSubstr(">00000000000000000999<"));
  EXPECT_THAT(svg, HasSubstr("a&lt;b-0"));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
}

}  // namespace
}  // namespace offsetfs::fs
