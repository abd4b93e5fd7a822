#include "storage/checkpoint_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

using testing::HasSubstr;

using Fields = std::vector<std::vector<std::string>>;

Result<Fields> parse(std::string_view text) {
  Fields all;
  const auto parsed = parse_checkpoint(
      text, "checkpoint", 2,
      [&](std::span<const std::string_view> fields, const std::string&) -> Result<void> {
        all.emplace_back(fields.begin(), fields.end());
        return {};
      });
  if (!parsed) return fail(parsed.error());
  return all;
}

TEST(CheckpointFile, EveryFormABrokerTakes) {
  struct Row {
    std::string text;
    Fields expected;
  };
  for (const auto& [text, expected] : std::initializer_list<Row>{
           {"", {}},
           {"0\n", {}},
           {"0", {}},
           {"0\n0\n", {}},
           {"0\n0", {}},
           {"0\n2\n0 0\n2 40\n", {{"0", "0"}, {"2", "40"}}},
           {"0\n1\n2 40", {{"2", "40"}}},
           {"0\r\n1\r\n2 40\r\n", {{"2", "40"}}},
           {"0\r1\r2 40\r", {{"2", "40"}}},
           {"0\n1\n2  \t40  \n", {{"2", "40"}}},
           {"+0\n01\n2 40\n", {{"2", "40"}}},
       }) {
    const auto parsed = parse(text);
    ASSERT_TRUE(parsed) << text << parsed.error().what;
    EXPECT_EQ(*parsed, expected) << text;
  }
}

TEST(CheckpointFile, WhatABrokerRefusesIsToldWithItsLine) {
  struct Row {
    std::string text;
    Errc code;
    std::string what;
  };
  for (const auto& [text, code, what] : std::initializer_list<Row>{
           {"x\n", Errc::kCorrupt, "checkpoint:1: expected a version, found \"x\""},
           {" 0\n", Errc::kCorrupt, "checkpoint:1:"},
           {"\n0\n", Errc::kCorrupt, "checkpoint:1:"},
           {"1\n0\n", Errc::kUnsupported, "checkpoint:1: version 1, expected 0"},
           {"0\nmany\n", Errc::kCorrupt, "checkpoint:2: expected a number of entries"},
           {"0\n99999999999\n", Errc::kCorrupt, "checkpoint:2:"},
           {"0\n1\n", Errc::kCorrupt, "expected 1 entries, found 0"},
           {"0\n1\n1 1\n2 2\n", Errc::kCorrupt, "expected 1 entries, found 2"},
           {"0\n-1\n", Errc::kCorrupt, "expected -1 entries, found 0"},
           {"0\n1\n1\n", Errc::kCorrupt, "checkpoint:3: expected 2 fields, found \"1\""},
           {"0\n1\n1 2 3\n", Errc::kCorrupt, "checkpoint:3: expected 2 fields"},
           {"0\n1\n 1 2\n", Errc::kCorrupt, "checkpoint:3: expected 2 fields"},
           {"0\n1\n1 2\n\n", Errc::kCorrupt, "checkpoint:4: expected 2 fields, found \"\""},
           {std::string("0\n1\n1\x01\xff") + std::string(99, 'y'), Errc::kCorrupt, "\"1??yyy"},
       }) {
    const auto parsed = parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, code) << text;
    EXPECT_THAT(parsed.error().what, HasSubstr(what));
    EXPECT_LT(parsed.error().what.size(), 150);
  }
}

TEST(CheckpointFile, WhatIsRenderedIsRead) {
  const std::vector<std::string> entries{"0 0", "2 40"};
  EXPECT_EQ(render_checkpoint(entries), "0\n2\n0 0\n2 40\n");
  EXPECT_EQ(parse(render_checkpoint(entries)).value(), (Fields{{"0", "0"}, {"2", "40"}}));
  EXPECT_EQ(render_checkpoint({}), "0\n0\n");
}

}  // namespace
}  // namespace offsetfs::storage
