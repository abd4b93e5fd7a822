#include "fs/base64.h"

#include <string>

#include <gtest/gtest.h>

namespace offsetfs::fs {
namespace {

std::string encoded(storage::Bytes bytes) {
  std::string text(base64_bytes(bytes.size()), '?');
  EXPECT_EQ(write_base64(bytes, text.data()), text.data() + text.size());
  return text;
}

TEST(Base64, TheVectorsOfRfc4648) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foob"), "Zm9vYg==");
  EXPECT_EQ(encoded("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
}

TEST(Base64, TheWholeAlphabet) {
  std::string bytes;
  for (int i = 0; i < 64; i += 4) {
    const int triple = i << 18 | (i + 1) << 12 | (i + 2) << 6 | (i + 3);
    bytes += static_cast<char>(triple >> 16);
    bytes += static_cast<char>(triple >> 8);
    bytes += static_cast<char>(triple);
  }
  EXPECT_EQ(encoded(bytes), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
  EXPECT_EQ(encoded("\xff\xfe\x61\xc3\xc3"), "//5hw8M=");
}

std::string decoded(storage::Bytes text) {
  std::string bytes = "before";
  EXPECT_TRUE(read_base64(text, bytes)) << text;
  return bytes.substr(6);
}

TEST(Base64, WhatWasWrittenReadsBack) {
  std::string bytes;
  for (int i = 0; i < 600; ++i) {
    EXPECT_EQ(decoded(encoded(bytes)), bytes);
    bytes += static_cast<char>(i * 37);
  }
}

TEST(Base64, WhatIsNeverWrittenIsRefusedAndLeavesNothing) {
  for (const char* text : {"Zg", "Zg=", "Zg==Zg==", "Z===", "====", "Zm9v\n", "Zm9-",
                           "Zh==", "Zm9=", "=Zm9", "Zm 9", "Zm9vYg==="}) {
    std::string bytes = "before";
    EXPECT_FALSE(read_base64(text, bytes)) << text;
    EXPECT_EQ(bytes, "before") << text;
  }
}

}  // namespace
}  // namespace offsetfs::fs
