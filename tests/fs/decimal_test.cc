#include "fs/decimal.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace offsetfs::fs {
namespace {

std::string written(std::int64_t value) {
  std::string text(decimal_bytes(value), '?');
  EXPECT_EQ(write_decimal(value, text.size(), text.data()), text.data() + text.size());
  return text;
}

TEST(Decimal, NumbersAreWrittenAsToStringWritesThem) {
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(written(value), std::to_string(value));
  }
  std::int64_t power = 1;
  for (int i = 0; i < 18; ++i, power *= 10) {
    for (const std::int64_t value : {power - 1, power, power + 1, -power}) {
      EXPECT_EQ(written(value), std::to_string(value));
    }
  }
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t value = std::int64_t{1} << bit;
    EXPECT_EQ(written(value), std::to_string(value));
    EXPECT_EQ(written(value - 1), std::to_string(value - 1));
  }
}

TEST(Decimal, WhatIsWrittenIsCanonicalAndReadBack) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 100'000; ++i) {
    const auto value = static_cast<std::int64_t>(random() >> 1 >> random() % 63);
    ASSERT_EQ(parse_canonical(written(value)), value);
    ASSERT_EQ(written(-value), std::to_string(-value));
  }
}

}  // namespace
}  // namespace offsetfs::fs
