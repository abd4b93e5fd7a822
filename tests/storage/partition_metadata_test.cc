#include "storage/partition_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

using testing::HasSubstr;

const std::string kId = "mdyAfkgVT12jnYKLw-b_3Q";

TEST(PartitionMetadataTest, IsTwoLinesWithoutAFinalNewline) {
  const auto text = "version: 0\ntopic_id: " + kId;
  const auto parsed = parse_partition_metadata(text, "f");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->version, 0);
  EXPECT_EQ(parsed->topic_id.to_string(), kId);
  EXPECT_EQ(render_partition_metadata(*parsed), text);
}

TEST(PartitionMetadataTest, ALaterVersionMayHaveMoreLines) {
  const auto parsed =
      parse_partition_metadata("version:  1\r\ntopic_id:\t" + kId + "\r\nmore: 1\r\n", "f");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->version, 1);
  EXPECT_EQ(parsed->topic_id.to_string(), kId);
}

TEST(PartitionMetadataTest, WhatABrokerRefusesIsToldWithItsLine) {
  struct Row {
    std::string text;
    std::string where;
  };
  for (const auto& [text, where] :
       std::initializer_list<Row>{{"", "f:1"},
                                  {"version: x\ntopic_id: " + kId, "f:1"},
                                  {"version: -1\ntopic_id: " + kId, "f:1"},
                                  {"version:0\ntopic_id: " + kId, "f:1"},
                                  {"topic_id: " + kId, "f:1"},
                                  {"version: 0", "f:2"},
                                  {"version: 0\ntopic_id: ", "f:2"},
                                  {"version: 0\ntopic_id: short", "f:2"},
                                  {"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", "f:2"},
                                  {"version: 0\n\ntopic_id: " + kId, "f:2"}}) {
    const auto parsed = parse_partition_metadata(text, "f");
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Errc::kCorrupt);
    EXPECT_THAT(parsed.error().what, HasSubstr(where));
  }
}

}  // namespace
}  // namespace offsetfs::storage
