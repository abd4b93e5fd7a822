#include "storage/problems.h"

#include <thread>

#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

TEST(ProblemsTest, EachThingIsToldOnce) {
  std::vector<std::string> told;
  Problems problems([&](const Problem& problem) { told.push_back(problem.what); });
  problems.add({"a.log", 10, "bad CRC"});
  problems.add({"a.log", 10, "bad CRC"});
  problems.add({"a.log", 20, "bad CRC"});
  problems.add({"b.log", 10, "bad CRC"});
  problems.add({"b.log", 10, "no batch"});
  EXPECT_EQ(problems.count(), 4);
  EXPECT_EQ(told, (std::vector<std::string>{"bad CRC", "bad CRC", "bad CRC", "no batch"}));
  const auto list = problems.list();
  ASSERT_EQ(list.size(), 4);
  EXPECT_EQ(list[1].file, "a.log");
  EXPECT_EQ(list[1].position, 20);
}

TEST(ProblemsTest, TheListIsBoundedAndTheCountGoesOn) {
  std::size_t told = 0;
  Problems problems([&](const Problem&) { ++told; });
  for (std::size_t i = 0; i < Problems::kMost + 5; ++i) {
    problems.add({"a.log", static_cast<std::int64_t>(i), "bad CRC"});
  }
  EXPECT_EQ(problems.list().size(), Problems::kMost);
  EXPECT_EQ(problems.count(), Problems::kMost + 5);
  EXPECT_EQ(told, Problems::kMost);
}

TEST(ProblemsTest, ManyThreadsMeetingTheSameThingTellItOnce) {
  std::atomic<int> told{0};
  Problems problems([&](const Problem&) { ++told; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) problems.add({"a.log", i, "bad CRC"});
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(told, 100);
  EXPECT_EQ(problems.count(), 100);
}

}  // namespace
}  // namespace offsetfs::storage
