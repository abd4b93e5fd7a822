#include "storage/byte_reader.h"

#include <string>

#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

TEST(ByteReaderTest, ReadsBigEndian) {
  ByteReader in(Bytes("\xff\x01\x02\x00\x00\x00\x2a\xff\xff\xff\xff\xff\xff\xff\xfe", 15));
  EXPECT_EQ(in.i8(), -1);
  EXPECT_EQ(in.i16(), 0x0102);
  EXPECT_EQ(in.i32(), 42);
  EXPECT_EQ(in.i64(), -2);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0U);
}

TEST(ByteReaderTest, AReadPastTheEndFailsForGood) {
  ByteReader in(Bytes("\x00\x00\x00\x07", 4));
  EXPECT_EQ(in.i64(), 0);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.i8(), 0) << "a failed reader gives nothing more, even where bytes are left";
  EXPECT_FALSE(in.ok());
}

TEST(ByteReaderTest, NegativeAndHugeCountsAreRefused) {
  EXPECT_FALSE([] {
    ByteReader in("abc");
    in.skip(-1);
    return in.ok();
  }());
  EXPECT_FALSE([] {
    ByteReader in("abc");
    in.skip(INT64_MAX);
    return in.ok();
  }());
  ByteReader in("abc");
  EXPECT_EQ(in.bytes(3), "abc");
  EXPECT_EQ(in.bytes(0), "");
  EXPECT_TRUE(in.ok());
}

TEST(ByteReaderTest, WhatIsStoredIsLoaded) {
  std::string bytes(9, '\0');
  store_big_endian<std::int64_t>(bytes.data() + 1, 0x0102030405060708);
  EXPECT_EQ(bytes.substr(1), "\x01\x02\x03\x04\x05\x06\x07\x08");
  EXPECT_EQ(load_big_endian<std::int64_t>(bytes.data() + 1), 0x0102030405060708);
}

}  // namespace
}  // namespace offsetfs::storage
