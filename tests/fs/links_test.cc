#include "fs/links.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/fs/one_partition.h"
#include "tests/support/log_builder.h"
#include "tests/support/temp_dir.h"

namespace offsetfs::fs {
namespace {

using storage::Errc;
using storage::TimestampMs;
using tests::LogBuilder;
using tests::OnePartition;
using tests::TempDir;
using tests::TestRecord;

class LinksTest : public testing::Test {
 protected:
  // The target, or "" if there is no such link.
  std::string target(const OnePartition& one, NodeKind kind, std::int64_t number = 0,
                     std::string text = {}, Form form = Form::kRaw) {
    Node node;
    node.kind = kind;
    node.form = form;
    node.number = number;
    node.text = std::move(text);
    const auto facts = link_facts(*one.view, node, TimestampMs{LogBuilder::kFirstTime + 10});
    if (!facts) {
      EXPECT_EQ(facts.error().code, Errc::kNotFound) << facts.error().what;
      return {};
    }
    EXPECT_EQ(facts->size_bytes, static_cast<std::int64_t>(facts->content->bytes().size()));
    EXPECT_EQ(facts->type, static_cast<mode_t>(S_IFLNK));
    return std::string(facts->content->bytes());
  }

  TempDir temp_;
  const std::string dir_ = temp_ / "orders-3";
};

TEST_F(LinksTest, SeekLeadsToTheFirstRecordFromThereOn) {
  LogBuilder(dir_).batch({"a"}).offset(5).batch({"b"}).build();
  const OnePartition one(dir_);
  EXPECT_EQ(target(one, NodeKind::kSeekLink, 0), "../offsets/0");
  EXPECT_EQ(target(one, NodeKind::kSeekLink, 1), "../offsets/5");
  EXPECT_EQ(target(one, NodeKind::kSeekLink, 5, {}, Form::kJson), "../offsets/5.json");
  EXPECT_EQ(target(one, NodeKind::kSeekLink, 6), "");
}

TEST_F(LinksTest, FirstAndLastAreVisibleRecords) {
  LogBuilder(dir_)
      .offset(3)
      .batch({"a", "b"})
      .producer(7)
      .transactional_batch({"c"})
      .commit(7)
      .build();
  const OnePartition one(dir_);
  EXPECT_EQ(target(one, NodeKind::kFirstLink), "offsets/3");
  EXPECT_EQ(target(one, NodeKind::kLastLink), "offsets/5");
  EXPECT_EQ(target(one, NodeKind::kLastLink, 0, {}, Form::kJson), "offsets/5.json");
}

TEST_F(LinksTest, AnEmptyPartitionHasNone) {
  LogBuilder(dir_).build();
  const OnePartition one(dir_);
  EXPECT_EQ(target(one, NodeKind::kFirstLink), "");
  EXPECT_EQ(target(one, NodeKind::kLastLink), "");
  EXPECT_EQ(target(one, NodeKind::kActiveLink), "segments/00000000000000000000");
}

TEST_F(LinksTest, LastAndActiveMoveWithTheLog) {
  LogBuilder log(dir_);
  log.batch({"a"}).build();
  const OnePartition one(dir_);
  EXPECT_EQ(target(one, NodeKind::kLastLink), "offsets/0");
  log.batch({"b"}).roll().batch({"c"}).build();
  one.view->log->refresh();
  EXPECT_EQ(target(one, NodeKind::kLastLink), "offsets/2");
  EXPECT_EQ(target(one, NodeKind::kActiveLink), "segments/00000000000000000002");
}

TEST_F(LinksTest, ATimeLeadsToTheFirstRecordThatIsNotOlder) {
  LogBuilder(dir_).batch({"a", "b", "c"}).build();
  const OnePartition one(dir_);
  const auto time = [&](std::int64_t ms) {
    return target(one, NodeKind::kTimeLink, 0, std::to_string(LogBuilder::kFirstTime + ms));
  };
  EXPECT_EQ(time(-1000), "../offsets/0");
  EXPECT_EQ(time(1), "../offsets/1");
  EXPECT_EQ(time(3), "");
  EXPECT_EQ(target(one, NodeKind::kTimeLink, 0, "now-1m"), "../offsets/0");
  EXPECT_EQ(target(one, NodeKind::kTimeLink, 0, "now"), "");
}

}  // namespace
}  // namespace offsetfs::fs
