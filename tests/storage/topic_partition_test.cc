#include "storage/topic_partition.h"

#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

const std::string kId = "0123456789abcdef0123456789abcdef";

TEST(PartitionDirNames, SplitAtTheLastDash) {
  struct Row {
    std::string name;
    std::string topic;
    std::int32_t partition;
    DirState state;
  };
  for (const auto& row : std::initializer_list<Row>{
           {"orders-3", "orders", 3, DirState::kLive},
           {"a-b-3-10", "a-b-3", 10, DirState::kLive},
           {"orders--0", "orders-", 0, DirState::kLive},
           {"--0", "-", 0, DirState::kLive},
           {"v1.2_x-0", "v1.2_x", 0, DirState::kLive},
           {"orders-007", "orders", 7, DirState::kLive},
           {"orders-+7", "orders", 7, DirState::kLive},
           {"orders-2147483647", "orders", 2147483647, DirState::kLive},
           {"__cluster_metadata-0", "__cluster_metadata", 0, DirState::kLive},
           {"orders-delete-0", "orders-delete", 0, DirState::kLive},
           {"orders-3." + kId + "-delete", "orders", 3, DirState::kDelete},
           {"a.b-3." + kId + "-stray", "a.b", 3, DirState::kStray},
           {"orders-3." + kId + "-future", "orders", 3, DirState::kFuture},
           {"x-future-1." + kId + "-delete", "x-future", 1, DirState::kDelete},
           {std::string(249, 't') + "-0", std::string(249, 't'), 0, DirState::kLive},
       }) {
    const auto parsed = parse_partition_dir(row.name);
    ASSERT_TRUE(parsed) << row.name;
    EXPECT_EQ(parsed->topic_partition.topic, row.topic) << row.name;
    EXPECT_EQ(parsed->topic_partition.partition, row.partition) << row.name;
    EXPECT_EQ(parsed->state, row.state) << row.name;
  }
}

TEST(PartitionDirNames, StrangersAreNone) {
  for (const std::string& name : std::initializer_list<std::string>{
           "",
           "-",
           "orders",
           "orders-",
           "-3",
           "lost+found",
           "remote-log-index-cache",
           "orders-3x",
           "orders-0x3",
           "orders- 3",
           "orders-2147483648",
           "orders-99999999999999999999",
           "orders-++3",
           "orders-3\n",
           "or ders-3",
           "or/ders-3",
           "\xc3\xb6-3",
           ".-3",
           "..-3",
           "orders-delete",
           "orders-3-delete",
           "orders-3.-delete",
           "orders-3.abc-delete",
           "orders-3." + kId + "f-delete",
           "orders-3.g" + kId.substr(1) + "-stray",
           "orders." + kId + "-future",
           "." + kId + "-delete",
           "orders-3." + kId + "-gone",
           std::string(250, 't') + "-0",
       }) {
    EXPECT_FALSE(parse_partition_dir(name)) << name;
  }
}

}  // namespace
}  // namespace offsetfs::storage
