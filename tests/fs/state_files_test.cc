#include "fs/state_files.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "fs/names.h"
#include "tests/fs/one_partition.h"
#include "tests/support/log_builder.h"
#include "tests/support/temp_dir.h"

namespace offsetfs::fs {
namespace {

using tests::LogBuilder;
using tests::OnePartition;
using tests::TempDir;

class StateFilesTest : public testing::Test {
 protected:
  std::string text(const OnePartition& one, StateFile file) {
    return files_.text(*one.view, node(file), {}).value();
  }
  static Node node(StateFile file) {
    Node node;
    node.kind = NodeKind::kStateFile;
    node.number = static_cast<std::int64_t>(file);
    return node;
  }

  StateFiles files_{/*show_control=*/false};
  TempDir temp_;
  const std::string dir_ = temp_ / "data/orders-3";
};

TEST_F(StateFilesTest, OneValueAndANewline) {
  LogBuilder(dir_).offset(5).batch({"a", "b"}).roll().batch({"c"}).build();
  temp_.write("data/replication-offset-checkpoint", "0\n1\norders 3 7\n");
  temp_.write("data/recovery-point-offset-checkpoint", "0\n1\norders 3 6\n");
  const OnePartition one(dir_);
  EXPECT_EQ(text(one, StateFile::kTopic), "orders\n");
  EXPECT_EQ(text(one, StateFile::kPartition), "3\n");
  EXPECT_EQ(text(one, StateFile::kLogStartOffset), "5\n");
  EXPECT_EQ(text(one, StateFile::kLogEndOffset), "8\n");
  EXPECT_EQ(text(one, StateFile::kHighWatermark), "7\n");
  EXPECT_EQ(text(one, StateFile::kRecoveryPoint), "6\n");
  EXPECT_EQ(text(one, StateFile::kRecords), "3\n");
  EXPECT_EQ(text(one, StateFile::kLastStableOffset), "7\n");
}

TEST_F(StateFilesTest, WhatADirectoryCannotTellIsEmpty) {
  LogBuilder(dir_).batch({"a"}).build();
  const OnePartition one(dir_);
  EXPECT_EQ(text(one, StateFile::kRecoveryPoint), "");
  EXPECT_EQ(text(one, StateFile::kCleanerOffset), "");
  EXPECT_EQ(text(one, StateFile::kTopicId), "");
  EXPECT_EQ(text(one, StateFile::kLeaderEpoch), "");
}

TEST_F(StateFilesTest, WhatIsNoRegularFileIsAbsentAndNamed) {
  LogBuilder(dir_).batch({"a"}).build();
  temp_.write("secret", "0\n1\n7 0\n");
  std::filesystem::create_symlink(temp_ / "secret", dir_ + "/leader-epoch-checkpoint");
  std::filesystem::create_symlink(temp_ / "nothing", dir_ + "/partition.metadata");
  const OnePartition one(dir_);
  EXPECT_EQ(text(one, StateFile::kLeaderEpoch), "");
  EXPECT_EQ(text(one, StateFile::kLeaderEpochs), "leader_epoch\tstart_offset\n");
  EXPECT_EQ(text(one, StateFile::kTopicId), "");
  auto problems = one.source->problems().list();
  std::ranges::sort(problems, {}, &storage::Problem::file);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_TRUE(problems[0].file.ends_with("/leader-epoch-checkpoint")) << problems[0].file;
  EXPECT_TRUE(problems[1].file.ends_with("/partition.metadata")) << problems[1].file;
  EXPECT_EQ(problems[0].what, "is no regular file: not opened");
}

TEST_F(StateFilesTest, RecordsAreCountedWithoutMarkersAndGaps) {
  LogBuilder(dir_)
      .batch({tests::TestRecord("a").at_offset(0), tests::TestRecord("b").at_offset(4)})
      .producer(7)
      .transactional_batch({"c"})
      .commit(7)
      .emptied_batch(2)
      .codec(storage::Codec::kGzip)
      .legacy_batch(1, {"d", "e"})
      .build();
  const OnePartition one(dir_);
  EXPECT_EQ(text(one, StateFile::kRecords), "5\n");
  StateFiles with_markers(/*show_control=*/true);
  EXPECT_EQ(with_markers.text(*one.view, node(StateFile::kRecords), {}).value(), "6\n");
}

TEST_F(StateFilesTest, AnOpenTransactionHoldsTheLastStableOffset) {
  LogBuilder(dir_)
      .batch({"a"})
      .producer(7)
      .transactional_batch({"b"})
      .producer(-1)
      .batch({"c"})
      .build();
  temp_.write("data/replication-offset-checkpoint", "0\n1\norders 3 3\n");
  const OnePartition one(dir_);
  EXPECT_EQ(text(one, StateFile::kLastStableOffset), "1\n");
  EXPECT_EQ(text(one, StateFile::kTransactions),
            "producer_id\tfirst_offset\tlast_offset\tlast_stable_offset\tstate\n"
            "7\t1\t-1\t-1\topen\n");
}

TEST_F(StateFilesTest, AbortedTransactionsOfAllSegmentsAreListed) {
  LogBuilder(dir_)
      .producer(7)
      .transactional_batch({"a"})
      .abort(7)
      .roll()
      .transactional_batch({"b"})
      .abort(7)
      .build();
  const OnePartition one(dir_);
  EXPECT_EQ(text(one, StateFile::kTransactions),
            "producer_id\tfirst_offset\tlast_offset\tlast_stable_offset\tstate\n"
            "7\t0\t1\t2\taborted\n"
            "7\t2\t3\t4\taborted\n");
}

TEST_F(StateFilesTest, SegmentsAreCleanUpToTheCleanersOffset) {
  LogBuilder log(dir_);
  log.batch({"a", "b"}).roll().batch({"c"}).roll().batch({"d"}).build();
  temp_.write("data/cleaner-offset-checkpoint", "0\n1\norders 3 2\n");
  const OnePartition one(dir_);
  const std::string table = text(one, StateFile::kCompaction);
  EXPECT_TRUE(table.starts_with("base_offset\tnext_offset\tbytes\tstate\n0\t2\t")) << table;
  EXPECT_NE(table.find("\tclean\n2\t3\t"), std::string::npos) << table;
  EXPECT_NE(table.find("\tdirty\n3\t4\t"), std::string::npos) << table;
  EXPECT_TRUE(table.ends_with("\tactive\n")) << table;
}

TEST_F(StateFilesTest, TheSizeOfWhatTakesAWalkIsExactOnceItWasMadeAndUntilTheLogGrows) {
  LogBuilder log(dir_);
  for (int i = 0; i < 12; ++i) log.batch({"a"});
  log.build();
  const OnePartition one(dir_);
  const auto size = [&](StateFile file) {
    return files_.facts(*one.view, node(file)).value().size_bytes;
  };
  EXPECT_GE(size(StateFile::kCompaction), 100);
  const auto made = static_cast<std::int64_t>(text(one, StateFile::kCompaction).size());
  EXPECT_EQ(size(StateFile::kCompaction), made);
  log.batch({"b"}).build();
  EXPECT_NE(size(StateFile::kCompaction), made);
}

}  // namespace
}  // namespace offsetfs::fs
