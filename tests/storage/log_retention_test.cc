#include "storage/log_retention.h"

#include <cerrno>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/crashing_dir.h"
#include "tests/support/written_log.h"

namespace offsetfs::tests {
namespace {

using storage::LogRetention;
using storage::LogWriter;
using storage::Offset;

class LogRetentionTest : public ::testing::Test {
 protected:
  LogRetentionTest() {
    options_.config.segment_ms = 100;
    options_.config.retention_ms = 1000;
    options_.config.file_delete_delay_ms = 500;
  }
  // One segment of two batches at each of the times.
  std::unique_ptr<LogWriter> log_at(const std::vector<std::int64_t>& times) {
    auto log = open_log(dir_, options_);
    for (const auto time : times)
      for (int i = 0; i < 2; ++i) {
        std::string batch = make_batch({"x"}, time + i);
        EXPECT_TRUE(log->append(batch));
      }
    EXPECT_EQ(log->segments().size(), times.size());
    return log;
  }

  const std::shared_ptr<CrashingDir> dir_ = std::make_shared<CrashingDir>(1);
  LogWriter::Options options_ = writer_options();
};

TEST_F(LogRetentionTest, ARunRenamesInKafkasOrderAndTheDelayUnlinks) {
  const auto log = log_at({10000, 20000, 30000});
  LogRetention retention(*log);
  EXPECT_EQ(retention.run({11001})->segments, 0U);  // strictly more than retention.ms
  const auto run = retention.run({11002}).value();
  EXPECT_EQ(run.renamed, (std::vector<std::string>{"00000000000000000000.log.deleted",
                                                   "00000000000000000000.index.deleted",
                                                   "00000000000000000000.timeindex.deleted"}));
  EXPECT_EQ(log->log_start_offset(), Offset{2});
  EXPECT_EQ(dir_->content("leader-epoch-checkpoint"), "0\n1\n0 2\n");
  EXPECT_EQ(retention.next_due(), storage::TimestampMs{11502});
  EXPECT_EQ(retention.unlink_due({11501}).value(), 0U);
  EXPECT_TRUE(dir_->info(run.renamed[0]));
  EXPECT_EQ(retention.unlink_due({11502}).value(), 3U);
  EXPECT_FALSE(dir_->info(run.renamed[0]));
}

TEST_F(LogRetentionTest, WhereAllGoesAnEmptySegmentIsBegunFirstAndOffsetsGoOn) {
  auto log = log_at({10000, 20000});
  LogRetention retention(*log);
  EXPECT_EQ(retention.run({90000})->segments, 2U);
  EXPECT_EQ(log->segments().size(), 1U);
  EXPECT_EQ(log->log_start_offset(), Offset{4});
  EXPECT_TRUE(dir_->info("00000000000000000004.log"));
  EXPECT_TRUE(dir_->info("00000000000000000004.snapshot"));
  EXPECT_FALSE(dir_->info("00000000000000000004.index"));
  log.reset();  // a crash: the next opening sweeps up
  storage::RecoveryReport report;
  const auto again = open_log(dir_, options_, &report);
  EXPECT_EQ(report.removed.size(), 7U) << report.to_string();
  std::string batch = make_batch({"x"}, 90000);
  EXPECT_EQ(again->append(batch)->base_offset, Offset{4});
}

TEST_F(LogRetentionTest, AnActiveSegmentThatGrewSinceTheVerdictStays) {
  const auto log = log_at({10000, 20000});
  const Offset judged = log->log_end_offset();
  std::string batch = make_batch({"fresh"}, 20050);
  ASSERT_FALSE(log->append(batch)->rolled);
  std::vector<std::string> renamed;
  ASSERT_TRUE(log->remove_segments(judged, renamed));
  EXPECT_EQ(renamed.size(), 3U);
  EXPECT_EQ(log->log_start_offset(), Offset{2});
}

// Room is what retention is to make: that nothing can be written must not be in its way.
TEST_F(LogRetentionTest, ARunOnAFullDiskTakesTheSegmentsAndSavesTheStartLater) {
  const auto log = log_at({10000, 20000, 30000});
  LogRetention retention(*log);
  dir_->fail_after(0, ENOSPC);
  const auto refused = retention.run({21002});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sys_errno, ENOSPC);
  EXPECT_EQ(log->log_start_offset(), Offset{4});
  EXPECT_EQ(retention.run({21002})->segments, 0U);       // there is nothing left to take
  EXPECT_EQ(retention.unlink_due({21502}).value(), 7U);  // a snapshot lies at 2
  EXPECT_EQ(dir_->content("leader-epoch-checkpoint"), "0\n1\n0 0\n");
  dir_->fail_after(-1, 0);
  ASSERT_TRUE(log->checkpoint_offsets());
  EXPECT_EQ(dir_->content("leader-epoch-checkpoint"), "0\n1\n0 4\n");
}

TEST_F(LogRetentionTest, OnAFullDiskAllGoButTheSegmentThatCanNotBeRolled) {
  auto log = log_at({10000, 20000});
  LogRetention retention(*log);
  dir_->fail_after(0, ENOSPC);
  EXPECT_FALSE(retention.run({90000}));
  EXPECT_EQ(log->log_start_offset(), Offset{2});
  dir_->fail_after(-1, 0);
  EXPECT_EQ(retention.run({90000})->segments, 1U);
  EXPECT_EQ(log->log_start_offset(), Offset{4});
  EXPECT_EQ(retention.unlink_due({90500}).value(), 7U);
}

// Whichever change is the last before the machine stops: what goes goes from the oldest on, and the
// log that is opened next has no hole, and no leader epoch before its start.
TEST_F(LogRetentionTest, ACrashBetweenAnyTwoStepsLeavesTheLogUnbroken) {
  std::set<std::int64_t> starts;
  for (int changes = 0; changes < 60; ++changes)
    for (const bool power_cut : {false, true}) {
      const auto dir = std::make_shared<CrashingDir>(static_cast<std::uint64_t>(changes));
      auto log = open_log(dir, options_);
      for (const std::int64_t time : {10000, 20000, 30000, 40000}) {
        std::string batch = make_batch({"x"}, time);
        ASSERT_TRUE(log->append(batch));
      }
      ASSERT_TRUE(log->flush());
      dir->stop_after(changes);
      (void)LogRetention(*log).run({31001}).has_value();
      log.reset();
      if (power_cut) dir->cut_power();
      dir->stop_after(-1);
      const auto again = open_log(dir, options_);
      const auto segments = again->segments();
      const Offset start = again->log_start_offset();
      EXPECT_EQ(segments.front().base_offset, start);
      EXPECT_EQ(static_cast<std::int64_t>(segments.size()), 4 - start.value);
      EXPECT_EQ(dir->content("leader-epoch-checkpoint"),
                "0\n1\n0 " + std::to_string(start.value) + "\n");
      EXPECT_EQ(again->log_end_offset(), Offset{4});
      starts.insert(start.value);
    }
  EXPECT_EQ(starts, (std::set<std::int64_t>{0, 1, 2, 3}));
}

// The rename of one segment is refused, once: it stays, and so do all behind it.
TEST_F(LogRetentionTest, ASegmentThatCanNotBeRenamedIsTriedAgainAndLeavesNoHole) {
  for (int changes = 0; changes < 12; ++changes) {
    const auto dir = std::make_shared<CrashingDir>(1);
    const auto log = open_log(dir, options_);
    for (const std::int64_t time : {10000, 20000, 30000, 40000}) {
      std::string batch = make_batch({"x"}, time);
      ASSERT_TRUE(log->append(batch));
    }
    LogRetention retention(*log);
    dir->stop_after(changes);
    EXPECT_FALSE(retention.run({31001})) << changes;
    dir->stop_after(-1);
    const Offset start = log->log_start_offset();
    for (std::int64_t base = 0; base < 4; ++base)
      EXPECT_EQ(dir->info("0000000000000000000" + std::to_string(base) + ".log").has_value(),
                base >= start.value)
          << changes;
    std::string batch = make_batch({"x"}, 50000);
    ASSERT_TRUE(log->append(batch));
    ASSERT_TRUE(retention.run({31001}));
    EXPECT_EQ(log->log_start_offset(), Offset{3});
    for (std::int64_t base = 0; base < 5; ++base)
      EXPECT_EQ(dir->info("0000000000000000000" + std::to_string(base) + ".log").has_value(),
                base >= 3)
          << changes;
  }
}

TEST_F(LogRetentionTest, SizeTakesWholeSegmentsAndNeverGoesBelowRetentionBytes) {
  options_.config.retention_ms = -1;
  const std::int64_t segment = 2 * static_cast<std::int64_t>(make_batch({"x"}, 1).size());
  options_.config.retention_bytes = 3 * segment - 1;
  const auto log = log_at({10000, 20000, 30000});
  EXPECT_EQ(LogRetention(*log).run({90000})->segments, 0U);
  std::string batch = make_batch({"x"}, 40000);
  ASSERT_TRUE(log->append(batch));
  EXPECT_EQ(LogRetention(*log).run({90000})->segments, 0U);
  batch = make_batch({"x"}, 40000);
  ASSERT_TRUE(log->append(batch));
  EXPECT_EQ(LogRetention(*log).run({90000})->segments, 1U);
}

TEST_F(LogRetentionTest, ALogStartInsideASegmentIsCheckpointedUntilItMeetsASegmentsBase) {
  const auto log_dir_files = std::make_shared<CrashingDir>(2);
  const auto log_dir = storage::LogDirWriter::open(log_dir_files, std::nullopt).value();
  options_.config.retention_ms = -1;
  const auto log = LogWriter::open(dir_, log_dir, {"orders", 0}, options_, nullptr).value();
  for (const std::int64_t time : {10000, 10001, 20000, 20001}) {
    std::string batch = make_batch({"x"}, time);
    ASSERT_TRUE(log->append(batch));
  }
  ASSERT_TRUE(log->raise_log_start({3}));
  EXPECT_EQ(log_dir_files->content("log-start-offset-checkpoint"), "0\n1\norders 0 3\n");
  EXPECT_EQ(LogRetention(*log).run({90000})->segments, 1U);  // wholly below the log start
  EXPECT_EQ(log_dir_files->content("log-start-offset-checkpoint"), "0\n1\norders 0 3\n");
  for (const std::int64_t time : {30000, 30001}) {
    std::string batch = make_batch({"x"}, time);
    ASSERT_TRUE(log->append(batch));
  }
  ASSERT_TRUE(log->raise_log_start({4}));
  EXPECT_EQ(LogRetention(*log).run({90000})->segments, 1U);
  EXPECT_EQ(log_dir_files->content("log-start-offset-checkpoint"), "0\n0\n");
  EXPECT_FALSE(log->raise_log_start({7}));
}

}  // namespace
}  // namespace offsetfs::tests
