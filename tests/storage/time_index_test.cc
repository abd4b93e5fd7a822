#include "storage/time_index.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "storage/byte_reader.h"
#include "tests/support/memory_file.h"

namespace offsetfs::storage {
namespace {

using tests::MemoryFile;

constexpr Offset kBase{100};

std::string entry_bytes(std::int64_t timestamp, std::int32_t relative_offset) {
  std::string bytes(12, '\0');
  store_big_endian(bytes.data(), timestamp);
  store_big_endian(bytes.data() + 8, relative_offset);
  return bytes;
}

TimeIndex index_of(std::string bytes) {
  return TimeIndex(std::make_unique<MemoryFile>(std::move(bytes)), kBase);
}

std::optional<TimestampOffset> at(std::int64_t timestamp, std::int64_t offset) {
  return TimestampOffset{TimestampMs{timestamp}, Offset{offset}};
}

const std::string kPadding(std::size_t{1} << 20, '\0');

TEST(TimeIndexTest, TheGreatestEntryAtOrBelowTheTarget) {
  for (const auto& tail : {std::string(), kPadding, std::string(5, 'x')}) {
    const auto index =
        index_of(entry_bytes(1000, 7) + entry_bytes(2000, 7) + entry_bytes(3000, 9) + tail);
    EXPECT_EQ(index.lookup(TimestampMs{-1}).value(), std::nullopt);
    EXPECT_EQ(index.lookup(TimestampMs{999}).value(), std::nullopt);
    EXPECT_EQ(index.lookup(TimestampMs{1000}).value(), at(1000, 107));
    EXPECT_EQ(index.lookup(TimestampMs{2999}).value(), at(2000, 107));
    EXPECT_EQ(index.lookup(TimestampMs{3000}).value(), at(3000, 109));
    EXPECT_EQ(index.lookup(TimestampMs{9000}).value(), at(3000, 109));
    EXPECT_EQ(index.last().value(), at(3000, 109));
    EXPECT_EQ(index.entries().value().size(), 3);
  }
}

TEST(TimeIndexTest, AZeroEntryAtTheFrontIsGenuineOnlyWhereKafkaTakesItForOne) {
  const auto zero = entry_bytes(0, 0);
  struct Row {
    std::string bytes;
    bool genuine;
  };
  for (const auto& [bytes, genuine] : std::initializer_list<Row>{
           {zero, true},                      // the whole file
           {zero + entry_bytes(5, 0), true},  // goes on properly
           {zero + entry_bytes(5, 3) + kPadding, true},
           {zero + zero, false},  // padding
           {kPadding, false},
           {zero + entry_bytes(-5, 3), false},
           {zero + entry_bytes(5, -3), false},
       }) {
    const auto index = index_of(bytes);
    EXPECT_EQ(index.lookup(TimestampMs{4}).value(), genuine ? at(0, 100) : std::nullopt)
        << bytes.size();
    EXPECT_EQ(index.entries().value().empty(), !genuine) << bytes.size();
  }
  EXPECT_EQ(index_of(zero).last().value(), at(0, 100));
  EXPECT_EQ(index_of(zero + entry_bytes(5, 3) + kPadding).last().value(), at(5, 103));
  EXPECT_EQ(index_of(kPadding).last().value(), std::nullopt);
  EXPECT_EQ(index_of("").last().value(), std::nullopt);
  EXPECT_EQ(index_of(zero).lookup(TimestampMs{-1}).value(), std::nullopt);
}

TEST(TimeIndexTest, EntriesEndWhereTheyCeaseToAscend) {
  for (const auto& next : {entry_bytes(1000, 8), entry_bytes(999, 8), entry_bytes(2000, 6),
                           entry_bytes(2000, -1), entry_bytes(-1, 9)}) {
    const auto index = index_of(entry_bytes(1000, 7) + next + entry_bytes(3000, 10));
    EXPECT_EQ(index.entries().value(), (std::vector<TimestampOffset>{*at(1000, 107)}));
  }
}

TEST(TimeIndexTest, AVisitorMayStopAtAnyEntry) {
  const auto index = index_of(entry_bytes(0, 0) + entry_bytes(5, 3) + entry_bytes(6, 4));
  for (std::size_t stop = 1; stop <= 3; ++stop) {
    std::size_t seen = 0;
    ASSERT_TRUE(index.for_each([&](const auto&) { return ++seen < stop; }));
    EXPECT_EQ(seen, stop);
  }
}

TEST(TimeIndexTest, AnswersAsAScanDoes) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    std::vector<TimestampOffset> model;
    std::string bytes;
    std::int64_t timestamp = -1;
    std::int32_t relative = static_cast<std::int32_t>(random() % 2);
    for (auto left = random() % 3000; left > 0; --left) {
      timestamp += 1 + random() % 1000;
      bytes += entry_bytes(timestamp, relative);
      model.push_back({TimestampMs{timestamp}, kBase + relative});
      relative += static_cast<std::int32_t>(random() % 5);
    }
    const bool odd_front = !model.empty() && model[0] == *at(0, 100) && model.size() == 1;
    if (!odd_front) bytes += std::string(random() % 3 * 5000, '\0');
    const auto index = index_of(bytes);
    EXPECT_EQ(index.entries().value(), model);
    EXPECT_EQ(index.last().value(), model.empty() ? std::nullopt : std::optional(model.back()));
    for (int i = 0; i < 100; ++i) {
      const TimestampMs target{static_cast<std::int64_t>(random() % (timestamp + 100))};
      std::optional<TimestampOffset> expected;
      for (const auto& entry : model) {
        if (entry.timestamp <= target) expected = entry;
      }
      ASSERT_EQ(index.lookup(target).value(), expected) << target.value;
    }
  }
}

TEST(TimeIndexTest, GarbageOfAnyLengthIsAnswered) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::string bytes(random() % 30'000, '\0');
    for (auto& byte : bytes) byte = static_cast<char>(random());
    auto file = std::make_unique<MemoryFile>(bytes);
    const auto* const counted = file.get();
    const TimeIndex index(std::move(file), Offset{static_cast<std::int64_t>(random() >> 1)});
    for (int i = 0; i < 20; ++i) {
      const auto before = counted->reads();
      const TimestampMs target{static_cast<std::int64_t>(random())};
      const auto found = index.lookup(target);
      ASSERT_TRUE(found);
      if (*found) {
        EXPECT_LE((*found)->timestamp, target);
      }
      EXPECT_LE(counted->reads() - before, 20);
    }
    ASSERT_TRUE(index.last());
    ASSERT_TRUE(index.entries());
  }
}

}  // namespace
}  // namespace offsetfs::storage
