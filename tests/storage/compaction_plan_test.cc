#include "storage/compaction_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

using testing::ElementsAre;
using testing::FieldsAre;

constexpr TimestampMs kNow{1'000'000};

// Segments of 100 offsets and 1000 bytes; the log ends in the active one, 50 offsets in.
CompactionInput input_of(std::int64_t sealed) {
  CompactionInput input;
  for (std::int64_t i = 0; i < sealed; ++i) {
    CompactionSegment segment;
    segment.base_offset = {i * 100};
    segment.size_bytes = 1000;
    segment.offset_index_bytes = 80;
    segment.time_index_bytes = 120;
    segment.largest_timestamp = segment.first_batch_timestamp = {i * 1000 + 1};
    input.segments.push_back(segment);
  }
  input.active_base_offset = {sealed * 100};
  input.log_end_offset = input.last_stable_offset = {sealed * 100 + 50};
  input.now = kNow;
  return input;
}

TEST(CompactionPlanTest, TheRatioIsStrict) {
  auto input = input_of(4);
  input.checkpoint = Offset{200};
  EXPECT_DOUBLE_EQ(plan_compaction(input)->dirty_ratio, 0.5);
  EXPECT_FALSE(plan_compaction(input)->is_due);
  input = input_of(5);
  input.checkpoint = Offset{200};
  EXPECT_DOUBLE_EQ(plan_compaction(input)->dirty_ratio, 0.6);
  EXPECT_TRUE(plan_compaction(input)->is_due);
}

TEST(CompactionPlanTest, APartlyDirtySegmentCountsOnBothSides) {
  auto input = input_of(4);
  input.checkpoint = Offset{250};
  const auto plan = plan_compaction(input);
  EXPECT_EQ(plan->first_dirty, Offset{250});
  EXPECT_DOUBLE_EQ(plan->dirty_ratio, 2.0 / 5.0);
}

TEST(CompactionPlanTest, ACheckpointOutsideTheLogIsNone) {
  for (const std::int64_t odd : {50, 451}) {
    auto input = input_of(4);
    input.log_start_offset = {100};
    input.checkpoint = Offset{odd};
    EXPECT_EQ(plan_compaction(input)->first_dirty, Offset{100}) << odd;
  }
}

TEST(CompactionPlanTest, AnOpenTransactionHoldsItsSegmentAndAllBehindIt) {
  auto input = input_of(4);
  input.last_stable_offset = {250};
  EXPECT_EQ(plan_compaction(input)->first_uncleanable, Offset{200});
  input.last_stable_offset = {50};
  EXPECT_FALSE(plan_compaction(input));
}

TEST(CompactionPlanTest, YoungSegmentsWaitForMinCompactionLag) {
  auto input = input_of(4);
  input.config.min_compaction_lag_ms = kNow.value - 3001;
  EXPECT_EQ(plan_compaction(input)->first_uncleanable, Offset{400}) << "as old as it has to be";
  input.config.min_compaction_lag_ms = kNow.value - 3000;
  EXPECT_EQ(plan_compaction(input)->first_uncleanable, Offset{300});
}

TEST(CompactionPlanTest, MaxCompactionLagOverridesTheRatio) {
  auto input = input_of(4);
  input.config.min_cleanable_dirty_ratio = 1;
  EXPECT_FALSE(plan_compaction(input)->is_due);
  input.config.max_compaction_lag_ms = kNow.value - 1;
  EXPECT_FALSE(plan_compaction(input)->is_due);
  input.config.max_compaction_lag_ms = kNow.value - 2;
  EXPECT_TRUE(plan_compaction(input)->is_due);
}

TEST(CompactionPlanTest, NothingIsDirtyWhereAllWasCleaned) {
  auto input = input_of(4);
  input.checkpoint = Offset{400};
  EXPECT_FALSE(plan_compaction(input));
  EXPECT_FALSE(plan_compaction(input_of(0)));
}

TEST(CompactionPlanTest, SegmentsBecomeOneUpToEachLimit) {
  auto input = input_of(5);
  EXPECT_THAT(group_segments(input, {500}, {500}), ElementsAre(FieldsAre(0, 5)));
  EXPECT_THAT(group_segments(input, {250}, {500}), ElementsAre(FieldsAre(0, 3)));
  input.config.segment_bytes = 2999;
  EXPECT_THAT(group_segments(input, {500}, {500}),
              ElementsAre(FieldsAre(0, 2), FieldsAre(2, 2), FieldsAre(4, 1)));
  input.config.segment_bytes = 1 << 20;
  input.config.segment_index_bytes = 360;
  EXPECT_THAT(group_segments(input, {500}, {500}), ElementsAre(FieldsAre(0, 3), FieldsAre(3, 2)));
  input.config.segment_index_bytes = 1 << 20;
  input.segments[4].base_offset = {INT32_MAX};
  EXPECT_THAT(group_segments(input, {INT64_MAX}, Offset{INT32_MAX} + 1),
              ElementsAre(FieldsAre(0, 5)));
  EXPECT_THAT(group_segments(input, {INT64_MAX}, Offset{INT32_MAX} + 2),
              ElementsAre(FieldsAre(0, 4), FieldsAre(4, 1)));
}

}  // namespace
}  // namespace offsetfs::storage
