#include "storage/meta_properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

using testing::HasSubstr;

TEST(MetaPropertiesTest, OfKraft) {
  const auto meta = parse_meta_properties(
      "#\n#Thu Nov 29 23:16:00 UTC 2029\ncluster.id=MkU3OEVBNTcwNTJENDM2Qk\n"
      "directory.id=mdyAfkgVT12jnYKLw-b_3Q\nnode.id=1\nversion=1\n",
      "f");
  ASSERT_TRUE(meta) << meta.error().what;
  EXPECT_EQ(meta->version, 1);
  EXPECT_EQ(meta->cluster_id, "MkU3OEVBNTcwNTJENDM2Qk");
  EXPECT_EQ(meta->node_id, 1);
  EXPECT_EQ(meta->directory_id->to_string(), "mdyAfkgVT12jnYKLw-b_3Q");
}

TEST(MetaPropertiesTest, OfZooKeeper) {
  const auto meta = parse_meta_properties("broker.id=7\nnode.id=9\nunknown=x\n", "f");
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->version, 0);
  EXPECT_EQ(meta->node_id, 7);
  EXPECT_EQ(meta->cluster_id, std::nullopt);
  EXPECT_EQ(meta->directory_id, std::nullopt);
}

TEST(MetaPropertiesTest, WhatIsMissingOrMalformedIsNamed) {
  struct Row {
    const char* text;
    Errc code;
    const char* what;
  };
  for (const auto& [text, code, what] :
       std::initializer_list<Row>{{"version=2", Errc::kUnsupported, "version 2"},
                                  {"version=x", Errc::kCorrupt, "version"},
                                  {"version=1\nnode.id=1", Errc::kCorrupt, "cluster.id"},
                                  {"version=1\ncluster.id=c", Errc::kCorrupt, "node.id"},
                                  {"broker.id=one", Errc::kCorrupt, "broker.id"},
                                  {"directory.id=short", Errc::kCorrupt, "directory.id"},
                                  {"a=\\u1", Errc::kCorrupt, "f:1"}}) {
    const auto meta = parse_meta_properties(text, "f");
    ASSERT_FALSE(meta) << text;
    EXPECT_EQ(meta.error().code, code) << text;
    EXPECT_THAT(meta.error().what, HasSubstr(what));
    EXPECT_THAT(meta.error().what, HasSubstr("f"));
  }
}

}  // namespace
}  // namespace offsetfs::storage
