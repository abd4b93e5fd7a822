#include "storage/batch_header.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/byte_reader.h"
#include "tests/support/golden_batches.h"

namespace offsetfs::storage {
namespace {

using ::testing::HasSubstr;

BatchHeader parsed(const std::string& entry) {
  BatchHeader header;
  std::string why;
  EXPECT_EQ(parse_batch_header(entry, header, &why), HeaderStatus::kOk) << why;
  return header;
}

// The golden entry with a field of it replaced.
template <class T>
std::string with(std::string entry, std::size_t position, T value) {
  store_big_endian(entry.data() + position, value);
  return entry;
}

void expect_damaged(const std::string& entry, const std::string& why_part) {
  BatchHeader header;
  std::string why;
  EXPECT_EQ(parse_batch_header(entry, header, &why), HeaderStatus::kDamaged);
  EXPECT_THAT(why, HasSubstr(why_part));
  EXPECT_EQ(parse_batch_header(entry, header, nullptr), HeaderStatus::kDamaged);
}

TEST(BatchHeaderTest, EveryFieldOfAProducersBatchIsRead) {
  const BatchHeader header = parsed(tests::golden_two_records());
  EXPECT_EQ(header.magic, 2);
  EXPECT_EQ(header.base_offset, Offset{0});
  EXPECT_EQ(header.last_offset, Offset{1});
  EXPECT_EQ(header.next_offset(), Offset{2});
  EXPECT_EQ(header.size_bytes, 81);
  EXPECT_EQ(header.leader_epoch, LeaderEpoch{0});
  EXPECT_EQ(header.crc, 0xc41f1730U);
  EXPECT_EQ(header.base_timestamp, TimestampMs{1700000000000});
  EXPECT_EQ(header.max_timestamp, TimestampMs{1700000000005});
  EXPECT_EQ(header.records_count, 2);
  EXPECT_EQ(header.codec_id(), 0);
  EXPECT_EQ(header.timestamp_type(), TimestampType::kCreateTime);
  EXPECT_FALSE(header.has_producer());
  EXPECT_FALSE(header.is_control());
  EXPECT_FALSE(header.has_delete_horizon());
}

TEST(BatchHeaderTest, ATransactionMarkerSaysWhoseItIs) {
  const BatchHeader header = parsed(tests::golden_commit_marker());
  EXPECT_TRUE(header.is_control());
  EXPECT_TRUE(header.is_transactional());
  EXPECT_EQ(header.producer_id, 1000);
  EXPECT_EQ(header.producer_epoch, 3);
  EXPECT_EQ(header.base_sequence, -1);
  EXPECT_EQ(header.leader_epoch, LeaderEpoch{5});
  EXPECT_EQ(header.size_bytes, 78);
}

TEST(BatchHeaderTest, AnEmptiedBatchKeepsItsOffsets) {
  const BatchHeader header = parsed(tests::golden_empty_batch());
  EXPECT_EQ(header.records_count, 0);
  EXPECT_EQ(header.base_offset, Offset{60});
  EXPECT_EQ(header.last_offset, Offset{61});
  EXPECT_EQ(header.size_bytes, BatchHeader::kV2HeaderBytes);
  EXPECT_EQ(header.base_timestamp, kNoTimestamp);
  EXPECT_EQ(header.max_timestamp, TimestampMs{5009});
}

TEST(BatchHeaderTest, ALegacyHeaderNamesItsLastOffset) {
  const BatchHeader v1 = parsed(tests::golden_v1_tombstone());
  EXPECT_EQ(v1.magic, 1);
  EXPECT_EQ(v1.last_offset, Offset{7});
  EXPECT_EQ(v1.max_timestamp, TimestampMs{1700000000000});
  EXPECT_EQ(v1.records_count, -1);
  EXPECT_EQ(v1.leader_epoch, kNoLeaderEpoch);

  const BatchHeader v0 = parsed(tests::golden_lz4_magic_0());
  EXPECT_EQ(v0.magic, 0);
  EXPECT_EQ(v0.last_offset, Offset{202});
  EXPECT_EQ(v0.codec_id(), 3);
  EXPECT_EQ(v0.timestamp_type(), TimestampType::kNone);
  EXPECT_EQ(v0.max_timestamp, kNoTimestamp);
}

TEST(BatchHeaderTest, NothingOfAnEarlierHeaderIsLeftBehind) {
  BatchHeader header = parsed(tests::golden_commit_marker());
  ASSERT_EQ(parse_batch_header(tests::golden_v1_tombstone(), header, nullptr), HeaderStatus::kOk);
  EXPECT_FALSE(header.has_producer());
  EXPECT_FALSE(header.is_control());
  EXPECT_EQ(header.leader_epoch, kNoLeaderEpoch);
}

TEST(BatchHeaderTest, TheStoredSumIsTheComputedOneForEveryMagic) {
  for (const std::string& entry : tests::golden_batches()) {
    const BatchHeader header = parsed(entry);
    EXPECT_EQ(compute_batch_crc(header, entry), header.crc);
    EXPECT_EQ(header.size_bytes, static_cast<std::int64_t>(entry.size()));
  }
}

TEST(BatchHeaderTest, FewerBytesThanTheHeaderAskForMore) {
  for (const std::string& entry : tests::golden_batches()) {
    const std::size_t enough = entry[16] == 2 ? 61 : entry[16] == 1 ? 26 : 18;
    for (std::size_t size = 0; size <= entry.size(); ++size) {
      BatchHeader header;
      EXPECT_EQ(parse_batch_header(Bytes(entry).substr(0, size), header, nullptr),
                size < enough ? HeaderStatus::kNeedMore : HeaderStatus::kOk)
          << size;
    }
  }
}

TEST(BatchHeaderTest, SpaceThatWasNeverWrittenIsNoDamage) {
  BatchHeader header;
  EXPECT_EQ(parse_batch_header(std::string(17, '\0'), header, nullptr), HeaderStatus::kZeros);
  EXPECT_EQ(parse_batch_header(std::string(4096, '\0'), header, nullptr), HeaderStatus::kZeros);
}

TEST(BatchHeaderTest, WhatCannotBeIsDamage) {
  const std::string v2 = tests::golden_two_records();
  const std::string v1 = tests::golden_v1_tombstone();
  expect_damaged(with<std::int32_t>(v2, 8, 13), "size 13, expected at least 14");
  expect_damaged(with<std::int32_t>(v2, 8, -1), "size -1");
  expect_damaged(with<std::int32_t>(with<std::int64_t>(v2, 0, 5), 8, 0), "size 0");
  expect_damaged(with<std::int32_t>(v2, 8, 48), "size 48, expected at least 49");
  expect_damaged(with<std::int32_t>(v1, 8, 21), "size 21, expected at least 22");
  expect_damaged(with<std::int8_t>(v2, 16, 3), "magic 3");
  expect_damaged(with<std::int8_t>(v2, 16, -1), "magic -1");
  expect_damaged(with<std::int64_t>(v2, 0, -1), "offset -1");
  expect_damaged(with<std::int64_t>(v2, 0, std::numeric_limits<std::int64_t>::max()), "offset");
  expect_damaged(with<std::int64_t>(v2, 0, std::numeric_limits<std::int64_t>::max() - 1),
                 "base offset");
  expect_damaged(with<std::int32_t>(v2, 23, -1), "last offset delta -1");
  expect_damaged(with<std::int32_t>(v2, 57, -1), "records count -1");
  expect_damaged(with<std::int32_t>(v2, 57, 3), "records count 3, expected 0 to 2");
}

TEST(BatchHeaderTest, TheLargestSizeDoesNotOverflow) {
  const std::string entry =
      with<std::int32_t>(tests::golden_two_records(), 8, std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(parsed(entry).size_bytes, (std::int64_t{1} << 31) - 1 + 12);
}

}  // namespace
}  // namespace offsetfs::storage
