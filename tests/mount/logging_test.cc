#include "mount/logging.h"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace offsetfs::mount {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(EscapeControls, ControlCharactersAreSpelledOut) {
  EXPECT_EQ(escape_controls("a\nb\tc\x1b[2Jd\x7f"), "a\\nb\\tc\\x1b[2Jd\\x7f");
  EXPECT_EQ(escape_controls(std::string_view("\0", 1)), "\\x00");
}

TEST(EscapeControls, TheTerminalsTwoByteControlsToo) {
  EXPECT_EQ(escape_controls("a\xC2\x9B"
                            "31mb"),
            "a\\x9b31mb");
}

TEST(EscapeControls, LettersOfAnyScriptStay) {
  EXPECT_EQ(escape_controls("Grüße, 日本 \xC2\xA0"), "Grüße, 日本 \xC2\xA0");
}

TEST(Logging, AFileGetsOneLineALineWhateverTheLineHolds) {
  const tests::TempDir dir;
  ASSERT_TRUE(start_logging({.foreground = true, .file = dir / "log"}));
  log_line(fs::LogLevel::kWarning, "orders-0\nforged: {} %s");
  EXPECT_THAT(content_of(dir / "log"),
              AllOf(HasSubstr("warning"), EndsWith("orders-0\\nforged: {} %s\n")));
}

TEST(Logging, WhatIsBelowTheLevelIsLeftOut) {
  const tests::TempDir dir;
  ASSERT_TRUE(
      start_logging({.foreground = true, .file = dir / "log", .level = fs::LogLevel::kWarning}));
  log_line(fs::LogLevel::kInfo, "quiet");
  log_line(fs::LogLevel::kError, "loud");
  EXPECT_THAT(content_of(dir / "log"), AllOf(HasSubstr("loud"), Not(HasSubstr("quiet"))));
}

TEST(Logging, ALogFileIsAddedTo) {
  const tests::TempDir dir;
  dir.write("log", "before\n");
  ASSERT_TRUE(start_logging({.foreground = true, .file = dir / "log"}));
  log_line(fs::LogLevel::kInfo, "after");
  EXPECT_THAT(content_of(dir / "log"), AllOf(HasSubstr("before\n"), HasSubstr("after\n")));
}

TEST(Logging, AFileThatCannotBeWrittenIsNamed) {
  const tests::TempDir dir;
  const auto started = start_logging({.foreground = true, .file = dir.path()});
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().what, AllOf(HasSubstr(dir.path()), HasSubstr("can't log there")));
}

}  // namespace
}  // namespace offsetfs::mount
