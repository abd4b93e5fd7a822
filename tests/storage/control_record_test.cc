#include "storage/control_record.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "storage/record_batch.h"
#include "tests/support/golden_batches.h"
#include "tests/support/hex.h"

namespace offsetfs::storage {
namespace {

using tests::unhex;

// Holds the bytes for the time of the call.
Result<ControlRecord> parse(const std::string& key, const std::optional<std::string>& value) {
  Record record;
  record.key = key;
  if (value) record.value = *value;
  return parse_control_record(record);
}

ControlRecord parsed(const std::string& key_hex, const std::string& value_hex) {
  auto control = parse(unhex(key_hex), unhex(value_hex));
  EXPECT_TRUE(control) << control.error().what;
  return control.value_or(ControlRecord{});
}

const std::string kUuid = "000102030405060708090a0b0c0d0e0f";
const char* const kUuidText = "AAECAwQFBgcICQoLDA0ODw";

TEST(ControlRecord, ACommitOfABrokerIsRead) {
  const auto batch = DecodedBatch::decode(tests::golden_commit_marker());
  ASSERT_TRUE(batch);
  RecordReader records = (*batch)->records();
  Record record;
  ASSERT_EQ(records.next(record), RecordReader::Step::kRecord);
  const auto control = parse_control_record(record);
  ASSERT_TRUE(control) << control.error().what;
  EXPECT_STREQ(control_type_name(control->type), "COMMIT");
  EXPECT_EQ(control->version, 0);
  EXPECT_EQ(std::get<EndTransactionMarker>(control->body).coordinator_epoch, 7);
}

TEST(ControlRecord, AnAbortMayBeLongerThanItIsToday) {
  const auto control = parsed("00000000", "00000000000bffff");
  EXPECT_STREQ(control_type_name(control.type), "ABORT");
  EXPECT_EQ(std::get<EndTransactionMarker>(control.body).coordinator_epoch, 11);
}

TEST(ControlRecord, ALeaderChangeNamesItsVoters) {
  const auto control = parsed("00000002",
                              "0000"
                              "00000003"
                              "03"
                              "0000000100"
                              "0000000300"
                              "02"
                              "0000000300"
                              "00");
  const auto& change = std::get<LeaderChange>(control.body);
  EXPECT_EQ(change.leader_id, 3);
  ASSERT_EQ(change.voters.size(), 2U);
  EXPECT_EQ(change.voters[0].voter_id, 1);
  EXPECT_EQ(change.voters[1].voter_id, 3);
  EXPECT_FALSE(change.voters[1].voter_directory_id);
  ASSERT_EQ(change.granting_voters.size(), 1U);
  EXPECT_EQ(change.granting_voters[0].voter_id, 3);
}

TEST(ControlRecord, FromVersionOneVotersHaveADirectory) {
  const auto control = parsed("00000002",
                              "0001"
                              "00000003"
                              "02"
                              "00000001" +
                                  kUuid +
                                  "00"
                                  "01"
                                  "00");
  const auto& change = std::get<LeaderChange>(control.body);
  EXPECT_EQ(control.version, 1);
  ASSERT_EQ(change.voters.size(), 1U);
  EXPECT_EQ(change.voters[0].voter_directory_id->to_string(), kUuidText);
  EXPECT_TRUE(change.granting_voters.empty());
}

TEST(ControlRecord, SnapshotsBeginAndEndWithOne) {
  EXPECT_EQ(std::get<SnapshotHeader>(parsed("00000003",
                                            "0000"
                                            "0000018bcfe56800"
                                            "00")
                                         .body)
                .last_contained_log_timestamp,
            TimestampMs{1'700'000'000'000});
  EXPECT_TRUE(std::holds_alternative<SnapshotFooter>(parsed("00000004", "000000").body));
}

TEST(ControlRecord, TheQuorumSaysItsVersionAndVoters) {
  EXPECT_EQ(std::get<KRaftVersion>(parsed("00000005",
                                          "0000"
                                          "0001"
                                          "00")
                                       .body)
                .kraft_version,
            1);
  const auto control = parsed("00000006",
                              "0000"
                              "02"
                              "00000001" +
                                  kUuid +
                                  "02"
                                  "0b434f4e54524f4c4c4552"
                                  "0a6c6f63616c686f7374"
                                  "ea60"
                                  "00"
                                  "0000"
                                  "0001"
                                  "00"
                                  "00"
                                  "00");
  const auto& voters = std::get<KRaftVoters>(control.body).voters;
  ASSERT_EQ(voters.size(), 1U);
  EXPECT_EQ(voters[0].voter_id, 1);
  EXPECT_EQ(voters[0].voter_directory_id.to_string(), kUuidText);
  ASSERT_EQ(voters[0].endpoints.size(), 1U);
  EXPECT_EQ(voters[0].endpoints[0].name, "CONTROLLER");
  EXPECT_EQ(voters[0].endpoints[0].host, "localhost");
  EXPECT_EQ(voters[0].endpoints[0].port, 60000);
  EXPECT_EQ(voters[0].max_supported_version, 1);
}

TEST(ControlRecord, ATypeOfTheFutureIsItsNumber) {
  const auto control = parsed("00010011", "00");
  EXPECT_EQ(control.type, 17);
  EXPECT_EQ(control.version, 1);
  EXPECT_EQ(control_type_name(control.type), nullptr);
  EXPECT_EQ(control_type_name(-1), nullptr);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(control.body));
}

TEST(ControlRecord, AKeyThatIsNoneIsCorrupt) {
  for (const char* key : {"", "00", "000000", "ffff0000"}) {
    const auto control = parse(unhex(key), unhex("000000000007"));
    ASSERT_FALSE(control) << key;
    EXPECT_EQ(control.error().code, Errc::kCorrupt);
  }
  EXPECT_FALSE(parse_control_record(Record{}));
}

TEST(ControlRecord, AValueCutAnywhereIsCorrupt) {
  const std::pair<std::string, std::string> whole[] = {{"00000001", "000000000007"},
                                                       {"00000002",
                                                        "0001"
                                                        "00000003"
                                                        "02"
                                                        "00000001" +
                                                            kUuid +
                                                            "00"
                                                            "01"
                                                            "00"},
                                                       {"00000003",
                                                        "0000"
                                                        "0000018bcfe56800"
                                                        "00"},
                                                       {"00000004", "000000"},
                                                       {"00000005",
                                                        "0000"
                                                        "0001"
                                                        "00"},
                                                       {"00000006",
                                                        "0000"
                                                        "02"
                                                        "00000001" +
                                                            kUuid +
                                                            "02"
                                                            "0261"
                                                            "0262"
                                                            "ea60"
                                                            "00"
                                                            "0000"
                                                            "0001"
                                                            "00"
                                                            "00"
                                                            "00"}};
  for (const auto& [key, value] : whole) {
    ASSERT_TRUE(parse(unhex(key), unhex(value))) << key;
    for (std::size_t size = 0; size < unhex(value).size(); ++size) {
      const auto control = parse(unhex(key), unhex(value).substr(0, size));
      ASSERT_FALSE(control) << key << " cut to " << size;
      EXPECT_EQ(control.error().code, Errc::kCorrupt);
    }
    EXPECT_FALSE(parse(unhex(key), std::nullopt)) << key;
  }
}

TEST(ControlRecord, NoBytesBreakIt) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string key{0, 0, 0, static_cast<char>(random() % 8)};
    std::string value(random() % 60, '\0');
    for (char& c : value) {
      if (random() % 3 != 0) c = static_cast<char>(random());
    }
    (void)parse(key, value);
  }
  // An array that claims four thousand million voters ends where the bytes do.
  EXPECT_FALSE(parse(unhex("00000002"), unhex("000000000003ffffffff0f")));
}

}  // namespace
}  // namespace offsetfs::storage
