#include "fs/stream_registry.h"

#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "fs/batch_table_lines.h"
#include "fs/stream_resources.h"

namespace offsetfs::fs {
namespace {

using Before = StreamRegistry::Before;

class StreamRegistryTest : public testing::Test {
 protected:
  static Node stream_of(std::int64_t base_offset, std::uint32_t generation = 0) {
    Node node;
    node.kind = NodeKind::kSegmentStream;
    node.number = base_offset;
    node.generation = generation;
    return node;
  }
  static storage::FileInfo file(ino_t ino) {
    storage::FileInfo info;
    info.dev = 1;
    info.ino = ino;
    return info;
  }

  std::shared_ptr<SegmentStream> open(const Node& node, ino_t ino) {
    auto stream = registry_.find_or_make(node, file(ino), [this] {
      return std::make_shared<SegmentStream>(std::make_shared<BatchTableLines>(), resources_);
    });
    before_ = registry_.opened(node, {.size_bytes = 100, .log_bytes = 10}, true);
    registry_.trim();
    return stream;
  }
  bool knows(const Node& node, ino_t ino) const {
    std::optional<std::int64_t> bytes;
    registry_.find(node, file(ino), bytes);
    return bytes.has_value();
  }

  storage::Problems problems_;
  StreamResources resources_{{}, 8U << 20, 2, problems_};
  StreamRegistry registry_{8U << 20};
  Before before_ = Before::kNothing;
};

TEST_F(StreamRegistryTest, OfASegmentThatIsCompactedAgainAndAgainTheLastGenerationIsRemembered) {
  for (std::uint32_t generation = 0; generation < 100; ++generation) {
    open(stream_of(7, generation), 50 + generation);
    EXPECT_EQ(before_, Before::kNothing);
    open(stream_of(7, generation), 50 + generation);
    EXPECT_EQ(before_, Before::kSame);
  }
  EXPECT_EQ(registry_.remembered(), 1U);
  EXPECT_TRUE(knows(stream_of(7, 99), 149));
  EXPECT_FALSE(knows(stream_of(7, 98), 148));
}

TEST_F(StreamRegistryTest, AnInodesNumberThatComesAgainIsAnotherGenerationsFile) {
  const auto first = open(stream_of(7, 0), 50);
  const auto second = open(stream_of(7, 1), 50);
  EXPECT_NE(first, second);
  EXPECT_EQ(before_, Before::kNothing);
}

TEST_F(StreamRegistryTest, AFileThatTookThePlaceOfAnotherUnderOneNodeIsToldEverAfter) {
  open(stream_of(7), 50);
  open(stream_of(7), 51);
  EXPECT_EQ(before_, Before::kOther);
  open(stream_of(7), 51);
  EXPECT_EQ(before_, Before::kOther);
}

TEST_F(StreamRegistryTest, SizesOfSegmentsThatNobodyAsksForAnyMoreAreForgotten) {
  constexpr auto kMany = static_cast<std::int64_t>(2 * StreamRegistry::kMostRemembered);
  open(stream_of(-1), 49);
  open(stream_of(-1), 50);  // was another: that must not be forgotten
  const auto held = open(stream_of(-2), 48);
  for (std::int64_t base = 0; base < kMany; ++base) {
    registry_.find_or_make(stream_of(base), file(100), [] { return nullptr; });
    registry_.opened(stream_of(base), {.size_bytes = 100, .log_bytes = 10}, true);
    if (base % 1024 == 0) registry_.trim();
  }
  registry_.trim();
  EXPECT_LE(registry_.remembered(), StreamRegistry::kMostRemembered);
  EXPECT_TRUE(knows(stream_of(kMany - 1), 100));
  EXPECT_FALSE(knows(stream_of(0), 100));
  EXPECT_TRUE(knows(stream_of(-2), 48));
  open(stream_of(-1), 50);
  EXPECT_EQ(before_, Before::kOther);
}

}  // namespace
}  // namespace offsetfs::fs
