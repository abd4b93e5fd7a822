#include "fs/range_ends.h"

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fs/one_partition.h"
#include "tests/support/log_builder.h"
#include "tests/support/temp_dir.h"

namespace offsetfs::fs {
namespace {

using storage::Errc;
using storage::TimestampMs;
using tests::keyed;
using tests::LogBuilder;
using tests::OnePartition;
using tests::TempDir;
using tests::TestRecord;
using Ends = std::optional<std::pair<std::int64_t, std::int64_t>>;  // exclusive

Node range_node(NodeKind kind, std::string text) {
  Node node;
  node.kind = kind;
  node.form = Form::kJsonl;
  node.text = std::move(text);
  return node;
}

// Records at 0 1 2 3, 10 11, 20; a marker at 21.
class RangeEndsTest : public testing::Test {
 protected:
  RangeEndsTest() {
    LogBuilder(dir_)
        .batch({"a", "b", "c", "d"})
        .roll()
        .batch({TestRecord("e").at_offset(10), TestRecord("f").at_offset(11)})
        .offset(20)
        .producer(7)
        .transactional_batch({"g"})
        .commit(7)
        .build();
    one_.emplace(dir_);
  }

  Ends ends(const std::string& text, NodeKind kind = NodeKind::kRange) {
    const auto found =
        resolve_ends(*one_->view, range_node(kind, text), TimestampMs{LogBuilder::kFirstTime + 5},
                     /*show_control=*/false, /*exactly=*/true);
    if (!found) {
      EXPECT_EQ(found.error().code, Errc::kNotFound) << found.error().what;
      return std::nullopt;
    }
    return Ends({found->range.from.value, found->range.to.value});
  }

  TempDir temp_;
  const std::string dir_ = temp_ / "orders-3";
  std::optional<OnePartition> one_;
};

TEST_F(RangeEndsTest, BothEndsOfARangeAreIncludedAndClippedToTheLog) {
  EXPECT_EQ(ends("1..2"), (Ends({1, 3})));
  EXPECT_EQ(ends("2..2"), (Ends({2, 3})));
  EXPECT_EQ(ends("11..99999"), (Ends({11, 22})));
}

TEST_F(RangeEndsTest, NothingButAGapIsStillARange) { EXPECT_EQ(ends("5..8"), (Ends({5, 9}))); }

TEST_F(RangeEndsTest, EndsTheWrongWayRoundOrBeyondTheLogAreNoRange) {
  EXPECT_EQ(ends("3..2"), std::nullopt);
  EXPECT_EQ(ends("22..30"), std::nullopt);
}

TEST_F(RangeEndsTest, WordsAreTheFirstAndTheNewestVisibleRecord) {
  EXPECT_EQ(ends("first..1"), (Ends({0, 2})));
  EXPECT_EQ(ends("11..last"), (Ends({11, 21})));
}

TEST_F(RangeEndsTest, CountsAreOfRecordsNotOfOffsets) {
  EXPECT_EQ(ends("first-1"), (Ends({0, 1})));
  EXPECT_EQ(ends("first-5"), (Ends({0, 11})));
  EXPECT_EQ(ends("first-7"), (Ends({0, 21})));
  EXPECT_EQ(ends("first-100"), (Ends({0, 21})));
  EXPECT_EQ(ends("last-1"), (Ends({20, 21})));
  EXPECT_EQ(ends("last-2"), (Ends({11, 21})));
  EXPECT_EQ(ends("last-4"), (Ends({3, 21})));
  EXPECT_EQ(ends("last-7"), (Ends({0, 21})));
  EXPECT_EQ(ends("last-100"), (Ends({0, 21})));
  EXPECT_EQ(ends("last-3..last-2"), (Ends({10, 12})));
}

TEST_F(RangeEndsTest, EveryCountAgreesWithCountingOneByOne) {
  LogBuilder log(temp_ / "gaps-0");
  std::vector<std::int64_t> offsets;
  for (int i = 0; i < 40; ++i) {
    const std::int64_t next = log.next_offset() + (i * 7 % 5);
    log.batch({TestRecord("a").at_offset(next), TestRecord("b").at_offset(next + 1 + i % 3)});
    offsets.push_back(next);
    offsets.push_back(next + 1 + i % 3);
    if (i % 9 == 8) log.roll();
  }
  log.build();
  one_.emplace(log.dir());
  const auto size = static_cast<std::int64_t>(offsets.size());
  for (std::int64_t n = 1; n <= size; ++n) {
    const std::string count = std::to_string(n);
    EXPECT_EQ(ends("last-" + count)->first, offsets[static_cast<std::size_t>(size - n)]) << n;
    EXPECT_EQ(ends("first-" + count)->second, offsets[static_cast<std::size_t>(n - 1)] + 1) << n;
  }
}

TEST_F(RangeEndsTest, AnInterruptEndsTheCounting) {
  std::stop_source stop;
  stop.request_stop();
  const auto found = resolve_ends(*one_->view, range_node(NodeKind::kRange, "last-4"), {}, false,
                                  true, stop.get_token());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().sys_errno, EINTR);
}

TEST_F(RangeEndsTest, AStatDoesNotCount) {
  std::stop_source stop;
  stop.request_stop();
  const auto found = resolve_ends(*one_->view, range_node(NodeKind::kRange, "last-4"), {}, false,
                                  false, stop.get_token());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->range.from.value, 18);
}

TEST_F(RangeEndsTest, ATimeRangeBeginsAtTheFirstRecordThatIsNotOlder) {
  const std::string from = std::to_string(LogBuilder::kFirstTime + 2);
  const std::string to = std::to_string(LogBuilder::kFirstTime + 4);
  EXPECT_EQ(ends(from + ".." + to, NodeKind::kTimeRange), (Ends({2, 22})));
  EXPECT_EQ(ends("now-1s..now", NodeKind::kTimeRange), (Ends({0, 22})));
  EXPECT_EQ(ends(to + ".." + from, NodeKind::kTimeRange), std::nullopt);
  EXPECT_EQ(ends(from + ".." + from, NodeKind::kTimeRange), std::nullopt);
}

TEST_F(RangeEndsTest, ATimeRangeInTheFutureIsThereAndEmpty) {
  EXPECT_NE(ends("2099-01-01..2099-01-02", NodeKind::kTimeRange), std::nullopt);
}

TEST_F(RangeEndsTest, WhatNamesOtherRecordsLaterIsSaidToMove) {
  const auto moving = [&](const char* text) {
    return resolve_ends(*one_->view, range_node(NodeKind::kRange, text), {}, false, true)
        ->range.moving;
  };
  EXPECT_FALSE(moving("0..5"));
  EXPECT_TRUE(moving("0..last"));
  EXPECT_TRUE(moving("last-2"));
}

}  // namespace
}  // namespace offsetfs::fs
