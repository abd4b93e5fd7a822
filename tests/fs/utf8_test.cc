#include "fs/utf8.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace offsetfs::fs {
namespace {

std::string encode(std::uint32_t code, int bytes) {
  std::string text;
  for (int i = bytes - 1; i > 0; --i) {
    text.insert(text.begin(), static_cast<char>(0x80 | (code & 0x3f)));
    code >>= 6;
  }
  const std::uint32_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
  text.insert(text.begin(), static_cast<char>(marks[bytes] | code));
  return text;
}

TEST(Utf8, EveryCodePointInItsShortestFormAndNoOther) {
  for (std::uint32_t code = 0; code < 0x110000; ++code) {
    const std::size_t shortest = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    const std::string text = encode(code, static_cast<int>(shortest));
    ASSERT_EQ(utf8_sequence_bytes(text), surrogate ? 0 : shortest) << code;
    ASSERT_EQ(is_utf8(text), !surrogate) << code;
    for (int longer = static_cast<int>(shortest) + 1; longer <= 4; ++longer) {
      ASSERT_EQ(utf8_sequence_bytes(encode(code, longer)), 0U) << code << " in " << longer;
    }
  }
  EXPECT_EQ(utf8_sequence_bytes(encode(0x110000, 4)), 0U);
}

TEST(Utf8, ASequenceCutShortIsNone) {
  for (const std::string& text : {encode(0xe9, 2), encode(0x20ac, 3), encode(0x1f642, 4)}) {
    for (std::size_t size = 1; size < text.size(); ++size) {
      EXPECT_EQ(utf8_sequence_bytes(text.substr(0, size)), 0U);
      EXPECT_FALSE(is_utf8(text.substr(0, size)));
      EXPECT_EQ(utf8_sequence_bytes(text.substr(0, size) + "a"), 0U);
    }
    EXPECT_EQ(utf8_sequence_bytes(text.substr(1)), 0U);
    EXPECT_EQ(utf8_sequence_bytes(text + "\xff"), text.size());
  }
  EXPECT_EQ(utf8_sequence_bytes(""), 0U);
  EXPECT_TRUE(is_utf8(""));
}

TEST(Utf8, WhatIsNoUtf8IsReplacedByteForByte) {
  EXPECT_EQ(to_utf8("plain"), "plain");
  EXPECT_EQ(to_utf8("a\xff\xc3\xa9\xc3"), "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd");
}

}  // namespace
}  // namespace offsetfs::fs
