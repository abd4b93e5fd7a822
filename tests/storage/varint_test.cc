#include "storage/varint.h"

#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

std::string encoded(std::int32_t value) {
  std::string out;
  append_varint(out, value);
  return out;
}

const char* decode(const std::string& bytes, std::int32_t& value) {
  return decode_varint(bytes.data(), bytes.data() + bytes.size(), value);
}

TEST(VarintTest, ZigzagKeepsSmallNumbersOfEitherSignShort) {
  EXPECT_EQ(encoded(0), std::string(1, '\0'));
  EXPECT_EQ(encoded(-1), "\x01");
  EXPECT_EQ(encoded(1), "\x02");
  EXPECT_EQ(encoded(-2), "\x03");
  EXPECT_EQ(encoded(63), "\x7e");
  EXPECT_EQ(encoded(64), "\x80\x01");
  EXPECT_EQ(encoded(std::numeric_limits<std::int32_t>::max()), "\xfe\xff\xff\xff\x0f");
  EXPECT_EQ(encoded(std::numeric_limits<std::int32_t>::min()), "\xff\xff\xff\xff\x0f");
}

TEST(VarintTest, WhatIsWrittenIsReadBackAtEveryWidth) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20000; ++round) {
    const auto wide =
        static_cast<std::int64_t>(random() >> (random() % 64)) * (random() % 2 == 0 ? 1 : -1);
    std::string out;
    append_varlong(out, wide);
    EXPECT_EQ(out.size(), varlong_bytes(wide));
    std::int64_t wide_back = 0;
    EXPECT_EQ(decode_varlong(out.data(), out.data() + out.size(), wide_back),
              out.data() + out.size());
    EXPECT_EQ(wide_back, wide);

    const auto narrow = static_cast<std::int32_t>(wide);
    const std::string narrow_bytes = encoded(narrow);
    EXPECT_EQ(narrow_bytes.size(), varint_bytes(narrow));
    std::int32_t narrow_back = 0;
    EXPECT_EQ(decode(narrow_bytes, narrow_back), narrow_bytes.data() + narrow_bytes.size());
    EXPECT_EQ(narrow_back, narrow);

    std::string unsigned_bytes;
    append_uvarint(unsigned_bytes, static_cast<std::uint32_t>(wide));
    std::uint32_t unsigned_back = 0;
    EXPECT_NE(decode_uvarint(unsigned_bytes.data(), unsigned_bytes.data() + unsigned_bytes.size(),
                             unsigned_back),
              nullptr);
    EXPECT_EQ(unsigned_back, static_cast<std::uint32_t>(wide));
  }
}

TEST(VarintTest, ExtremesSurvive) {
  for (const std::int64_t value :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    std::string out;
    append_varlong(out, value);
    EXPECT_EQ(out.size(), 10U);
    std::int64_t back = 0;
    ASSERT_NE(decode_varlong(out.data(), out.data() + out.size(), back), nullptr);
    EXPECT_EQ(back, value);
  }
}

TEST(VarintTest, NonMinimalFormsAreTaken) {
  std::int32_t value = -1;
  const std::string bytes("\x82\x80\x80\x80\x00", 5);
  EXPECT_EQ(decode(bytes, value), bytes.data() + 5);
  EXPECT_EQ(value, 1);
}

TEST(VarintTest, ANumberThatNeverEndsIsRefused) {
  std::int32_t narrow = 0;
  EXPECT_EQ(decode("\x80\x80\x80\x80\x80\x01", narrow), nullptr);
  std::int64_t wide = 0;
  const std::string ten(10, '\x80');
  EXPECT_EQ(decode_varlong(ten.data(), ten.data() + ten.size(), wide), nullptr);
}

TEST(VarintTest, BytesThatEndTooEarlyAreRefused) {
  std::int32_t value = 0;
  const std::string whole = encoded(std::numeric_limits<std::int32_t>::max());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(decode(whole.substr(0, size), value), nullptr) << size;
}

}  // namespace
}  // namespace offsetfs::storage
