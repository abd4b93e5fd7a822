#include "fs/render_batches.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fs/batch_words.h"
#include "tests/support/golden_batches.h"

namespace offsetfs::fs {
namespace {

using nlohmann::json;

std::string batch_line(const std::string& entry, std::int64_t position = 0) {
  storage::BatchHeader header;
  std::string why;
  EXPECT_EQ(storage::parse_batch_header(entry, header, &why), storage::HeaderStatus::kOk) << why;
  std::string line;
  append_batch_line(header, {position}, storage::compute_batch_crc(header, entry), line);
  return line;
}

TEST(BatchLine, ShowsEveryFieldOfTheHeader) {
  EXPECT_EQ(batch_line(tests::golden_two_records(), 4096),
            R"({"base_offset":0,"last_offset":1,"records_count":2,"position":4096,"size":81,)"
            R"("magic":2,"leader_epoch":0,"codec":"none","attributes":0,)"
            R"("timestamp_type":"CreateTime","base_timestamp":1700000000000,)"
            R"("max_timestamp":1700000000005,"delete_horizon":null,"transactional":false,)"
            R"("control":false,"producer_id":-1,"producer_epoch":-1,"base_sequence":-1,)"
            R"("last_sequence":-1,"crc":3290371888,"crc_valid":true})"
            "\n");
}

TEST(BatchLine, AMarkerIsTransactionalAndControl) {
  const json line = json::parse(batch_line(tests::golden_commit_marker()));
  EXPECT_EQ(line["transactional"], true);
  EXPECT_EQ(line["control"], true);
  EXPECT_EQ(line["producer_id"], 1000);
  EXPECT_EQ(line["producer_epoch"], 3);
  EXPECT_EQ(line["leader_epoch"], 5);
}

TEST(BatchLine, ADeleteHorizonIsNoTimeOfARecord) {
  const json line = json::parse(batch_line(tests::golden_tombstone()));
  EXPECT_EQ(line["base_timestamp"], nullptr);
  EXPECT_EQ(line["delete_horizon"], 101000);
  EXPECT_EQ(line["max_timestamp"], 5001);
  EXPECT_EQ(line["last_offset"], 52);
  EXPECT_EQ(line["records_count"], 2);
}

TEST(BatchLine, AnEmptiedBatchKeepsItsOffsetsAndSequences) {
  const json line = json::parse(batch_line(tests::golden_empty_batch()));
  EXPECT_EQ(line["records_count"], 0);
  EXPECT_EQ(line["base_offset"], 60);
  EXPECT_EQ(line["last_offset"], 61);
  EXPECT_EQ(line["base_sequence"], 7);
  EXPECT_EQ(line["last_sequence"], 8);
}

TEST(BatchLine, WhatALegacyMessageDoesNotTellIsNull) {
  const json plain = json::parse(batch_line(tests::golden_v1_tombstone()));
  EXPECT_EQ(plain["magic"], 1);
  EXPECT_EQ(plain["base_offset"], 7);
  EXPECT_EQ(plain["records_count"], nullptr);
  EXPECT_EQ(plain["crc_valid"], true);
  const json wrapper = json::parse(batch_line(tests::golden_lz4_magic_0()));
  EXPECT_EQ(wrapper["base_offset"], nullptr);
  EXPECT_EQ(wrapper["last_offset"], 202);
  EXPECT_EQ(wrapper["timestamp_type"], "NoTimestampType");
  EXPECT_EQ(wrapper["codec"], "lz4");
}

TEST(BatchLine, AWrongCrcIsShownBesideTheRightOne) {
  std::string entry = tests::golden_two_records();
  const json good = json::parse(batch_line(entry));
  EXPECT_FALSE(good.contains("crc_computed"));
  entry.back() ^= 1;
  const json bad = json::parse(batch_line(entry));
  EXPECT_EQ(bad["crc_valid"], false);
  EXPECT_EQ(bad["crc"], good["crc"]);
  EXPECT_NE(bad["crc_computed"], good["crc"]);
}

TEST(BatchLine, AStretchWithoutABatchSaysWhy) {
  std::string line;
  append_batch_damage_line({100}, {350}, "magic 7, expected 0 to 2", line);
  EXPECT_EQ(line, R"({"position":100,"size":250,"damage":"magic 7, expected 0 to 2"})"
                  "\n");
}

TEST(BatchWords, SequencesWrapAsKafkasDo) {
  storage::BatchHeader header;
  header.base_sequence = INT32_MAX - 1;
  header.last_offset = storage::Offset{1};
  EXPECT_EQ(last_sequence(header), INT32_MAX);
  header.last_offset = storage::Offset{2};
  EXPECT_EQ(last_sequence(header), 0);
  header.last_offset = storage::Offset{4};
  EXPECT_EQ(last_sequence(header), 2);
  header.base_sequence = -1;
  EXPECT_EQ(last_sequence(header), -1);
}

TEST(BatchWords, ACodecThatNoKafkaHasIsItsNumber) {
  storage::BatchHeader header;
  header.attributes = 6;
  EXPECT_EQ(codec_word(header), "6");
  header.attributes = 4;
  EXPECT_EQ(codec_word(header), "zstd");
}

}  // namespace
}  // namespace offsetfs::fs
