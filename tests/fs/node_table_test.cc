#include "fs/node_table.h"

#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace offsetfs::fs {
namespace {

Node root() {
  Node node;
  node.kind = NodeKind::kPartition;
  node.partition = 0;
  return node;
}

Node record(std::int64_t offset) {
  Node node;
  node.kind = NodeKind::kRecord;
  node.partition = 0;
  node.number = offset;
  return node;
}

Node range(std::string text) {
  Node node;
  node.kind = NodeKind::kRange;
  node.form = Form::kJsonl;
  node.partition = 0;
  node.text = std::move(text);
  return node;
}

class NodeTableTest : public ::testing::Test {
 protected:
  NodeTable table_{root()};
};

TEST_F(NodeTableTest, TheRootIsOneAndNothingElse) {
  EXPECT_EQ(table_.remember(root()), kRootId);
  EXPECT_EQ(table_.number_of(root()), kRootId);
  EXPECT_EQ(table_.find(kRootId), root());
  table_.forget(kRootId, 1'000'000);
  EXPECT_EQ(table_.find(kRootId), root());
}

TEST_F(NodeTableTest, ARecordTakesNoMemoryAndIsFoundAfterItWasForgotten) {
  const std::uint64_t id = table_.remember(record(42));
  EXPECT_EQ(table_.numbered(), 0U);
  table_.forget(id, 1);
  EXPECT_EQ(table_.find(id), record(42));
  EXPECT_EQ(table_.remember(record(42)), id);
}

TEST_F(NodeTableTest, ARangeIsKnownUntilItsLastLookupIsForgotten) {
  const std::uint64_t id = table_.remember(range("3..7"));
  EXPECT_EQ(table_.remember(range("3..7")), id);
  EXPECT_EQ(table_.number_of(range("3..7")), id);
  table_.forget(id, 1);
  EXPECT_EQ(table_.find(id), range("3..7"));
  table_.forget(id, 1);
  EXPECT_EQ(table_.find(id), std::nullopt);
  EXPECT_EQ(table_.number_of(range("3..7")), NodeTable::kUnknownId);
  EXPECT_EQ(table_.numbered(), 0U);
}

TEST_F(NodeTableTest, ANumberIsNeverUsedAgain) {
  const std::uint64_t first = table_.remember(range("3..7"));
  table_.forget(first, 1);
  const std::uint64_t second = table_.remember(range("3..8"));
  EXPECT_NE(second, first);
  table_.forget(second, 1);
  EXPECT_NE(table_.remember(range("3..7")), first);
}

TEST_F(NodeTableTest, ForgettingMoreThanWasCountedIsTheEndAndNotAFault) {
  const std::uint64_t id = table_.remember(range("3..7"));
  table_.forget(id, UINT64_MAX);
  table_.forget(id, 1);
  table_.forget(12345, 1);
  EXPECT_EQ(table_.numbered(), 0U);
}

TEST_F(NodeTableTest, AnOffsetTooLargeToPackIsNumbered) {
  const std::uint64_t id = table_.remember(record(INT64_MAX));
  EXPECT_EQ(table_.find(id), record(INT64_MAX));
  EXPECT_EQ(table_.numbered(), 1U);
}

TEST_F(NodeTableTest, NumbersThatWereNeverGivenAreNothing) {
  EXPECT_EQ(table_.find(0), std::nullopt);
  EXPECT_EQ(table_.find(2), std::nullopt);
  EXPECT_EQ(table_.find(UINT64_MAX), std::nullopt);
}

// Against a plain map: what is remembered and forgotten in any order stays one to one.
TEST_F(NodeTableTest, AnyOrderOfLookupsAndForgetsStaysOneToOne) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> model;  // text -> id, lookups
  std::set<std::uint64_t> used;
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = std::to_string(random() % 50) + "..99";
    const auto known = model.find(text);
    if (random() % 2 == 0) {
      const std::uint64_t id = table_.remember(range(text));
      if (known == model.end()) {
        ASSERT_TRUE(used.insert(id).second) << "number used again";
        model[text] = {id, 1};
      } else {
        ASSERT_EQ(id, known->second.first);
        ++known->second.second;
      }
    } else if (known != model.end()) {
      const std::uint64_t lookups = 1 + random() % known->second.second;
      table_.forget(known->second.first, lookups);
      known->second.second -= lookups;
      if (known->second.second == 0) model.erase(known);
    }
    ASSERT_EQ(table_.numbered(), model.size());
  }
  for (const auto& [text, entry] : model) EXPECT_EQ(table_.find(entry.first), range(text));
}

TEST_F(NodeTableTest, ThreadsThatLookUpTheSameNamesAgreeOnTheNumbers) {
  constexpr int kThreads = 4;
  constexpr int kNames = 200;
  std::vector<std::vector<std::uint64_t>> ids(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : ids) {
    threads.emplace_back([&] {
      for (int i = 0; i < kNames; ++i) {
        mine.push_back(table_.remember(range(std::to_string(i) + "..last")));
        table_.remember(record(i));
        (void)table_.find(mine.back());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& mine : ids) EXPECT_EQ(mine, ids[0]);
  for (const std::uint64_t id : ids[0]) table_.forget(id, kThreads);
  EXPECT_EQ(table_.numbered(), 0U);
}

}  // namespace
}  // namespace offsetfs::fs
