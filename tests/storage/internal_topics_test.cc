#include "storage/internal_topics.h"

#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

TEST(InternalTopics, AreKafkasOwnAlone) {
  for (const auto* topic : {"__cluster_metadata", "__consumer_offsets", "__transaction_state",
                            "__share_group_state", "__remote_log_metadata"})
    EXPECT_TRUE(is_internal_topic(topic)) << topic;
  for (const auto* topic : {"orders", "__orders", "consumer_offsets", "__consumer_offsets2", ""})
    EXPECT_FALSE(is_internal_topic(topic)) << topic;
}

}  // namespace
}  // namespace offsetfs::storage
