#include "storage/key_offsets.h"

#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/hex.h"

namespace offsetfs::storage {
namespace {

std::string bytes_of(const Hash128& hash) {
  std::string bytes;
  for (const std::uint64_t word : {hash.low, hash.high})
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(word >> (8 * i));
  return bytes;
}

// The first of the reference implementation's own vectors: key 00 01 .. 0f, input 00 01 ..
TEST(SipHashTest, IsTheReferenceImplementations) {
  const HashKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  EXPECT_EQ(tests::hex(bytes_of(sip_hash_128("", key))), "a3817f04ba25a8e66df67214c7550293");
  EXPECT_EQ(tests::hex(bytes_of(sip_hash_128(std::string(1, '\0'), key))),
            "da87c1d86b99af44347659119b22fc45");
}

TEST(SipHashTest, EveryByteAndTheLengthCount) {
  const HashKey key = random_hash_key();
  const std::string text = "0123456789abcdefghijk";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const auto hash = sip_hash_128(text.substr(0, size), key);
    EXPECT_NE(hash, sip_hash_128(text.substr(0, size) + std::string(1, '\0'), key));
    for (std::size_t i = 0; i < size; ++i) {
      auto flipped = text.substr(0, size);
      flipped[i] ^= 1;
      EXPECT_NE(hash, sip_hash_128(flipped, key));
    }
  }
}

TEST(KeyOffsetsTest, RemembersTheLastOffsetOfEachKeyAsAMapDoes) {
  std::mt19937_64 random(7);
  KeyOffsets keys(1 << 20, 1000, random_hash_key());
  std::map<std::string, std::int64_t> model;
  for (std::int64_t offset = 0; offset < 20'000; ++offset) {
    const std::string key = std::to_string(random() % 900);
    ASSERT_FALSE(keys.is_full());
    keys.put(key, Offset{offset});
    model[key] = offset;
  }
  EXPECT_EQ(keys.keys(), static_cast<std::int64_t>(model.size()));
  for (const auto& [key, offset] : model) EXPECT_EQ(keys.find(key), Offset{offset});
  EXPECT_FALSE(keys.find("absent"));
  EXPECT_FALSE(keys.find(""));
}

TEST(KeyOffsetsTest, IsFullAtNineTenthsOfItsMemoryAndNeverTakesMore) {
  KeyOffsets keys(100 * 24, INT32_MAX, random_hash_key());
  std::int64_t taken = 0;
  while (!keys.is_full()) keys.put(std::to_string(taken), Offset{taken}), ++taken;
  EXPECT_EQ(taken, 90);
  EXPECT_EQ(keys.find("89"), Offset{89});
}

TEST(KeyOffsetsTest, WhatIsAskedForIsAlwaysTaken) {
  for (const std::int64_t most : {0, 1, 2, 3, 9, 10, 1000}) {
    KeyOffsets keys(1 << 20, most, random_hash_key());
    for (std::int64_t i = 0; i < most; ++i) {
      ASSERT_FALSE(keys.is_full()) << most;
      keys.put(std::to_string(i), Offset{i});
    }
  }
}

}  // namespace
}  // namespace offsetfs::storage
