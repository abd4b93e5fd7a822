#include "storage/log_changes.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

using Change = LogChanges::Change;
using Kind = Change::Kind;

TEST(LogChanges, AListenerHearsOfItsPartitionAndOfPartitionsThatComeAndGo) {
  LogChanges changes;
  std::vector<Kind> heard;
  const auto of_three =
      changes.subscribe(3, [&](const Change& change) { heard.push_back(change.kind); });
  changes.publish({Kind::kAppended, 3});
  changes.publish({Kind::kAppended, 4});
  changes.publish({Kind::kPartitions, 0});
  changes.publish({Kind::kSegments, 3});
  EXPECT_EQ(heard, (std::vector<Kind>{Kind::kAppended, Kind::kPartitions, Kind::kSegments}));
}

TEST(LogChanges, WhoListensToAllHearsOfAll) {
  LogChanges changes;
  std::vector<std::uint32_t> heard;
  const auto of_all = changes.subscribe(
      std::nullopt, [&](const Change& change) { heard.push_back(change.partition); });
  changes.publish({Kind::kAppended, 3});
  changes.publish({Kind::kCheckpoints, 4});
  EXPECT_EQ(heard, (std::vector<std::uint32_t>{3, 4}));
}

TEST(LogChanges, WhatHasEndedHearsNothing) {
  LogChanges changes;
  int heard = 0;
  auto first = changes.subscribe(1, [&](const Change&) { ++heard; });
  first = changes.subscribe(2, [&](const Change&) { ++heard; });
  changes.publish({Kind::kAppended, 1});
  EXPECT_EQ(heard, 0);
  first.end();
  changes.publish({Kind::kAppended, 2});
  EXPECT_EQ(heard, 0);
}

TEST(LogChanges, AListenerMayEndItself) {
  LogChanges changes;
  int heard = 0;
  LogChanges::Subscription once;
  once = changes.subscribe(1, [&](const Change&) {
    ++heard;
    once.end();
  });
  changes.publish({Kind::kAppended, 1});
  changes.publish({Kind::kAppended, 1});
  EXPECT_EQ(heard, 1);
}

TEST(LogChanges, TheEndWaitsForACallThatIsUnderWay) {
  LogChanges changes;
  std::atomic<bool> called = false;
  std::atomic<bool> returned = false;
  auto slow = changes.subscribe(1, [&](const Change&) {
    called = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    returned = true;
  });
  std::thread publisher([&] { changes.publish({Kind::kAppended, 1}); });
  while (!called) std::this_thread::yield();
  slow.end();
  EXPECT_TRUE(returned);
  publisher.join();
}

TEST(LogChanges, ASubscriptionMayOutliveTheSource) {
  auto changes = std::make_unique<LogChanges>();
  const auto left = changes->subscribe(1, [](const Change&) {});
  changes.reset();
}

TEST(LogChanges, TheWatcherIsToldWhichPartitionsAreListenedTo) {
  struct Counting : LogChanges::Watcher {
    void begin_listening(std::uint32_t partition) override { now += partition; }
    void end_listening(std::uint32_t partition) override { now -= partition; }
    std::uint32_t now = 0;
  } watcher;
  LogChanges changes;
  changes.set_watcher(&watcher);
  auto one = changes.subscribe(10, [](const Change&) {});
  auto two = changes.subscribe(10, [](const Change&) {});
  const auto all = changes.subscribe(std::nullopt, [](const Change&) {});
  EXPECT_EQ(watcher.now, 20U);
  one.end();
  one.end();
  EXPECT_EQ(watcher.now, 10U);
  two.end();
  EXPECT_EQ(watcher.now, 0U);
}

}  // namespace
}  // namespace offsetfs::storage
