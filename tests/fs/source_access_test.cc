#include "fs/source_access.h"

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "storage/dir.h"
#include "tests/fs/one_partition.h"
#include "tests/support/log_builder.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_backend.h"

namespace offsetfs::fs {
namespace {

using storage::Offset;
using tests::LogBuilder;
using tests::OnePartition;
using tests::TempDir;

class SourceAccessTest : public testing::Test {
 protected:
  SourceAccessTest() {
    temp_.make_dir("above/data");
    set_mode(temp_.path(), 0755);
    set_mode(temp_ / "above", 0755);
    set_mode(temp_ / "above/data", 0755);
  }

  static void set_mode(const std::string& path, mode_t mode) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0) << path;
  }

  mode_t root_mode() const {
    const auto dir = storage::SourceDir::open(temp_ / "above/data", tests::test_backend()).value();
    return RootAccess({dir}).now().mode;
  }

  TempDir temp_;
};

TEST_F(SourceAccessTest, TheRootIsAsOpenAsItsSource) {
  EXPECT_EQ(root_mode(), 0555U);
  set_mode(temp_ / "above/data", 0750);
  EXPECT_EQ(root_mode(), 0550U);
}

TEST_F(SourceAccessTest, ADirectoryAboveThatKeepsOthersOutKeepsThemOutOfTheMount) {
  set_mode(temp_ / "above", 0700);
  EXPECT_EQ(root_mode(), 0500U);
  set_mode(temp_ / "above", 0710);
  EXPECT_EQ(root_mode(), 0550U);
  set_mode(temp_ / "above", 0744);  // it may be listed, but nothing below it is reached
  EXPECT_EQ(root_mode(), 0500U);
}

TEST_F(SourceAccessTest, TwoSourcesAreAsOpenAsTheNarrowerOne) {
  temp_.make_dir("other");
  set_mode(temp_ / "other", 0700);
  const auto one = storage::SourceDir::open(temp_ / "above/data", tests::test_backend()).value();
  const auto other = storage::SourceDir::open(temp_ / "other", tests::test_backend()).value();
  EXPECT_EQ(RootAccess({one, other}).now().mode, 0500U);
}

TEST_F(SourceAccessTest, WhatIsForbiddenLaterIsForbiddenToo) {
  const auto dir = storage::SourceDir::open(temp_ / "above/data", tests::test_backend()).value();
  const RootAccess root({dir});
  EXPECT_EQ(root.now().mode, 0555U);
  set_mode(temp_ / "above", 0700);
  EXPECT_EQ(root.now().mode, 0500U);
  set_mode(temp_ / "above", 0755);
  EXPECT_EQ(root.now().mode, 0555U);
  // Another directory in its place says nothing of this one.
  std::filesystem::rename(temp_ / "above", temp_ / "elsewhere");
  temp_.make_dir("above/data");
  set_mode(temp_ / "elsewhere", 0700);
  EXPECT_EQ(root.now().mode, 0500U);
}

TEST_F(SourceAccessTest, NamesOfRecordsAreForWhoeverMayReadThemAll) {
  const std::string dir = temp_ / "above/data/orders-0";
  LogBuilder log(dir);
  log.batch({"a"}).roll().batch({"b"}).build();
  set_mode(dir + "/00000000000000000000.log", 0644);
  set_mode(dir + "/00000000000000000001.log", 0640);
  const OnePartition one(dir);
  EXPECT_EQ(one.view->access.of_names().mode, 0550U);
}

TEST_F(SourceAccessTest, WhatIsMadeOfSeveralSegmentsIsAsNarrowAsTheNarrowest) {
  const std::string dir = temp_ / "above/data/orders-0";
  LogBuilder log(dir);
  log.batch({"a"}).roll().batch({"b"}).build();
  set_mode(dir + "/00000000000000000000.log", 0644);
  set_mode(dir + "/00000000000000000001.log", 0640);
  const OnePartition one(dir);
  EXPECT_EQ(one.view->access.of_segment(Offset{0}).mode, 0444U);
  EXPECT_EQ(one.view->access.of_segment(Offset{1}).mode, 0440U);
  EXPECT_EQ(one.view->access.of_range(Offset{0}, Offset{2}).mode, 0440U);
  EXPECT_EQ(one.view->access.of_range(Offset{0}, Offset{1}).mode, 0444U);
  EXPECT_EQ(one.view->access.of_range(Offset{1}, Offset{2}).mode, 0440U);
}

TEST_F(SourceAccessTest, ANarrowSegmentInTheMiddleOfManyIsMetWhenItsTurnComes) {
  const std::string dir = temp_ / "above/data/orders-0";
  LogBuilder log(dir);
  for (int i = 0; i < 200; ++i) log.batch({"a"}).roll();
  log.build();
  for (const auto& file : std::filesystem::directory_iterator(dir)) set_mode(file.path(), 0644);
  set_mode(dir + "/00000000000000000101.log", 0600);
  const OnePartition one(dir);
  const SourceAccess& access = one.view->access;
  const Access granted = access.of_range(Offset{0}, Offset{200});
  EXPECT_EQ(granted.mode, 0444U);
  EXPECT_TRUE(access.admits(granted, Offset{100}));
  const auto refused = access.admits(granted, Offset{101});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sys_errno, EACCES);
  // Whoever comes next is told before.
  const Access narrower = access.of_range(Offset{0}, Offset{200});
  EXPECT_EQ(narrower.mode, 0400U);
  EXPECT_TRUE(access.admits(narrower, Offset{101}));
}

// With an ACL the group bits are its mask: what the named user may, not what the group may.
TEST_F(SourceAccessTest, AnAclsMaskIsNotTakenForTheGroupsRights) {
  const std::string dir = temp_ / "above/data/orders-0";
  LogBuilder(dir).batch({"a"}).build();
  const std::string file = dir + "/00000000000000000000.log";
  set_mode(file, 0640);
  struct Entry {
    std::uint16_t tag;
    std::uint16_t permissions;
    std::uint32_t id;
  };
  constexpr std::uint32_t kNobody = UINT32_MAX;
  const struct {
    std::uint32_t version = 2;
    Entry entries[5] = {{0x01, 6, kNobody},   // the owner
                        {0x02, 4, 12345},     // a user
                        {0x04, 0, kNobody},   // the group: nothing
                        {0x10, 4, kNobody},   // the mask
                        {0x20, 0, kNobody}};  // others
  } acl;
  ASSERT_EQ(::setxattr(file.c_str(), "system.posix_acl_access", &acl, sizeof acl, 0), 0)
      << "this file system has no ACLs";
  struct stat st {};
  ASSERT_EQ(::stat(file.c_str(), &st), 0);
  ASSERT_EQ(st.st_mode & 0777U, 0640U);
  const OnePartition one(dir);
  EXPECT_EQ(one.view->access.of_segment(Offset{0}).mode, 0400U);
}

// The calls of one look can't be told apart from outside: so many looks are taken while one file
// after the other gets the name.
TEST_F(SourceAccessTest, AFileThatIsReplacedWhileItIsLookedAtSeemsToHaveNoAcl) {
  constexpr int kFiles = 2'000;
  const auto name = [](int i) { return "above/data/" + std::to_string(i); };
  for (int i = 0; i < kFiles; ++i) temp_.write(name(i), "");
  for (int i = 0; i < kFiles; ++i) set_mode(temp_ / name(i), 0644);
  const std::string file = temp_ / "above/data/file";
  const auto dir = storage::SourceDir::open(temp_ / "above/data", tests::test_backend()).value();
  std::atomic<bool> over = false;
  std::jthread replacing([&] {
    for (int i = 0; i < kFiles; ++i) {
      if (i > 0) std::filesystem::rename(file, temp_ / (name(i - 1) + ".deleted"));
      std::filesystem::rename(temp_ / name(i), file);
    }
    over = true;
  });
  for (bool last = false; !last;) {
    last = over;
    const auto facts = source_facts(*dir, "file");
    if (facts) {
      ASSERT_EQ(facts->access.mode, 0444U);
    } else {
      ASSERT_FALSE(last);
      ASSERT_EQ(facts.error().code, storage::Errc::kNotFound);
    }
  }
}

// Its directory, which stands for a segment that is gone, is for fewer than its files.
TEST_F(SourceAccessTest, ASegmentThatCompactionReplacesIsReadByThoseWhoMayReadTheNextOne) {
  const std::string dir = temp_ / "above/data/orders-0";
  LogBuilder(dir).batch({"a"}).roll().batch({"b"}).build();
  const std::string file = dir + "/00000000000000000000.log";
  for (const auto& each : std::filesystem::directory_iterator(dir)) set_mode(each.path(), 0644);
  set_mode(dir, 0700);
  const OnePartition one(dir);
  const SourceAccess& access = one.view->access;
  const Access granted = access.of_range(Offset{0}, Offset{2});
  ASSERT_EQ(granted.mode, 0444U);
  std::atomic<bool> over = false;
  std::jthread compaction([&] {
    for (int i = 0; i < 200; ++i) {
      std::filesystem::copy_file(file, file + ".cleaned");
      set_mode(file + ".cleaned", 0644);
      std::filesystem::rename(file + ".cleaned", file + ".swap");
      std::filesystem::rename(file, file + ".deleted");
      std::filesystem::rename(file + ".swap", file);
      std::filesystem::rename(file + ".deleted", temp_ / ("above/" + std::to_string(i)));
    }
    over = true;
  });
  for (bool last = false; !last;) {
    last = over;
    access.forget();
    ASSERT_TRUE(access.admits(granted, Offset{0}));
    ASSERT_EQ(access.of_segment(Offset{0}).mode, 0444U);
  }
}

}  // namespace
}  // namespace offsetfs::fs
