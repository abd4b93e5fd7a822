#include "storage/batch_cache.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "storage/batch_builder.h"

namespace offsetfs::tests {
namespace {

using storage::BatchBuilder;
using storage::BatchCache;
using storage::CachedBatch;
using storage::DecodedBatch;
using storage::Offset;
using storage::TimestampMs;

// Records at `first`, `first` + `step`, ...: each holds its offset as a text.
std::shared_ptr<const CachedBatch> batch_of(std::int64_t first, int count, std::int64_t step = 1) {
  BatchBuilder::Options options;
  options.base_offset = Offset{first};
  BatchBuilder builder(options);
  for (int i = 0; i < count; ++i) {
    const std::int64_t offset = first + i * step;
    builder.add_at(Offset{offset}, TimestampMs{0}, std::nullopt, std::to_string(offset));
  }
  auto batch = DecodedBatch::decode(builder.build()).value();
  storage::BatchPlace place;
  place.header = batch->header();
  return std::make_shared<const CachedBatch>(place, std::move(batch));
}

TEST(CachedBatchTest, EveryRecordIsFoundInAnyOrder) {
  const auto batch = batch_of(1000, 100, 3);
  for (const std::int64_t start : {0, 50, 99, 7, 98, 16, 15, 17}) {
    for (std::int64_t i = start; i < 100; i += 13) {
      const auto record = batch->record_at_or_after(Offset{1000 + i * 3 - 1}).value();
      ASSERT_TRUE(record);
      EXPECT_EQ(record->offset, Offset{1000 + i * 3});
      EXPECT_EQ(record->value, std::to_string(1000 + i * 3));
    }
  }
  EXPECT_FALSE(batch->record_at_or_after(Offset{1298}).value());
}

TEST(BatchCacheTest, ABatchIsFoundByEachOfItsOffsets) {
  BatchCache cache(1 << 20);
  const auto owner = cache.new_owner();
  const auto batch = batch_of(10, 5);
  cache.insert(owner, batch, cache.forgets());
  EXPECT_EQ(cache.find(owner, Offset{9}), nullptr);
  EXPECT_EQ(cache.find(owner, Offset{10}), batch);
  EXPECT_EQ(cache.find(owner, Offset{14}), batch);
  EXPECT_EQ(cache.find(owner, Offset{15}), nullptr);
  EXPECT_EQ(cache.find(cache.new_owner(), Offset{12}), nullptr);
}

TEST(BatchCacheTest, TheOneUsedLongestAgoGoesFirst) {
  const auto first = batch_of(0, 10);
  BatchCache cache(first->memory_bytes() * 5 / 2);
  const auto owner = cache.new_owner();
  cache.insert(owner, first, cache.forgets());
  cache.insert(owner, batch_of(10, 10), cache.forgets());
  EXPECT_NE(cache.find(owner, Offset{0}), nullptr);
  cache.insert(owner, batch_of(20, 10), cache.forgets());
  EXPECT_NE(cache.find(owner, Offset{0}), nullptr);
  EXPECT_EQ(cache.find(owner, Offset{10}), nullptr);
  EXPECT_LE(cache.memory_bytes(), first->memory_bytes() * 5 / 2);
}

TEST(BatchCacheTest, ABatchInMemoryIsNotReadFromItsFileAgain) {
  BatchCache cache(1);
  const auto owner = cache.new_owner();
  const auto batch = batch_of(0, 100);
  cache.insert(owner, batch, cache.forgets());
  cache.checked(owner, *batch, {}, cache.forgets());
  EXPECT_FALSE(cache.excerpt(owner, Offset{3}));
  cache.insert(owner, batch_of(100, 10), cache.forgets());
  EXPECT_TRUE(cache.excerpt(owner, Offset{3}));
}

TEST(CheckedBatchesTest, MarksAscendUpToTheLargestOffsetABatchCanHold) {
  const auto marks = storage::CheckedBatches::marks_of(*batch_of(7, 2, INT32_MAX)->batch());
  ASSERT_TRUE(marks);
  ASSERT_FALSE(marks->empty());
  for (std::size_t i = 1; i < marks->size(); ++i)
    EXPECT_LT((*marks)[i - 1].offset_delta, (*marks)[i].offset_delta);
}

TEST(BatchCacheTest, TheNewestStaysWhateverItsSize) {
  BatchCache cache(1);
  const auto owner = cache.new_owner();
  cache.insert(owner, batch_of(0, 10), cache.forgets());
  EXPECT_NE(cache.find(owner, Offset{3}), nullptr);
  cache.insert(owner, batch_of(10, 10), cache.forgets());
  EXPECT_EQ(cache.find(owner, Offset{3}), nullptr);
}

TEST(BatchCacheTest, WhatWasReadBeforeSomethingWasForgottenIsNotKept) {
  BatchCache cache(1 << 20);
  const auto owner = cache.new_owner();
  cache.insert(owner, batch_of(0, 10), cache.forgets());
  cache.insert(owner, batch_of(10, 10), cache.forgets());
  const auto before = cache.forgets();
  cache.forget(owner, Offset{10}, Offset{20});
  EXPECT_NE(cache.find(owner, Offset{3}), nullptr);
  EXPECT_EQ(cache.find(owner, Offset{13}), nullptr);
  cache.insert(owner, batch_of(10, 10), before);
  EXPECT_EQ(cache.find(owner, Offset{13}), nullptr);
}

}  // namespace
}  // namespace offsetfs::tests
