#include "storage/write_dir.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/dir_lock.h"
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

// Of a log directory of another user, who may lay there what he likes.
TEST(WriteDirTest, RootGivesAwayWhatItMadeAndNothingThatItFound) {
  // Without root's power all belongs to who runs this, and nothing else changes.
  const uid_t self = ::geteuid();
  const uid_t owner = self == 0 ? 12345 : self;
  const auto owner_of = [](const std::string& path) {
    struct stat st {};
    EXPECT_EQ(::lstat(path.c_str(), &st), 0) << path;
    return st.st_uid;
  };
  const TempDir temp;
  temp.make_dir("logs");
  temp.write("secret", "roots");
  temp.write("empty", "");
  ASSERT_EQ(::chown((temp / "logs").c_str(), owner, self == 0 ? 12345 : ::getegid()), 0);
  for (const char* name : {"checkpoint.tmp", "index"})
    std::filesystem::create_hard_link(temp / "secret", temp / "logs" + "/" + name);
  for (const char* name : {".lock", "log"})
    std::filesystem::create_hard_link(temp / "empty", temp / "logs" + "/" + name);
  const auto dir = PosixWriteDir::open(temp / "logs", test_backend()).value();
  ASSERT_TRUE(dir->replace("checkpoint", "new"));
  ASSERT_TRUE(dir->open("index", WriteDir::Open::kOrCreate));
  ASSERT_TRUE(dir->open("log", WriteDir::Open::kOrCreate));
  ASSERT_TRUE(dir->open("made", WriteDir::Open::kOrCreate));
  ASSERT_TRUE(dir->open_or_make_below("orders-0"));
  ASSERT_TRUE(storage::DirLock::acquire(temp / "logs"));

  EXPECT_EQ(read_file(temp / "secret"), "roots");
  EXPECT_EQ(owner_of(temp / "secret"), self);
  EXPECT_EQ(owner_of(temp / "empty"), self);
  EXPECT_EQ(read_file(temp / "logs/checkpoint"), "new");
  for (const char* name : {"logs/checkpoint", "logs/made", "logs/orders-0"})
    EXPECT_EQ(owner_of(temp / name), owner) << name;

  std::filesystem::remove(temp / "logs/.lock");
  ASSERT_TRUE(storage::DirLock::acquire(temp / "logs"));
  EXPECT_EQ(owner_of(temp / "logs/.lock"), owner);
}

TEST(WriteDirTest, NoLinkToADirectoryIsTakenForOne) {
  const TempDir temp;
  temp.make_dir("elsewhere");
  temp.make_dir("logs");
  std::filesystem::create_directory_symlink(temp / "elsewhere", temp / "logs/orders-0");
  const auto dir = PosixWriteDir::open(temp / "logs", test_backend()).value();
  for (const auto& refused : {dir->open_below("orders-0"), dir->open_or_make_below("orders-0")}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::kInvalid) << refused.error().what;
  }
  EXPECT_EQ(dir->open_below("orders-1").error().code, Errc::kNotFound);
  const auto made = dir->open_or_make_below("orders-1");
  ASSERT_TRUE(made);
  EXPECT_EQ((*made)->name_of("f"), temp / "logs/orders-1/f");
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
