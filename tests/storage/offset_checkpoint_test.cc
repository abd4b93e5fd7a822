#include "storage/offset_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

using testing::HasSubstr;

TEST(OffsetCheckpointTest, OneOffsetAPartition) {
  const OffsetCheckpoint expected{{{"orders", 3}, Offset{41}},
                                  {{"we.ird-name_9-7", 0}, Offset{9'000'000'000}}};
  EXPECT_EQ(
      parse_offset_checkpoint("0\n2\nwe.ird-name_9-7 0 9000000000\norders 3 41\n", "f").value(),
      expected);
  EXPECT_TRUE(parse_offset_checkpoint("", "f").value().empty());
}

TEST(OffsetCheckpointTest, TheLastOfTwoEntriesCounts) {
  EXPECT_EQ(parse_offset_checkpoint("0\n2\na 0 1\na 0 2\n", "f").value(),
            (OffsetCheckpoint{{{"a", 0}, Offset{2}}}));
}

TEST(OffsetCheckpointTest, WhatIsNoNumberIsToldWithItsLine) {
  for (const char* line : {"a x 1", "a 0 x", "a 0 1.5", "a 99999999999 0", "a 0 0x10"}) {
    const auto parsed = parse_offset_checkpoint("0\n1\n" + std::string(line) + "\n", "f");
    ASSERT_FALSE(parsed) << line;
    EXPECT_EQ(parsed.error().code, Errc::kCorrupt);
    EXPECT_THAT(parsed.error().what, HasSubstr("f:3"));
  }
}

TEST(OffsetCheckpointTest, WhatIsRenderedIsRead) {
  const OffsetCheckpoint checkpoint{{{"a", 0}, Offset{1}}, {{"b-2", 10}, Offset{0}}};
  const auto text = render_offset_checkpoint(checkpoint);
  EXPECT_EQ(text, "0\n2\na 0 1\nb-2 10 0\n");
  EXPECT_EQ(parse_offset_checkpoint(text, "f").value(), checkpoint);
}

}  // namespace
}  // namespace offsetfs::storage
