#include "storage/metadata_record.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/cluster_metadata.h"

namespace offsetfs::storage {
namespace {

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

// As Kafka's own serializer wrote them.
const auto kTopicFoo = from_hex("01020004666f6f0000000000000001000000000000000200");
const auto kRetentionOfFoo = from_hex("0104000204666f6f0d726574656e74696f6e2e6d73053130303000");
const auto kPartition = from_hex(
    "0103010000000000000000000000010000000000000002020000000102000000010101000000010000000000000000"
    "020000000000000003000000000000000400");

MetadataRecord parsed(Bytes value) {
  auto record = parse_metadata_record(value);
  EXPECT_TRUE(record.has_value()) << record.error().what;
  return record ? *record : MetadataRecord{};
}

TEST(MetadataRecordTest, ATopicRecordGivesNameAndId) {
  const auto topic = std::get<TopicRecord>(parsed(kTopicFoo));
  EXPECT_EQ(topic.name, "foo");
  EXPECT_EQ(topic.topic_id.to_string(), "AAAAAAAAAAEAAAAAAAAAAg");
}

TEST(MetadataRecordTest, AConfigRecordGivesTheSetting) {
  const auto config = std::get<ConfigRecord>(parsed(kRetentionOfFoo));
  EXPECT_EQ(config.resource_type, ConfigRecord::kTopicResource);
  EXPECT_EQ(config.resource_name, "foo");
  EXPECT_EQ(config.name, "retention.ms");
  EXPECT_EQ(config.value, "1000");
}

TEST(MetadataRecordTest, WhatIsNotUsedIsPassedOver) {
  EXPECT_EQ(std::get<UnusedRecord>(parsed(kPartition)).type, 3U);
  EXPECT_EQ(std::get<UnusedRecord>(parsed(from_hex("01020904ffff"))).type, 2U) << "a later version";
}

TEST(MetadataRecordTest, AnotherFrameVersionIsUnsupported) {
  EXPECT_EQ(parse_metadata_record(from_hex("00020004666f6f")).error().code, Errc::kUnsupported);
}

TEST(MetadataRecordTest, CutAtEveryByteItIsCorruptAndNeverAnotherRecord) {
  for (const auto* whole : {&kTopicFoo, &kRetentionOfFoo})
    for (std::size_t size = 0; size < whole->size(); ++size) {
      const auto record = parse_metadata_record(Bytes(*whole).substr(0, size));
      ASSERT_FALSE(record.has_value()) << size;
      EXPECT_EQ(record.error().code, Errc::kCorrupt);
    }
  EXPECT_FALSE(parse_metadata_record(kTopicFoo + "x").has_value());
}

TEST(MetadataRecordTest, RandomBytesNeverCrash) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 100'000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (auto& byte : bytes) byte = static_cast<char>(random());
    if (bytes.size() > 3) {
      bytes[0] = 1;
      bytes[1] = static_cast<char>(random() % 28);
      bytes[2] = 0;
    }
    (void)parse_metadata_record(bytes).has_value();
  }
}

ConfigRecord setting(std::int8_t type, std::string resource, std::string name,
                     std::optional<std::string> value) {
  return {type, std::move(resource), std::move(name), std::move(value)};
}

TEST(ClusterMetadataTest, TheLastRecordOfASettingWinsAndNullRemovesIt) {
  ClusterMetadata metadata;
  metadata.apply(setting(2, "orders", "retention.ms", "1"));
  metadata.apply(setting(2, "orders", "retention.ms", "2"));
  metadata.apply(setting(2, "orders", "segment.ms", "3"));
  metadata.apply(setting(2, "orders", "segment.ms", std::nullopt));
  EXPECT_EQ(metadata.topic_settings("orders"), (ConfigMap{{"retention.ms", "2"}}));
  EXPECT_TRUE(metadata.topic_settings("others").empty());
}

TEST(ClusterMetadataTest, BrokerSettingsAndTheClusterDefaultAreTwoThings) {
  ClusterMetadata metadata;
  metadata.apply(setting(4, "1", "log.retention.bytes", "5"));
  metadata.apply(setting(4, "", "log.retention.bytes", "6"));
  EXPECT_EQ(metadata.broker_settings(1), (ConfigMap{{"log.retention.bytes", "5"}}));
  EXPECT_EQ(metadata.cluster_default_settings(), (ConfigMap{{"log.retention.bytes", "6"}}));
  EXPECT_TRUE(metadata.broker_settings(2).empty());
}

TEST(ClusterMetadataTest, ATopicCreatedAnewHasANewIdAndNoneOfTheOldSettings) {
  const Uuid first{{1}}, second{{2}};
  ClusterMetadata metadata;
  metadata.apply(TopicRecord{"orders", first});
  metadata.apply(setting(2, "orders", "retention.ms", "1"));
  metadata.apply(RemoveTopicRecord{first});
  EXPECT_TRUE(metadata.topic_id("orders").is_zero());
  metadata.apply(TopicRecord{"orders", second});
  EXPECT_EQ(metadata.topic_id("orders"), second);
  EXPECT_TRUE(metadata.topic_settings("orders").empty());
}

TEST(ClusterMetadataTest, AMetadataTransactionAppliesAsAWholeOrNotAtAll) {
  ClusterMetadata metadata;
  metadata.apply(BeginTransactionRecord{});
  metadata.apply(setting(2, "a", "retention.ms", "1"));
  EXPECT_TRUE(metadata.topic_settings("a").empty());
  metadata.apply(AbortTransactionRecord{});
  EXPECT_TRUE(metadata.topic_settings("a").empty());
  metadata.apply(BeginTransactionRecord{});
  metadata.apply(setting(2, "b", "retention.ms", "2"));
  metadata.apply(EndTransactionRecord{});
  EXPECT_TRUE(metadata.topic_settings("a").empty());
  EXPECT_EQ(metadata.topic_settings("b").size(), 1U);
}

}  // namespace
}  // namespace offsetfs::storage
