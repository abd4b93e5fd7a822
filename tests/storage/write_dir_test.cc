#include "storage/write_dir.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/crashing_dir.h"
#include "tests/support/log_builder.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_backend.h"

namespace offsetfs::tests {
namespace {

using storage::Errc;
using storage::PosixWriteDir;
using storage::WriteDir;

TEST(WriteDirTest, ReplacedFileHoldsTheNewContentAndLeavesNoTemporary) {
  const TempDir temp;
  temp.write("name", "old and longer");
  const auto dir = PosixWriteDir::open(temp.path(), test_backend()).value();
  ASSERT_TRUE(dir->replace("name", "new"));
  EXPECT_EQ(read_file(temp / "name"), "new");
  EXPECT_EQ(dir->list_files().value(), std::vector<std::string>{"name"});
}

TEST(WriteDirTest, FilesGrowSparselyAreCutAndReadBack) {
  const TempDir temp;
  const auto dir = PosixWriteDir::open(temp.path(), test_backend()).value();
  const auto file = dir->open("f", WriteDir::Open::kFresh).value();
  ASSERT_TRUE(file->truncate(1 << 20));
  EXPECT_EQ(dir->info("f")->allocated_bytes, 0);
  ASSERT_TRUE(file->write_at({2}, "ab"));
  ASSERT_TRUE(file->truncate(4));
  ASSERT_TRUE(file->sync());
  EXPECT_EQ(dir->read_whole("f", 100).value(), std::string("\0\0ab", 4));
  EXPECT_EQ(dir->read_whole("f", 3).error().code, Errc::kTooLarge);
}

TEST(WriteDirTest, NoLinkIsFollowedAndAbsentIsSaid) {
  const TempDir temp;
  temp.write("outside", "x");
  std::filesystem::create_symlink(temp / "outside", temp / "link");
  const auto dir = PosixWriteDir::open(temp.path(), test_backend()).value();
  EXPECT_FALSE(dir->open("link", WriteDir::Open::kFresh));
  EXPECT_EQ(read_file(temp / "outside"), "x");
  EXPECT_EQ(dir->open("none", WriteDir::Open::kExisting).error().code, Errc::kNotFound);
  EXPECT_TRUE(dir->unlink_if_there("none"));
}

TEST(CrashingDirTest, WhatWasSyncedSurvivesAndAReplacedFileIsOldOrNew) {
  int olds = 0, news = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CrashingDir dir(seed);
    ASSERT_TRUE(dir.replace("f", "old"));
    const auto temporary = dir.open("f.tmp", WriteDir::Open::kFresh).value();
    ASSERT_TRUE(temporary->write_at({0}, "new"));
    ASSERT_TRUE(temporary->sync());
    ASSERT_TRUE(dir.rename("f.tmp", "f"));
    dir.cut_power();
    const auto content = dir.read_whole("f", 10).value();
    EXPECT_TRUE(content == "old" || content == "new") << content;
    ++(content == "old" ? olds : news);
  }
  EXPECT_GT(olds, 0);
  EXPECT_GT(news, 0);
}

}  // namespace
}  // namespace offsetfs::tests
