#include "fs/record_files.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/fs/one_partition.h"
#include "tests/support/log_builder.h"
#include "tests/support/temp_dir.h"

namespace offsetfs::fs {
namespace {

using storage::Errc;
using testing::HasSubstr;
using tests::keyed;
using tests::LogBuilder;
using tests::OnePartition;
using tests::TempDir;
using tests::TestRecord;

Node record(std::int64_t offset, Form form = Form::kRaw) {
  Node node;
  node.kind = NodeKind::kRecord;
  node.form = form;
  node.number = offset;
  return node;
}

class RecordFilesTest : public testing::Test {
 protected:
  storage::Result<NodeFacts> facts(const OnePartition& one, std::int64_t offset,
                                   Form form = Form::kRaw) {
    return record_facts(*one.view, record(offset, form), /*show_control=*/false);
  }
  static std::string text(const storage::Result<NodeFacts>& facts) {
    return std::string(facts.value().content->bytes());
  }

  TempDir temp_;
  const std::string dir_ = temp_ / "orders-3";
};

TEST_F(RecordFilesTest, AValueIsExactlyItsBytesAndItsSizeTheirNumber) {
  LogBuilder(dir_).batch({keyed("k", std::string("a\0b", 3))}).build();
  const OnePartition one(dir_);
  EXPECT_EQ(text(facts(one, 0)), std::string("a\0b", 3));
  EXPECT_EQ(facts(one, 0)->size_bytes, 3);
  EXPECT_EQ(text(facts(one, 0, Form::kKey)), "k");
  EXPECT_THAT(text(facts(one, 0, Form::kJson)), HasSubstr("\"key\":\"k\""));
}

TEST_F(RecordFilesTest, ANullValueOrKeyIsAnEmptyFile) {
  LogBuilder(dir_).batch({tests::tombstone("k"), "no key"}).build();
  const OnePartition one(dir_);
  EXPECT_EQ(text(facts(one, 0)), "");
  EXPECT_EQ(text(facts(one, 1, Form::kKey)), "");
}

TEST_F(RecordFilesTest, ALargeValueIsServedFromItsBatch) {
  const std::string large(100'000, 'x');
  LogBuilder(dir_).batch({TestRecord(large), TestRecord("small")}).build();
  const OnePartition one(dir_);
  EXPECT_EQ(text(facts(one, 0)), large);
}

TEST_F(RecordFilesTest, TheTimeIsTheRecordsElseItsBatchsElseTheFiles) {
  LogBuilder(dir_)
      .batch({TestRecord("a").at_time(1'500), TestRecord("b").at_time(-1)})
      .legacy_batch(0, {"c"})
      .build();
  const OnePartition one(dir_);
  EXPECT_EQ(facts(one, 0)->mtime.tv_sec, 1);
  EXPECT_EQ(facts(one, 0)->mtime.tv_nsec, 500'000'000);
  EXPECT_EQ(facts(one, 1)->mtime.tv_sec, 1);
  struct stat file {};
  ASSERT_EQ(::stat((dir_ + "/00000000000000000000.log").c_str(), &file), 0);
  EXPECT_EQ(facts(one, 2)->mtime.tv_sec, file.st_mtim.tv_sec);
}

TEST_F(RecordFilesTest, ModeAndOwnerAreTheSegmentsWithoutWriteBits) {
  LogBuilder(dir_).batch({"a"}).build();
  ASSERT_EQ(::chmod((dir_ + "/00000000000000000000.log").c_str(), 0640), 0);
  const OnePartition one(dir_);
  EXPECT_EQ(facts(one, 0)->access.mode, static_cast<mode_t>(0440));
}

TEST_F(RecordFilesTest, MarkersHaveNoPlainNameButTheirJson) {
  LogBuilder(dir_).producer(7).transactional_batch({"a"}).commit(7).batch({"b"}).build();
  const OnePartition one(dir_);
  EXPECT_EQ(facts(one, 1).error().code, Errc::kNotFound);
  EXPECT_EQ(facts(one, 1, Form::kKey).error().code, Errc::kNotFound);
  EXPECT_THAT(text(facts(one, 1, Form::kJson)), HasSubstr("COMMIT"));
  EXPECT_TRUE(record_facts(*one.view, record(1), /*show_control=*/true));
}

TEST_F(RecordFilesTest, WhatIsGoneForGoodIsToldFromWhatMayCome) {
  LogBuilder(dir_).offset(10).batch({"a"}).build();
  const OnePartition one(dir_);
  EXPECT_EQ(facts(one, 9).error().code, Errc::kOutOfRange);
  EXPECT_EQ(facts(one, 11).error().code, Errc::kNotFound);
}

TEST_F(RecordFilesTest, DamageIsForItsBatchAlone) {
  LogBuilder(dir_).batch({"a"}).batch({"b", "c"}).flip_byte(-1).batch({"d"}).build();
  const OnePartition one(dir_);
  EXPECT_EQ(text(facts(one, 0)), "a");
  EXPECT_EQ(facts(one, 1).error().code, Errc::kCorrupt);
  EXPECT_EQ(facts(one, 2).error().code, Errc::kCorrupt);
  EXPECT_EQ(text(facts(one, 3)), "d");
  EXPECT_EQ(one.source->problems().count(), 1U) << "one batch, one line";
}

TEST_F(RecordFilesTest, ALegacyWrappersFirstOffsetIsThatOfItsFirstMessage) {
  LogBuilder(dir_).codec(storage::Codec::kGzip).legacy_batch(1, {"a", "b", "c"}).build();
  const OnePartition one(dir_);
  EXPECT_THAT(text(facts(one, 1, Form::kJson)), HasSubstr("\"batch_base_offset\":0"));
}

TEST_F(RecordFilesTest, OnlyWhatIsBelowTheHighWatermarkMayBeKeptForever) {
  const std::string log_dir = temp_ / "data";
  LogBuilder(log_dir + "/orders-3").batch({"a", "b", "c"}).build();
  temp_.write("data/replication-offset-checkpoint", "0\n1\norders 3 2\n");
  const OnePartition one(log_dir + "/orders-3");
  EXPECT_EQ(facts(one, 1)->attr_timeout, kForever);
  EXPECT_EQ(facts(one, 2)->attr_timeout, kNever);
}

TEST_F(RecordFilesTest, InADirectoryAloneWhatIsSealedIsFinal) {
  LogBuilder(dir_).batch({"a"}).roll().batch({"b"}).build();
  const OnePartition one(dir_);
  EXPECT_EQ(facts(one, 0)->attr_timeout, kForever);
  EXPECT_EQ(facts(one, 1)->attr_timeout, kNever);
}

}  // namespace
}  // namespace offsetfs::fs
