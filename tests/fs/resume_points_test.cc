#include "fs/resume_points.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace offsetfs::fs {
namespace {

constexpr std::int64_t kStride = ResumePoints::kFirstStride;

ResumePoint at(std::int64_t output_position) {
  ResumePoint point;
  point.output_position = output_position;
  point.batch_position = output_position / 1000;
  point.ordinal = static_cast<std::int32_t>(output_position % 7);
  return point;
}

TEST(ResumePointsTest, WithoutPointsReadsBeginAtTheFront) {
  EXPECT_EQ(ResumePoints(30).find(1'000'000).output_position, 30);
}

TEST(ResumePointsTest, LastPointBeforeAMultipleOfTheStrideIsKept) {
  ResumePoints points;
  points.add(at(kStride - 900));
  points.add(at(kStride - 100));
  points.add(at(kStride - 500));
  points.add(at(kStride + 50));
  EXPECT_EQ(points.find(kStride), at(kStride - 100));
  EXPECT_EQ(points.find(kStride + 49), at(kStride - 100));
  EXPECT_EQ(points.find(kStride + 50), at(kStride + 50));
  EXPECT_EQ(points.find(10 * kStride), at(kStride + 50));
}

TEST(ResumePointsTest, EndOfAReadIsWhereTheNextBegins) {
  ResumePoints points;
  points.add(at(100));
  points.add_recent(at(5000));
  EXPECT_EQ(points.find(5000), at(5000));
  EXPECT_EQ(points.find(4999), at(100));
}

TEST(ResumePointsTest, FoundIsNeverBehindAndNeverFarWhateverWasGivenUp) {
  std::mt19937_64 random(7);
  ResumePoints points;
  std::map<std::int64_t, ResumePoint> all{{0, {}}};
  for (std::int64_t position = 0; position < 400 * kStride;
       position += static_cast<std::int64_t>(random() % 20'000)) {
    points.add(at(position));
    all[position] = at(position);
  }
  std::int64_t stride = kStride;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2000; ++i) {
      const auto wanted = static_cast<std::int64_t>(random() % (400 * kStride));
      const ResumePoint found = points.find(wanted);
      ASSERT_LE(found.output_position, wanted);
      ASSERT_GE(found.output_position, wanted - stride - 20'000);
      ASSERT_EQ(found, all[found.output_position]);
    }
    ASSERT_TRUE(points.thin());
    stride *= 2;
  }
}

TEST(ResumePointsTest, ALotOfOutputTakesNoMoreMemoryThanALittle) {
  ResumePoints points;
  for (std::int64_t i = 0; i < 200'000; ++i) points.add(at(i * kStride));
  EXPECT_LE(points.memory_bytes(), 1U << 20);
  EXPECT_GE(points.find(199'999 * kStride).output_position, 199'990 * kStride);
}

TEST(ResumePointsTest, WhatIsCutOffIsNotFoundAgain) {
  ResumePoints points;
  for (std::int64_t i = 0; i < 100; ++i) points.add(at(i * kStride));
  points.add_recent(at(90 * kStride + 5));
  points.cut(50 * kStride);
  EXPECT_EQ(points.find(99 * kStride), at(50 * kStride));
}

}  // namespace
}  // namespace offsetfs::fs
