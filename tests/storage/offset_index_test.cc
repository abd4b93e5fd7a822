#include "storage/offset_index.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "storage/byte_reader.h"
#include "tests/support/memory_file.h"

namespace offsetfs::storage {
namespace {

using tests::MemoryFile;

constexpr Offset kBase{100};
constexpr Position kNoLimit{std::numeric_limits<std::int64_t>::max()};

std::string entry_bytes(std::int32_t relative_offset, std::int32_t position) {
  std::string bytes(8, '\0');
  store_big_endian(bytes.data(), relative_offset);
  store_big_endian(bytes.data() + 4, position);
  return bytes;
}

// (10, 1000) (20, 2000) ...: `count` entries.
std::string entries_of_tens(int count) {
  std::string bytes;
  for (int i = 1; i <= count; ++i) bytes += entry_bytes(10 * i, 1000 * i);
  return bytes;
}

OffsetIndex index_of(std::string bytes) {
  return OffsetIndex(std::make_unique<MemoryFile>(std::move(bytes)), kBase);
}

std::optional<OffsetPosition> at(std::int64_t offset, std::int64_t position) {
  return OffsetPosition{Offset{offset}, Position{position}};
}

TEST(OffsetIndexTest, TheSampleEntryIsDecoded) {
  const auto index = index_of(std::string("\x00\x00\x00\x39\x00\x00\x10\x68", 8));
  EXPECT_EQ(index.lookup(Offset{157}, kNoLimit).value(), at(157, 4200));
  EXPECT_EQ(index.lookup(Offset{156}, kNoLimit).value(), std::nullopt);
}

TEST(OffsetIndexTest, TheGreatestEntryAtOrBelowTheTarget) {
  const auto index = index_of(entries_of_tens(3));
  struct Row {
    std::int64_t target;
    std::int64_t limit;
    std::optional<OffsetPosition> expected;
  };
  for (const auto& row :
       std::initializer_list<Row>{{-1, 9000, {}},
                                  {0, 9000, {}},
                                  {100, 9000, {}},
                                  {109, 9000, {}},
                                  {110, 9000, at(110, 1000)},
                                  {119, 9000, at(110, 1000)},
                                  {120, 9000, at(120, 2000)},
                                  {130, 9000, at(130, 3000)},
                                  {1'000'000, 9000, at(130, 3000)},
                                  {std::numeric_limits<std::int64_t>::max(), 9000, at(130, 3000)},
                                  {130, 3001, at(130, 3000)},
                                  {130, 3000, at(120, 2000)},
                                  {130, 1001, at(110, 1000)},
                                  {130, 1000, {}},
                                  {130, 0, {}}}) {
    EXPECT_EQ(index.lookup(Offset{row.target}, Position{row.limit}).value(), row.expected)
        << row.target << " below " << row.limit;
  }
}

TEST(OffsetIndexTest, SteppingBackEndsAtTheFront) {
  const auto index = index_of(entries_of_tens(3));
  EXPECT_EQ(index.lookup_position(kNoLimit).value(), at(130, 3000));
  EXPECT_EQ(index.lookup_position(Position{3000}).value(), at(120, 2000));
  EXPECT_EQ(index.lookup_position(Position{2000}).value(), at(110, 1000));
  EXPECT_EQ(index.lookup_position(Position{1000}).value(), std::nullopt);
}

TEST(OffsetIndexTest, PaddingHoldsNoEntry) {
  for (const int count : {0, 1, 2, 511, 512, 513, 5000}) {
    const auto index = index_of(entries_of_tens(count) + std::string(std::size_t{10} << 20, '\0'));
    EXPECT_EQ(index.lookup(Offset{1'000'000}, kNoLimit).value(),
              count == 0 ? std::nullopt : at(100 + 10 * count, 1000 * count))
        << count;
    EXPECT_EQ(index.entries().value().size(), count);
  }
}

TEST(OffsetIndexTest, AnEmptyFileAndAPartOfAnEntryHoldNone) {
  for (std::size_t size = 0; size < 8; ++size) {
    EXPECT_EQ(index_of(entries_of_tens(1).substr(0, size)).lookup(Offset{500}, kNoLimit).value(),
              std::nullopt);
  }
  const auto index = index_of(entries_of_tens(2).substr(0, 13));
  EXPECT_EQ(index.lookup(Offset{500}, kNoLimit).value(), at(110, 1000));
  EXPECT_EQ(index.entries().value().size(), 1);
}

TEST(OffsetIndexTest, EntriesEndWhereTheyCeaseToAscend) {
  const auto first = entry_bytes(10, 1000);
  for (const auto& next :
       {entry_bytes(10, 2000), entry_bytes(20, 1000), entry_bytes(9, 2000), entry_bytes(20, 999),
        entry_bytes(-1, 2000), entry_bytes(20, -1), entry_bytes(0, 0)}) {
    const auto index = index_of(first + next + entry_bytes(30, 3000));
    EXPECT_EQ(index.entries().value(), (std::vector<OffsetPosition>{*at(110, 1000)}));
  }
  // Stale entries behind a truncation still ascend: they are hints like all others.
  const auto stale = index_of(entry_bytes(25, 1500) + entry_bytes(30, 3000) +
                              entry_bytes(40, 4000) + std::string(800, '\0'));
  EXPECT_EQ(stale.entries().value().size(), 3);
  EXPECT_EQ(stale.lookup(Offset{139}, Position{2000}).value(), at(125, 1500));
}

TEST(OffsetIndexTest, AnOffsetBeyondALongIsNoEntry) {
  const Offset base{std::numeric_limits<std::int64_t>::max() - 15};
  const OffsetIndex index(std::make_unique<MemoryFile>(entries_of_tens(3)), base);
  EXPECT_EQ(index.lookup(Offset{std::numeric_limits<std::int64_t>::max()}, kNoLimit).value(),
            at(base.value + 10, 1000));
  EXPECT_EQ(index.entries().value().size(), 1);
}

// A plain scan is the model; random ascending entries, padding, targets and limits.
TEST(OffsetIndexTest, AnswersAsAScanDoes) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    const auto count = random() % 4000;
    std::vector<OffsetPosition> model;
    std::string bytes;
    std::int32_t relative = 0;
    std::int32_t position = 0;
    for (unsigned i = 0; i < count; ++i) {
      relative += 1 + static_cast<std::int32_t>(random() % 50);
      position += 1 + static_cast<std::int32_t>(random() % 5000);
      bytes += entry_bytes(relative, position);
      model.push_back({kBase + relative, Position{position}});
    }
    bytes += std::string(random() % 3 * 4321, '\0');
    const auto index = index_of(bytes);
    EXPECT_EQ(index.entries().value(), model);
    for (int i = 0; i < 200; ++i) {
      const Offset target{static_cast<std::int64_t>(random() % (relative + 200U))};
      const Position limit{static_cast<std::int64_t>(random() % (position + 200U))};
      std::optional<OffsetPosition> by_both;
      std::optional<OffsetPosition> by_position;
      for (const auto& entry : model) {
        if (entry.position >= limit) break;
        by_position = entry;
        if (entry.offset <= target) by_both = entry;
      }
      ASSERT_EQ(index.lookup(target, limit).value(), by_both) << target.value << " " << limit.value;
      ASSERT_EQ(index.lookup_position(limit).value(), by_position) << limit.value;
    }
  }
}

TEST(OffsetIndexTest, AWarmLookupReadsOneBlock) {
  auto file = std::make_unique<MemoryFile>(entries_of_tens(262'144));  // of a 1 GiB segment
  const auto* const counted = file.get();
  const OffsetIndex index(std::move(file), kBase);
  std::mt19937 random(1);
  const auto look = [&] {
    const auto before = counted->reads();
    const auto i = static_cast<std::int64_t>(1 + random() % 262'143);
    if (i % 512 == 0) return std::int64_t{1};  // the last of its block looks at the next one too
    EXPECT_EQ(index.lookup(Offset{100 + 10 * i + 5}, kNoLimit).value(), at(100 + 10 * i, 1000 * i));
    return counted->reads() - before;
  };
  EXPECT_LE(look(), 12);  // 512 blocks: nine steps, the block itself and the size
  for (int i = 0; i < 5000; ++i) look();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(look(), 1);
}

TEST(OffsetIndexTest, WhatIsAppendedInThePaddingIsFound) {
  const std::size_t size = std::size_t{1} << 20;
  auto file = std::make_unique<MemoryFile>(std::string(size, '\0'));
  auto* const growing = file.get();
  const OffsetIndex index(std::move(file), kBase);
  for (int count = 0; count < 3000; count += 1 + count / 7) {
    const auto entries = entries_of_tens(count);
    growing->content().replace(0, entries.size(), entries);
    ASSERT_EQ(index.lookup(Offset{1'000'000}, kNoLimit).value(),
              count == 0 ? std::nullopt : at(100 + 10 * count, 1000 * count));
    if (count > 1) {
      ASSERT_EQ(index.lookup(Offset{115}, kNoLimit).value(), at(110, 1000));
    }
  }
}

TEST(OffsetIndexTest, AFileThatGrowsOrIsTrimmedIsReadAsItIsNow) {
  auto file = std::make_unique<MemoryFile>("");
  auto* const changing = file.get();
  const OffsetIndex index(std::move(file), kBase);
  const Offset beyond{100'000'000};
  EXPECT_EQ(index.lookup(beyond, kNoLimit).value(), std::nullopt);
  changing->content() = entries_of_tens(2);
  EXPECT_EQ(index.lookup(beyond, kNoLimit).value(), at(120, 2000));
  changing->content() = entries_of_tens(3);
  EXPECT_EQ(index.lookup(beyond, kNoLimit).value(), at(130, 3000));
  changing->content() = entries_of_tens(2000);
  EXPECT_EQ(index.lookup(beyond, kNoLimit).value(), at(100 + 20'000, 2'000'000));
  changing->content() = entries_of_tens(600);
  EXPECT_EQ(index.lookup(beyond, kNoLimit).value(), at(100 + 6000, 600'000));
  changing->content() = "";
  EXPECT_EQ(index.lookup(beyond, kNoLimit).value(), std::nullopt);
}

TEST(OffsetIndexTest, GarbageOfAnyLengthIsAnsweredInFewReads) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::string bytes(random() % 40'000, '\0');
    for (auto& byte : bytes) byte = static_cast<char>(random());
    auto file = std::make_unique<MemoryFile>(bytes);
    const auto* const counted = file.get();
    const OffsetIndex index(std::move(file), kBase);
    for (int i = 0; i < 20; ++i) {
      const Position limit{static_cast<std::int64_t>(random())};
      const auto before = counted->reads();
      const auto found = index.lookup(Offset{static_cast<std::int64_t>(random())}, limit);
      ASSERT_TRUE(found);
      if (*found) {
        EXPECT_LT((*found)->position, limit);
        EXPECT_GT((*found)->position, Position{0});
      }
      EXPECT_LE(counted->reads() - before, 16);
    }
    ASSERT_TRUE(index.entries());
  }
}

TEST(OffsetIndexTest, AReadThatFailsIsAnError) {
  auto file = std::make_unique<MemoryFile>(entries_of_tens(2000));
  file->fail_at(8192);
  const OffsetIndex index(std::move(file), kBase);
  const auto found = index.lookup(Offset{20'000}, kNoLimit);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().sys_errno, EIO);
  EXPECT_FALSE(index.entries());
}

TEST(OffsetIndexTest, MoreEntriesThanAnyoneWantsInMemoryAreRefused) {
  std::string bytes;
  bytes.reserve((OffsetIndex::kMostEntries + 1) * 8);
  for (std::size_t i = 1; i <= OffsetIndex::kMostEntries + 1; ++i) {
    bytes += entry_bytes(static_cast<std::int32_t>(i), static_cast<std::int32_t>(i));
  }
  const auto index = index_of(std::move(bytes));
  EXPECT_EQ(index.entries().error().code, Errc::kTooLarge);
  std::size_t seen = 0;
  ASSERT_TRUE(index.for_each([&](const auto&) { return ++seen, true; }));
  EXPECT_EQ(seen, OffsetIndex::kMostEntries + 1);
}

}  // namespace
}  // namespace offsetfs::storage
