#include "fs/single_flight_cache.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace offsetfs::fs {
namespace {

using Cache = SingleFlightCache<int, std::string, std::hash<int>>;

Cache::Made make(std::size_t size) { return std::make_shared<const std::string>(size, 'x'); }
std::size_t weigh(const std::string& value) { return value.size(); }

TEST(SingleFlightCacheTest, ManyWhoWantOneAtOnceMakeItOnce) {
  Cache cache(1000);
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int key = 0; key < 50; ++key) {
        const auto value = cache.get(
            key,
            [&] {
              ++made;
              std::this_thread::yield();
              return make(10);
            },
            weigh);
        EXPECT_EQ((*value)->size(), 10U);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 50);
}

TEST(SingleFlightCacheTest, LongestUnusedGoesFirstAndAHugeOneStaysAlone) {
  Cache cache(100);
  for (int key = 0; key < 3; ++key)
    ASSERT_TRUE(cache.get(
        key, [] { return make(40); }, weigh));
  EXPECT_EQ(cache.find(0), nullptr);
  EXPECT_NE(cache.find(1), nullptr);
  ASSERT_TRUE(cache.get(
      9, [] { return make(5000); }, weigh));
  EXPECT_EQ(cache.find(1), nullptr);
  EXPECT_NE(cache.find(9), nullptr);
  ASSERT_TRUE(cache.get(
      1, [] { return make(40); }, weigh));
  EXPECT_EQ(cache.find(9), nullptr);
  EXPECT_EQ(cache.memory_bytes(), 40U);
}

TEST(SingleFlightCacheTest, FailureIsNotKept) {
  Cache cache(100);
  const auto fails = []() -> Cache::Made { return storage::fail(storage::Errc::kIo, "no"); };
  EXPECT_FALSE(cache.get(1, fails, weigh));
  EXPECT_TRUE(cache.get(
      1, [] { return make(1); }, weigh));
}

}  // namespace
}  // namespace offsetfs::fs
