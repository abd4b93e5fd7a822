#include "storage/producer_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/byte_reader.h"
#include "storage/crc32c.h"
#include "tests/support/hex.h"

namespace offsetfs::storage {
namespace {

using testing::HasSubstr;
using tests::hex;
using tests::unhex;

// Written by Kafka: producers 2000 and 1000, each after its transaction's marker.
const std::string kTwo =
    "0001b93e84520000000200000000000007d0000000000000000000000000000200000000000000000000000e000000"
    "09"
    "ffffffffffffffff00000000000003e8000000000001000000000000000100000001000000000000000d00000009"
    "ffffffffffffffff";

// With a CRC that fits.
std::string sealed(std::string bytes) {
  store_big_endian(bytes.data() + 2, crc32c(Bytes(bytes).substr(6)));
  return bytes;
}

TEST(ProducerSnapshotTest, TheSampleIsDecodedAndRenderedAlike) {
  const auto bytes = unhex(kTwo);
  const auto entries = parse_producer_snapshot(bytes, "f");
  ASSERT_TRUE(entries) << entries.error().what;
  EXPECT_EQ(*entries, (std::vector<ProducerSnapshotEntry>{
                          {2000, 0, 0, Offset{2}, 0, TimestampMs{14}, 9, Offset{-1}},
                          {1000, 0, 1, Offset{1}, 1, TimestampMs{13}, 9, Offset{-1}}}));
  EXPECT_EQ(hex(render_producer_snapshot(*entries)), kTwo);
}

TEST(ProducerSnapshotTest, ALogWithoutProducersHasTenBytes) {
  const auto bytes = render_producer_snapshot({});
  EXPECT_EQ(bytes.size(), 10);
  EXPECT_TRUE(parse_producer_snapshot(bytes, "f").value().empty());
}

TEST(ProducerSnapshotTest, EveryCutAndEveryFlippedBitIsRefused) {
  const auto bytes = unhex(kTwo);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(parse_producer_snapshot(Bytes(bytes).substr(0, size), "f")) << size;
  }
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(parse_producer_snapshot(flipped, "f")) << bit;
  }
}

TEST(ProducerSnapshotTest, WhatIsWrongIsSaid) {
  auto version = unhex(kTwo);
  version[1] = 2;
  EXPECT_EQ(parse_producer_snapshot(version, "f").error().code, Errc::kUnsupported);
  auto crc = unhex(kTwo);
  crc[20] ^= 1;
  EXPECT_THAT(parse_producer_snapshot(crc, "f").error().what,
              HasSubstr("f: CRC: expected b93e8452, found "));
  for (const std::int32_t count : {-1, 0, 1, 3, 0x7fffffff}) {
    auto lying = unhex(kTwo);
    store_big_endian(lying.data() + 6, count);
    const auto parsed = parse_producer_snapshot(sealed(lying), "f");
    ASSERT_FALSE(parsed) << count;
    EXPECT_EQ(parsed.error().code, Errc::kCorrupt);
  }
}

}  // namespace
}  // namespace offsetfs::storage
