#include "storage/broker_dir.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/bootstrap_checkpoint.h"
#include "storage/control_record.h"
#include "storage/log_creation.h"
#include "storage/meta_properties.h"
#include "storage/metadata_record.h"
#include "storage/partition_metadata.h"
#include "storage/record_batch.h"
#include "tests/support/hex.h"
#include "tests/support/temp_dir.h"

namespace offsetfs::storage {
namespace {

namespace stdfs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string content_of(const stdfs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The values of the records, the control batches' as their type's name.
std::vector<std::string> values_in(const std::string& checkpoint) {
  std::vector<std::string> values;
  Offset next{0};
  for (std::size_t at = 0; at < checkpoint.size();) {
    BatchHeader header;
    const Bytes rest = Bytes(checkpoint).substr(at);
    EXPECT_EQ(parse_batch_header(rest, header, nullptr), HeaderStatus::kOk);
    const Bytes entry = rest.substr(0, static_cast<std::size_t>(header.size_bytes));
    EXPECT_EQ(compute_batch_crc(header, entry), header.crc);
    EXPECT_EQ(header.base_offset, next);
    EXPECT_EQ(header.leader_epoch, LeaderEpoch{0});
    const auto batch = DecodedBatch::decode(entry);
    if (!batch) {
      ADD_FAILURE() << batch.error().what;
      break;
    }
    auto records = (*batch)->records();
    for (Record record; records.next(record) == RecordReader::Step::kRecord;) {
      if (header.is_control())
        values.push_back(control_type_name(parse_control_record(record)->type));
      else
        values.emplace_back(*record.value);
    }
    next = header.next_offset();
    at += entry.size();
  }
  return values;
}

TEST(BootstrapCheckpoint, IsWhatTheFormatToolOfABrokerWrote) {
  const auto theirs =
      content_of(stdfs::path(OFFSETFS_FIXTURES) / "logs/clean/bootstrap.checkpoint");
  ASSERT_FALSE(theirs.empty());
  const auto ours = render_bootstrap_checkpoint({}, 1, random_uuid(), TimestampMs{1700000000000});
  EXPECT_EQ(values_in(ours), values_in(theirs));
  EXPECT_EQ(ours.size(), theirs.size());
}

// As Kafka's own serializer wrote them.
TEST(BootstrapCheckpoint, ATopicsRecordsAreKafkasToTheByte) {
  Uuid topic_id, directory_id;
  topic_id.bytes = {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2};
  directory_id.bytes = {0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4};
  const BootstrapTopic foo{"foo", topic_id, {{"retention.ms", "1000"}}, {{0, LeaderEpoch{0}}}};
  auto values = values_in(render_bootstrap_checkpoint({&foo, 1}, 1, directory_id, TimestampMs{5}));
  ASSERT_EQ(values.size(), 11U);
  EXPECT_EQ(values.front(), "SNAPSHOT_HEADER");
  EXPECT_EQ(values.back(), "SNAPSHOT_FOOTER");
  EXPECT_EQ(values[7], tests::unhex("01020004666f6f0000000000000001000000000000000200"));
  EXPECT_EQ(values[8], tests::unhex("0104000204666f6f0d726574656e74696f6e2e6d73053130303000"));
  EXPECT_EQ(values[9], tests::unhex("0103010000000000000000000000010000000000000002020000000102"
                                    "00000001010100000001000000000000000002000000000000000300"
                                    "0000000000000400"));
}

TEST(BootstrapCheckpoint, ManyPartitionsAreManyBatches) {
  BootstrapTopic topic{"wide", random_uuid(), {}, {}};
  for (std::int32_t p = 0; p < 30'000; ++p) topic.partitions.push_back({p, LeaderEpoch{0}});
  const auto values = values_in(render_bootstrap_checkpoint({&topic, 1}, 1, {}, TimestampMs{5}));
  EXPECT_EQ(values.size(), 1U + 6U + 1U + 30'000U + 1U);
}

class BrokerDir : public testing::Test {
 protected:
  NewLog log(const std::string& topic, std::int32_t partition) const {
    NewLog made;
    made.log_dir = log_dir_;
    made.topic_partition = {topic, partition};
    return made;
  }
  void make(const NewLog& log) const {
    const auto made = create_log(log);
    ASSERT_TRUE(made) << made.error().what;
  }
  MetaProperties meta() const {
    const auto parsed = parse_meta_properties(content_of(log_dir_ + "/meta.properties"), "meta");
    EXPECT_TRUE(parsed) << parsed.error().what;
    return parsed.value_or(MetaProperties{});
  }
  std::string complaint() const {
    const auto made = make_broker_dir(log_dir_);
    EXPECT_FALSE(made);
    return made ? "" : made.error().what;
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(log_dir_ + "/" + name, std::ios::binary) << text;
  }

  const tests::TempDir temp_;
  const std::string log_dir_ = temp_ / "logs";
};

TEST_F(BrokerDir, NamesEveryPartitionThatIsThereWithItsIdSettingsAndEpoch) {
  auto first = log("orders", 0);
  first.settings = {{"segment.bytes", "2097152"}, {"log.cleaner.backoff.ms", "1"}};
  make(first);
  auto second = log("orders", 1);
  second.settings = first.settings;
  second.broker = true;
  make(second);
  write("orders-1/leader-epoch-checkpoint", "0\n1\n7 0\n");
  ASSERT_TRUE(make_broker_of(log_dir_));

  const auto id =
      parse_partition_metadata(content_of(log_dir_ + "/orders-0/partition.metadata"), "")->topic_id;
  const BootstrapTopic expected{
      "orders", id, {{"segment.bytes", "2097152"}}, {{0, LeaderEpoch{0}}, {1, LeaderEpoch{7}}}};
  EXPECT_EQ(values_in(content_of(log_dir_ + "/bootstrap.checkpoint")),
            values_in(render_bootstrap_checkpoint({&expected, 1}, 1, *meta().directory_id,
                                                  TimestampMs{5})));
  EXPECT_EQ(meta().version, 1);
  EXPECT_EQ(meta().node_id, 1);
  EXPECT_THAT(content_of(log_dir_ + "/server.properties"),
              HasSubstr("\nlog.dirs=" + stdfs::canonical(log_dir_).string() + "\n"));
}

TEST_F(BrokerDir, ALogThatIsMadeInItLaterIsTheNodesToo) {
  auto first = log("orders", 0);
  first.broker = true;
  make(first);
  make(log("audit", 0));
  const auto of_both = values_in(content_of(log_dir_ + "/bootstrap.checkpoint"));
  ASSERT_TRUE(make_broker_of(log_dir_));
  EXPECT_EQ(values_in(content_of(log_dir_ + "/bootstrap.checkpoint")), of_both);
  EXPECT_THAT(of_both, testing::Contains(HasSubstr("audit")));

  // Who can't be one of them is told, and not made for a broker to throw away.
  auto other = log("orders", 1);
  other.settings = {{"retention.ms", "5"}};
  const auto refused = create_log(other);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("make them the same"));
  other.settings = {};
  make(other);
}

TEST_F(BrokerDir, JunkIsToldByTheNameOfItsFile) {
  auto made = log("orders", 0);
  make(made);
  write("orders-0/leader-epoch-checkpoint", "junk\n");
  const auto refused = make_broker_of(log_dir_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("orders-0/leader-epoch-checkpoint:1"));
}

TEST_F(BrokerDir, MadeAgainItKeepsItsIdsAndTheEditedProperties) {
  auto made = log("orders", 0);
  made.broker = true;
  make(made);
  const auto before = content_of(log_dir_ + "/meta.properties");
  write("server.properties", "edited\n");
  made.topic_partition.partition = 1;
  make(made);
  EXPECT_EQ(content_of(log_dir_ + "/meta.properties"), before);
  EXPECT_EQ(content_of(log_dir_ + "/server.properties"), "edited\n");
}

TEST_F(BrokerDir, IsOursUntilABrokerWasStarted) {
  auto made = log("orders", 0);
  made.broker = true;
  make(made);
  make(log("plain", 0));  // no --force needed
  stdfs::create_directory(log_dir_ + "/__cluster_metadata-0");
  EXPECT_EQ(create_log(log("late", 0)).error().code, Errc::kReadOnly);
  made.topic_partition.partition = 1;
  made.force = true;
  const auto refused = create_log(made);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("kafka-topics --create"));
  EXPECT_FALSE(stdfs::exists(log_dir_ + "/orders-1"));
}

TEST_F(BrokerDir, WhatABrokerWouldNotTakeIsSaidBefore) {
  make(log("orders", 0));
  make(log("orders", 1));
  write("orders-1/offsetfs.properties", "retention.ms=5\n");
  EXPECT_THAT(complaint(), HasSubstr("make them the same"));
  write("orders-1/offsetfs.properties", "");
  write("orders-1/partition.metadata", "version: 0\ntopic_id: " + random_uuid().to_string());
  EXPECT_THAT(complaint(), HasSubstr("a topic has one"));
  stdfs::remove(log_dir_ + "/orders-1/partition.metadata");
  EXPECT_THAT(complaint(), HasSubstr("partition.metadata: is not there"));
  stdfs::remove_all(log_dir_ + "/orders-1");
  stdfs::create_directory(log_dir_ + "/lost+found");
  EXPECT_THAT(complaint(), HasSubstr("lost+found: no partition's name"));
  EXPECT_FALSE(stdfs::exists(log_dir_ + "/meta.properties"));
}

}  // namespace
}  // namespace offsetfs::storage
