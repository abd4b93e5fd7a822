#include "fs/node_id.h"

#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "fs/names.h"

namespace offsetfs::fs {
namespace {

Node make(NodeKind kind, Form form, std::uint32_t partition, std::int64_t number) {
  Node node;
  node.kind = kind;
  node.form = form;
  node.partition = partition;
  node.number = number;
  return node;
}

constexpr std::int64_t kFirstTooLarge = std::int64_t{1} << 42;

TEST(NodeId, ARecordIsPackedUpToTheLastOffsetThatFits) {
  EXPECT_TRUE(pack_node(make(NodeKind::kRecord, Form::kRaw, 0, 0)));
  EXPECT_TRUE(pack_node(make(NodeKind::kRecord, Form::kRaw, 0, kFirstTooLarge - 1)));
  EXPECT_FALSE(pack_node(make(NodeKind::kRecord, Form::kRaw, 0, kFirstTooLarge)));
  EXPECT_FALSE(pack_node(make(NodeKind::kRecord, Form::kRaw, 0, -1)));
}

TEST(NodeId, APartitionIsPackedBelowTheMarkOfNone) {
  EXPECT_TRUE(pack_node(make(NodeKind::kPartition, Form::kRaw, 32'766, 0)));
  EXPECT_FALSE(pack_node(make(NodeKind::kPartition, Form::kRaw, 32'767, 0)));
  const auto root = pack_node(make(NodeKind::kRoot, Form::kRaw, Node::kNoPartition, 0));
  ASSERT_TRUE(root);
  EXPECT_EQ(unpack_node(*root)->partition, Node::kNoPartition);
}

TEST(NodeId, WhatHasATextOrASuffixDoesNotFit) {
  Node range = make(NodeKind::kRange, Form::kJsonl, 0, 0);
  range.text = "3..7";
  EXPECT_FALSE(pack_node(range));
  Node deleted = make(NodeKind::kSegment, Form::kRaw, 0, 1005);
  deleted.suffix = 1;
  EXPECT_FALSE(pack_node(deleted));
}

TEST(NodeId, EveryFixedNameIsPackedAndNoTwoShareANumber) {
  std::map<std::uint64_t, Node> seen;
  for (const NodeKind dir :
       {NodeKind::kRoot, NodeKind::kPartition, NodeKind::kSegment, NodeKind::kState}) {
    for (Node node : fixed_entries(dir)) {
      if (dir != NodeKind::kRoot) node.partition = 3;
      const auto id = pack_node(node);
      ASSERT_TRUE(id) << print_name(node);
      const auto [other, is_new] = seen.emplace(*id, node);
      EXPECT_TRUE(is_new || other->second == node) << print_name(node);
    }
  }
}

TEST(NodeIdProperty, APackedNumberUnpacksToTheSameNode) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  int packed = 0;
  for (int i = 0; i < 200'000; ++i) {
    const Node node =
        make(static_cast<NodeKind>(random() % 256), static_cast<Form>(random() % 8),
             random() % 4 == 0 ? Node::kNoPartition : static_cast<std::uint32_t>(random() >> 48),
             static_cast<std::int64_t>(random() >> (random() % 64)));
    const auto id = pack_node(node);
    if (!id) continue;
    ++packed;
    ASSERT_EQ(unpack_node(*id), node);
    ASSERT_EQ(*id >> 63, 0U);
    ASSERT_GT(*id >> kNodeCodeShift, 0U);
  }
  EXPECT_GT(packed, 100);
}

TEST(NodeIdProperty, AnyNumberThatUnpacksIsTheOneItPacksTo) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t id = random();
    const auto node = unpack_node(id);
    if (node) {
      ASSERT_EQ(pack_node(*node), id);
    }
  }
}

}  // namespace
}  // namespace offsetfs::fs
