#include "storage/batch_builder.h"

#include <string>

#include <gtest/gtest.h>

#include "storage/record_batch.h"
#include "tests/support/golden_batches.h"
#include "tests/support/hex.h"

namespace offsetfs::storage {
namespace {

constexpr std::nullopt_t kNull = std::nullopt;

TEST(BatchBuilderTest, WritesAProducersBatchAsKafkaDoes) {
  BatchBuilder::Options options;
  options.leader_epoch = {0};
  BatchBuilder builder(options);
  const RecordHeader header{"h", "x"};
  builder.add({1700000000000}, "k", "v", {&header, 1});
  builder.add({1700000000005}, kNull, "");
  EXPECT_EQ(tests::hex(builder.build()), tests::hex(tests::golden_two_records()));
}

TEST(BatchBuilderTest, WritesAMarkerAsKafkaDoes) {
  TransactionMarker marker;
  marker.producer_id = 1000;
  marker.producer_epoch = 3;
  marker.coordinator_epoch = 7;
  marker.timestamp = {1700000000100};
  EXPECT_EQ(tests::hex(build_marker(marker, {42}, {5})), tests::hex(tests::golden_commit_marker()));
}

TEST(BatchBuilderTest, WritesWhatCompactionLeavesAsKafkaDoes) {
  BatchBuilder::Options options;
  options.base_offset = {50};
  options.last_offset = Offset{52};
  options.leader_epoch = {7};
  options.delete_horizon = TimestampMs{101000};
  BatchBuilder builder(options);
  builder.add({5000}, "a", "x");
  builder.add_at({51}, {5001}, "b", kNull);
  EXPECT_EQ(tests::hex(builder.build()), tests::hex(tests::golden_tombstone()));

  BatchBuilder::Options emptied;
  emptied.base_offset = {60};
  emptied.last_offset = Offset{61};
  emptied.leader_epoch = {9};
  emptied.codec = Codec::kZstd;
  emptied.producer_id = 1000;
  emptied.producer_epoch = 3;
  emptied.base_sequence = 7;
  emptied.max_timestamp = TimestampMs{5009};
  builder.start(emptied);
  EXPECT_EQ(tests::hex(builder.build()), tests::hex(tests::golden_empty_batch()));
}

TEST(BatchBuilderTest, TimesAsFarApartAsCanBeComeBack) {
  BatchBuilder builder;
  builder.add(kNoTimestamp, kNull, "a");
  builder.add({INT64_MAX}, kNull, "b");
  const auto batch = DecodedBatch::decode(builder.build());
  ASSERT_TRUE(batch) << batch.error().what;
  RecordReader records = (*batch)->records();
  for (const TimestampMs expected : {kNoTimestamp, TimestampMs{INT64_MAX}}) {
    Record record;
    ASSERT_EQ(records.next(record), RecordReader::Step::kRecord);
    EXPECT_EQ(record.timestamp, expected);
  }
}

TEST(BatchBuilderTest, OffsetsAreAssignedAfterwardsOutsideTheSum) {
  BatchBuilder builder;
  builder.add({5}, kNull, "a");
  builder.add({6}, kNull, "b");
  const std::span<char> bytes = builder.finish();
  assign_offsets(bytes, {1000}, {4});
  const auto batch = DecodedBatch::decode(std::string(bytes.data(), bytes.size()));
  ASSERT_TRUE(batch) << batch.error().what;
  EXPECT_EQ((*batch)->header().leader_epoch, LeaderEpoch{4});
  EXPECT_EQ((*batch)->header().last_offset, Offset{1001});
  RecordReader records = (*batch)->records();
  Record record;
  ASSERT_EQ(records.next(record), RecordReader::Step::kRecord);
  EXPECT_EQ(record.offset, Offset{1000});
}

TEST(BatchBuilderTest, AppendTimeReplacesTheProducersTimes) {
  BatchBuilder::Options options;
  options.codec = Codec::kLz4;
  BatchBuilder builder(options);
  builder.add({5}, kNull, "a");
  builder.add({6}, kNull, "b");
  const std::span<char> bytes = builder.finish();
  assign_append_time(bytes, {99});
  const auto batch = DecodedBatch::decode(std::string(bytes.data(), bytes.size()));
  ASSERT_TRUE(batch) << batch.error().what;
  EXPECT_EQ((*batch)->header().max_timestamp, TimestampMs{99});
  EXPECT_EQ((*batch)->header().base_timestamp, TimestampMs{5});
  RecordReader records = (*batch)->records();
  Record record;
  while (records.next(record) == RecordReader::Step::kRecord) {
    EXPECT_EQ(record.timestamp, TimestampMs{99});
    EXPECT_EQ(record.timestamp_type, TimestampType::kLogAppendTime);
  }
}

TEST(BatchBuilderTest, ABuilderStartsAnewAfterEachBatch) {
  BatchBuilder builder;
  builder.add({1}, "first", "x");
  const std::string first = builder.build();
  builder.start({});
  EXPECT_EQ(builder.records_count(), 0);
  builder.add({1}, "first", "x");
  EXPECT_EQ(builder.size_bytes(), first.size());
  EXPECT_EQ(builder.build(), first);
}

}  // namespace
}  // namespace offsetfs::storage
