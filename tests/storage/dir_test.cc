#include "storage/dir.h"

#include <cstring>
#include <map>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "storage/beneath.h"
#include "tests/support/refused_syscall.h"
#include "tests/support/temp_dir.h"

namespace offsetfs::storage {
namespace {

using testing::HasSubstr;

class SourceDirTest : public testing::Test {
 protected:
  std::shared_ptr<const SourceDir> open() {
    auto dir = SourceDir::open(temp_.path(), make_io_backend(IoChoice::kAuto, nullptr));
    if (!dir) throw std::runtime_error(dir.error().what);
    return *dir;
  }
  void link(const std::string& target, std::string_view at) {
    ASSERT_EQ(::symlink(target.c_str(), (temp_ / at).c_str()), 0);
  }

  tests::TempDir temp_;
};

TEST_F(SourceDirTest, ReadsSmallFilesWhole) {
  temp_.write("orders-0/partition.metadata", "version: 0");
  temp_.write("empty", "");
  EXPECT_EQ(open()->read_whole("orders-0/partition.metadata", 10).value(), "version: 0");
  EXPECT_EQ(open()->read_whole("empty", 0).value(), "");
  const auto refused = open()->read_whole("orders-0/partition.metadata", 9);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kTooLarge);
  EXPECT_THAT(refused.error().what, HasSubstr("orders-0/partition.metadata"));
}

TEST_F(SourceDirTest, ListsKindsWithoutTheDots) {
  temp_.write("a.log", "x");
  temp_.make_dir("orders-0");
  link("a.log", "link");
  ASSERT_EQ(::mkfifo((temp_ / "fifo").c_str(), 0600), 0);
  std::map<std::string, SourceDir::Kind> seen;
  ASSERT_TRUE(open()->list("", [&](const SourceDir::Entry& entry) {
    seen.emplace(entry.name, entry.kind);
    return true;
  }));
  EXPECT_EQ(seen, (std::map<std::string, SourceDir::Kind>{
                      {"a.log", SourceDir::Kind::kFile},
                      {"orders-0", SourceDir::Kind::kDirectory},
                      {"link", SourceDir::Kind::kOther},
                      {"fifo", SourceDir::Kind::kOther},
                  }));
}

TEST_F(SourceDirTest, AListingStopsWhenAskedAndCanBeTakenAgain) {
  for (int i = 0; i < 10; ++i) temp_.write("p-0/" + std::to_string(i), "");
  const auto dir = open();
  for (int round = 0; round < 2; ++round) {
    int seen = 0;
    ASSERT_TRUE(dir->list("p-0", [&](const auto&) { return ++seen < 3; }));
    EXPECT_EQ(seen, 3);
  }
  int all = 0;
  ASSERT_TRUE(dir->list("p-0", [&](const auto&) { return ++all, true; }));
  EXPECT_EQ(all, 10);
}

TEST_F(SourceDirTest, NoSymbolicLinkIsFollowedAtAnyDepth) {
  temp_.write("real/file", "secret");
  link("real/file", "link");
  link("real", "dir");
  temp_.make_dir("deep");
  link("../real/file", "deep/link");
  const auto dir = open();
  for (const char* below : {"link", "dir/file", "deep/link"}) {
    const auto file = dir->open_file(below);
    EXPECT_FALSE(file) << below;
    EXPECT_FALSE(dir->read_whole(below, 100)) << below;
  }
  EXPECT_EQ(dir->open_file("link").error().code, Errc::kInvalid);
  EXPECT_FALSE(dir->list("dir", [](const auto&) { return true; }));
  EXPECT_FALSE(dir->info("dir/file"));
  // Its own attributes may be asked.
  EXPECT_TRUE(S_ISLNK(dir->info("link").value().mode));
  EXPECT_TRUE(S_ISLNK(dir->info("deep/link").value().mode));
}

TEST_F(SourceDirTest, PathsNeverLeaveTheDirectory) {
  temp_.write("in/file", "x");
  auto in = SourceDir::open(temp_ / "in", make_io_backend(IoChoice::kAuto, nullptr)).value();
  temp_.write("outside", "x");
  for (const char* below : {"../outside", "/etc/passwd", "..", ".", "./file", "a//b", "file/"}) {
    EXPECT_FALSE(in->open_file(below)) << below;
    EXPECT_FALSE(in->info(below)) << below;
    EXPECT_FALSE(in->list(below, [](const auto&) { return true; })) << below;
  }
  EXPECT_FALSE(in->open_file(std::string("file\0x", 6)));
}

TEST_F(SourceDirTest, WhatIsNoRegularFileIsNeverOpened) {
  ASSERT_EQ(::mkfifo((temp_ / "fifo").c_str(), 0600), 0);
  temp_.make_dir("dir");
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (temp_ / "socket").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(listener);
  const auto dir = open();
  for (const char* below : {"fifo", "dir", "socket"}) {
    const auto file = dir->open_file(below);
    ASSERT_FALSE(file) << below;
    EXPECT_EQ(file.error().code, Errc::kInvalid) << below;
  }
  // A reader would have let this writer in: without one it gets ENXIO.
  EXPECT_EQ(::open((temp_ / "fifo").c_str(), O_WRONLY | O_NONBLOCK), -1);
  EXPECT_EQ(errno, ENXIO);
}

TEST_F(SourceDirTest, AbsenceIsToldFromFailure) {
  temp_.write("file", "x");
  const auto dir = open();
  EXPECT_EQ(dir->open_file("none").error().code, Errc::kNotFound);
  EXPECT_EQ(dir->info("none").error().code, Errc::kNotFound);
  EXPECT_EQ(dir->open_file("none/none").error().code, Errc::kNotFound);
  EXPECT_EQ(dir->open_file("file/none").error().code, Errc::kNotFound);
  EXPECT_EQ(SourceDir::open(temp_ / "none", nullptr).error().code, Errc::kNotFound);
  EXPECT_EQ(SourceDir::open(temp_ / "file", nullptr).error().code, Errc::kInvalid);
}

TEST_F(SourceDirTest, OutOfDescriptorsIsSaidHonestly) {
  temp_.write("file", "x");
  const auto dir = open();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto file = dir->open_file("file");
  const auto listed = dir->list("", [](const auto&) { return true; });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Errc::kIo);
  EXPECT_EQ(file.error().sys_errno, EMFILE);
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().sys_errno, EMFILE);
}

TEST_F(SourceDirTest, InfoIsWhatStatSays) {
  temp_.write("orders-0/a.log", std::string(5000, 'x'));
  struct stat st {};
  ASSERT_EQ(::stat((temp_ / "orders-0/a.log").c_str(), &st), 0);
  const auto dir = open();
  for (const auto& info :
       {dir->info("orders-0/a.log"), dir->open_file("orders-0/a.log").value()->info()}) {
    ASSERT_TRUE(info);
    EXPECT_EQ(info->size_bytes, 5000);
    EXPECT_EQ(info->ino, st.st_ino);
    EXPECT_EQ(info->dev, st.st_dev);
    EXPECT_EQ(info->mode, st.st_mode);
    EXPECT_EQ(info->mtime_ns, st.st_mtim.tv_sec * 1'000'000'000 + st.st_mtim.tv_nsec);
    EXPECT_EQ(info->allocated_bytes, st.st_blocks * 512);
  }
  EXPECT_TRUE(S_ISDIR(dir->info("").value().mode));
}

TEST_F(SourceDirTest, ReadingLeavesTheAccessTimeAlone) {
  temp_.write("file", "x");
  // An access time before the modification is what even a relatime mount moves.
  const timespec times[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 2000, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (temp_ / "file").c_str(), times, 0), 0);
  ASSERT_EQ(open()->read_whole("file", 10).value(), "x");
  struct stat st {};
  ASSERT_EQ(::stat((temp_ / "file").c_str(), &st), 0);
  EXPECT_EQ(st.st_atim.tv_sec, 1000);
}

TEST_F(SourceDirTest, TheSourceItselfMayBeALink) {
  temp_.write("real/file", "x");
  link("real", "link");
  const auto dir = SourceDir::open(temp_ / "link", make_io_backend(IoChoice::kAuto, nullptr));
  ASSERT_TRUE(dir);
  EXPECT_EQ((*dir)->path(), temp_ / "link");
  EXPECT_EQ((*dir)->real_path(), temp_ / "real");
  EXPECT_EQ((*dir)->name_of("file"), temp_ / "link/file");
  EXPECT_EQ((*dir)->read_whole("file", 10).value(), "x");
}

TEST_F(SourceDirTest, WhereOpenat2IsRefusedNothingChanges) {
  temp_.write("orders-0/a.log", "x");
  link("orders-0", "link");
  for (const int refusal : {ENOSYS, EPERM}) {
    EXPECT_TRUE(tests::holds_where_refused(SYS_openat2, refusal, [&] {
      const auto dir = open();
      EXPECT_EQ(dir->read_whole("orders-0/a.log", 10).value(), "x");
      EXPECT_EQ(dir->info("orders-0/a.log").value().size_bytes, 1);
      EXPECT_EQ(dir->open_file("link/a.log").error().sys_errno, ELOOP);
      EXPECT_EQ(dir->open_file("none/a.log").error().code, Errc::kNotFound);
      return !HasFailure();
    })) << refusal;
  }
}

// Where openat2 is refused the walk by steps must decide every case alike.
TEST_F(SourceDirTest, TheWalkByStepsAnswersAsOpenat2Does) {
  temp_.write("a/b/file", "x");
  link("b", "a/link");
  link("file", "a/b/link");
  const int root = ::open(temp_.path().c_str(), O_PATH | O_DIRECTORY);
  for (const int flags : {O_RDONLY, O_PATH, O_RDONLY | O_DIRECTORY}) {
    for (const char* below : {"a", "a/b", "a/b/file", "a/link/file", "a/link", "a/b/link",
                              "a/b/file/x", "none", "a/none/file", "a/b/none"}) {
      const int direct = open_beneath(root, below, flags);
      const int direct_errno = direct < 0 ? errno : 0;
      const int steps = open_beneath_by_steps(root, below, flags);
      const int steps_errno = steps < 0 ? errno : 0;
      EXPECT_EQ(direct < 0, steps < 0) << below << " flags " << flags;
      // A link asked for as a directory: openat2 says ELOOP, openat ENOTDIR. Both are refusals.
      if ((flags & O_DIRECTORY) == 0) {
        EXPECT_EQ(direct_errno, steps_errno) << below;
      }
      ::close(direct);
      ::close(steps);
    }
  }
  ::close(root);
}

}  // namespace
}  // namespace offsetfs::storage
