#include "storage/leader_epochs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

using testing::HasSubstr;

LeaderEpochs epochs(const char* text) {
  auto parsed = parse_leader_epochs(text, "leader-epoch-checkpoint");
  if (!parsed) throw std::runtime_error(parsed.error().what);
  return *parsed;
}

TEST(LeaderEpochsTest, EachOffsetHasTheLastEpochThatBeganAtOrBeforeIt) {
  const auto three = epochs("0\n3\n0 5\n2 40\n7 41\n");
  struct Row {
    std::int64_t offset;
    std::optional<LeaderEpoch> epoch;
  };
  for (const auto& [offset, epoch] : std::initializer_list<Row>{{0, {}},
                                                                {4, {}},
                                                                {5, LeaderEpoch{0}},
                                                                {39, LeaderEpoch{0}},
                                                                {40, LeaderEpoch{2}},
                                                                {41, LeaderEpoch{7}},
                                                                {1000, LeaderEpoch{7}}}) {
    EXPECT_EQ(three.epoch_of(Offset{offset}), epoch) << offset;
  }
  EXPECT_EQ(three.latest(), LeaderEpoch{7});
  EXPECT_EQ(epochs("").epoch_of(Offset{0}), std::nullopt);
  EXPECT_EQ(epochs("").latest(), std::nullopt);
}

TEST(LeaderEpochsTest, AnEpochEndsWhereTheNextBegins) {
  const auto three = epochs("0\n3\n0 5\n2 40\n7 41\n");
  const Offset end{50};
  EXPECT_EQ(three.end_offset_of(LeaderEpoch{-1}, end), Offset{5});
  EXPECT_EQ(three.end_offset_of(LeaderEpoch{0}, end), Offset{40});
  EXPECT_EQ(three.end_offset_of(LeaderEpoch{1}, end), Offset{40});
  EXPECT_EQ(three.end_offset_of(LeaderEpoch{2}, end), Offset{41});
  EXPECT_EQ(three.end_offset_of(LeaderEpoch{7}, end), end);
  EXPECT_EQ(three.end_offset_of(LeaderEpoch{8}, end), std::nullopt);
}

TEST(LeaderEpochsTest, EntriesBeyondTheLogsEndAreOfACrash) {
  auto three = epochs("0\n3\n0 5\n2 40\n7 41\n");
  three.truncate_from_end(Offset{40});
  EXPECT_EQ(three.entries(), (std::vector<LeaderEpochs::Entry>{{LeaderEpoch{0}, Offset{5}},
                                                               {LeaderEpoch{2}, Offset{40}}}));
}

TEST(LeaderEpochsTest, ANewEpochReplacesOnesThatGotNoRecord) {
  LeaderEpochs assigned;
  EXPECT_TRUE(assigned.assign(LeaderEpoch{0}, Offset{0}));
  EXPECT_TRUE(assigned.assign(LeaderEpoch{2}, Offset{0}));
  EXPECT_TRUE(assigned.assign(LeaderEpoch{4}, Offset{10}));
  EXPECT_FALSE(assigned.assign(LeaderEpoch{4}, Offset{12}));
  EXPECT_FALSE(assigned.assign(LeaderEpoch{3}, Offset{12}));
  EXPECT_EQ(render_leader_epochs(assigned), "0\n2\n2 0\n4 10\n");
}

TEST(LeaderEpochsTest, WhenTheLogStartMovesTheEpochItLiesInStartsThere) {
  for (const auto& [start, text] :
       std::initializer_list<std::pair<std::int64_t, const char*>>{{3, "0\n3\n0 5\n2 40\n7 41\n"},
                                                                   {5, "0\n3\n0 5\n2 40\n7 41\n"},
                                                                   {20, "0\n3\n0 20\n2 40\n7 41\n"},
                                                                   {40, "0\n2\n2 40\n7 41\n"},
                                                                   {99, "0\n1\n7 99\n"}}) {
    auto moved = epochs("0\n3\n0 5\n2 40\n7 41\n");
    moved.truncate_from_start(Offset{start});
    EXPECT_EQ(render_leader_epochs(moved), text) << start;
  }
}

TEST(LeaderEpochsTest, WhatDoesNotAscendIsToldWithItsLine) {
  for (const char* text : {"0\n2\n0 5\n0 6\n", "0\n2\n1 5\n0 6\n", "0\n2\n0 5\n1 5\n",
                           "0\n2\n0 5\n1 4\n", "0\n2\n0 5\n1 x\n", "0\n2\n0 5\nx 6\n"}) {
    const auto parsed = parse_leader_epochs(text, "epochs");
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Errc::kCorrupt);
    EXPECT_THAT(parsed.error().what, HasSubstr("epochs:4"));
  }
}

TEST(LeaderEpochsTest, WhatIsRenderedIsRead) {
  EXPECT_EQ(render_leader_epochs(epochs("0\n2\n0 0\n2 40\n")), "0\n2\n0 0\n2 40\n");
}

}  // namespace
}  // namespace offsetfs::storage
