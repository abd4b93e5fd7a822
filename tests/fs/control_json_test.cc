#include "fs/control_json.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/hex.h"

namespace offsetfs::fs {
namespace {

using tests::unhex;

std::string json_of(const char* key, std::optional<std::string> value) {
  const std::string key_bytes = unhex(key);
  const std::string value_bytes = unhex(value.value_or(""));
  storage::Record record;
  record.key = key_bytes;
  if (value) record.value = value_bytes;
  return control_json(record);
}

TEST(ControlJson, TransactionMarkers) {
  EXPECT_EQ(json_of("00000001", "000000000007"),
            R"({"type":"COMMIT","version":0,"coordinator_epoch":7})");
  EXPECT_EQ(json_of("00000000", "0000ffffffff"),
            R"({"type":"ABORT","version":0,"coordinator_epoch":-1})");
}

TEST(ControlJson, TheQuorumsRecords) {
  EXPECT_EQ(json_of("00000002", "00000000000302000000030002000000030000"),
            R"({"type":"LEADER_CHANGE","version":0,"leader_id":3,"voters":[{"voter_id":3}],)"
            R"("granting_voters":[{"voter_id":3}]})");
  EXPECT_EQ(json_of("00000002",
                    "00010000000302000000030001020304050607"
                    "08090a0b0c0d0e0f"
                    "000100"),
            R"({"type":"LEADER_CHANGE","version":1,"leader_id":3,"voters":[{"voter_id":3,)"
            R"("voter_directory_id":"AAECAwQFBgcICQoLDA0ODw"}],"granting_voters":[]})");
  EXPECT_EQ(
      json_of("00000003", "00000000018bcfe5680000"),
      R"({"type":"SNAPSHOT_HEADER","version":0,"last_contained_log_timestamp":1700000000000})");
  EXPECT_EQ(json_of("00000004", "000000"), R"({"type":"SNAPSHOT_FOOTER","version":0})");
  EXPECT_EQ(json_of("00000005", "0000000100"),
            R"({"type":"KRAFT_VERSION","version":0,"kraft_version":1})");
  EXPECT_EQ(
      json_of("00000006",
              "00000200000001000102030405060708090a0b0c0d0e0f02046162630a6c6f63616c"
              "686f7374ea600000000001000000"),
      R"({"type":"KRAFT_VOTERS","version":0,"voters":[{"voter_id":1,)"
      R"("voter_directory_id":"AAECAwQFBgcICQoLDA0ODw","endpoints":[{"name":"abc",)"
      R"("host":"localhost","port":60000}],"kraft_version_feature":{"min_supported_version":0,)"
      R"("max_supported_version":1}}]})");
}

TEST(ControlJson, UnknownTypesAreNumberAndHex) {
  EXPECT_EQ(json_of("00000011", "00ff10"), R"({"type":17,"version":0,"value":"00ff10"})");
  EXPECT_EQ(json_of("0000ffff", std::nullopt), R"({"type":-1,"version":0,"value":null})");
}

TEST(ControlJson, WhatDoesNotReadAsItsTypeSaysWhyAndShowsItsBytes) {
  EXPECT_EQ(json_of("00000001", "0000"),
            R"({"error":"control record: a COMMIT value of 2 bytes that ends too early",)"
            R"("key":"00000001","value":"0000"})");
}

}  // namespace
}  // namespace offsetfs::fs
