#include "fs/range_expression.h"

#include <vector>

#include <gtest/gtest.h>

namespace offsetfs::fs {
namespace {

using Base = RangeEnd::Base;
using storage::Errc;
using storage::Offset;
using storage::Result;

RangeEnd at(std::int64_t offset) { return {Base::kOffset, offset}; }
RangeEnd oldest(std::int64_t count) { return {Base::kFromFirst, count}; }
RangeEnd newest(std::int64_t count) { return {Base::kFromLast, count}; }

using Range = RangeExpression;

TEST(RangeExpression, EndsAreOffsetsOrWords) {
  EXPECT_EQ(parse_range("3..7"), (Range{at(3), at(7)}));
  EXPECT_EQ(parse_range("3..last"), (Range{at(3), newest(1)}));
  EXPECT_EQ(parse_range("first..7"), (Range{oldest(1), at(7)}));
  EXPECT_EQ(parse_range("first..last"), (Range{oldest(1), newest(1)}));
  EXPECT_EQ(parse_range("0..9223372036854775807"), (Range{at(0), at(INT64_MAX)}));
}

TEST(RangeExpression, WordsCountRecordsFromEitherEnd) {
  EXPECT_EQ(parse_range("last-5..last"), (Range{newest(5), newest(1)}));
  EXPECT_EQ(parse_range("first-3..last-2"), (Range{oldest(3), newest(2)}));
  EXPECT_EQ(parse_range("first-10"), (Range{oldest(1), oldest(10)}));
  EXPECT_EQ(parse_range("last-10"), (Range{newest(10), newest(1)}));
}

TEST(RangeExpression, OnlyOffsetsMeanTheSameAtAnyTime) {
  EXPECT_FALSE(parse_range("3..7")->is_moving());
  EXPECT_TRUE(parse_range("3..last")->is_moving());
  EXPECT_TRUE(parse_range("first..7")->is_moving());
  EXPECT_TRUE(parse_range("last-1")->is_moving());
}

TEST(RangeExpression, WhatIsNoRangeIsNothing) {
  for (const char* text : {"",
                           "3",
                           "..",
                           "3..",
                           "..7",
                           "3..07",
                           "03..7",
                           "3...7",
                           "3..7..9",
                           "-3..7",
                           "3..-7",
                           "+3..7",
                           "3..9223372036854775808",
                           "last..",
                           "Last..7",
                           "3..end",
                           "first",
                           "last",
                           "first-",
                           "last-0",
                           "last-01",
                           "last--1",
                           "last5",
                           "3 ..7",
                           "3..7 ",
                           "first-x",
                           "lastly..7",
                           "3-2"}) {
    EXPECT_EQ(parse_range(text), std::nullopt) << text;
  }
}

// A log of [10, 20): records at 11, 12, 14 and 18; 19 is a marker.
Result<std::optional<Offset>> find(const RangeEnd& end) {
  const std::vector<std::int64_t> records{11, 12, 14, 18};
  const auto steps = static_cast<std::size_t>(std::min<std::int64_t>(end.number, 4) - 1);
  const std::size_t index = end.base == Base::kFromFirst ? steps : records.size() - 1 - steps;
  return std::optional(Offset{records[index]});
}

std::optional<OffsetSpan> resolved(const char* text) {
  return resolve_range(*parse_range(text), Offset{10}, Offset{20}, find).value();
}
std::optional<OffsetSpan> span(std::int64_t base, std::int64_t next) {
  return OffsetSpan{Offset{base}, Offset{next}};
}

TEST(ResolveRange, BothEndsAreIncludedAndClippedToTheLog) {
  EXPECT_EQ(resolved("12..14"), span(12, 15));
  EXPECT_EQ(resolved("12..12"), span(12, 13));
  EXPECT_EQ(resolved("0..14"), span(10, 15));
  EXPECT_EQ(resolved("12..500"), span(12, 20));
  EXPECT_EQ(resolved("0..9223372036854775807"), span(10, 20));
  EXPECT_EQ(resolved("19..19"), span(19, 20));  // nothing but a gap: an empty file
}

TEST(ResolveRange, WordsAreVisibleRecords) {
  EXPECT_EQ(resolved("first..last"), span(11, 19));
  EXPECT_EQ(resolved("last..last"), span(18, 19));
  EXPECT_EQ(resolved("first..12"), span(11, 13));
  EXPECT_EQ(resolved("last-2"), span(14, 19));
  EXPECT_EQ(resolved("first-3"), span(11, 15));
  EXPECT_EQ(resolved("last-3..last-2"), span(12, 15));
  EXPECT_EQ(resolved("last-100"), span(11, 19));
}

TEST(ResolveRange, NothingLeftIsNothing) {
  EXPECT_EQ(resolved("14..12"), std::nullopt);
  EXPECT_EQ(resolved("last..first"), std::nullopt);
  EXPECT_EQ(resolved("0..9"), std::nullopt);
  EXPECT_EQ(resolved("20..30"), std::nullopt);
  EXPECT_EQ(resolved("19..last"), std::nullopt);
  EXPECT_EQ(resolved("9223372036854775807..9223372036854775807"), std::nullopt);
}

TEST(ResolveRange, AnEmptyLogHasNoFirstAndNoLast) {
  const auto none = [](const RangeEnd&) { return Result<std::optional<Offset>>(std::nullopt); };
  EXPECT_EQ(resolve_range(*parse_range("last-3"), Offset{5}, Offset{5}, none).value(),
            std::nullopt);
  EXPECT_EQ(resolve_range(*parse_range("0..9"), Offset{5}, Offset{5}, none).value(), std::nullopt);
}

TEST(ResolveRange, WhatKeepsAnEndFromBeingFoundIsPassedOn) {
  const auto broken = [](const RangeEnd&) -> Result<std::optional<Offset>> {
    return storage::fail(Errc::kIo, "orders-3: gone");
  };
  const auto span = resolve_range(*parse_range("0..last"), Offset{0}, Offset{9}, broken);
  ASSERT_FALSE(span);
  EXPECT_EQ(span.error().what, "orders-3: gone");
  EXPECT_TRUE(resolve_range(*parse_range("0..3"), Offset{0}, Offset{9}, broken));
}

}  // namespace
}  // namespace offsetfs::fs
