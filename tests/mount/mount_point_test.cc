#include "mount/mount_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/temp_dir.h"

namespace offsetfs::mount {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class MountPointTest : public testing::Test {
 protected:
  std::string real(const std::string& path) const {
    char* resolved = ::realpath(path.c_str(), nullptr);
    std::string text = resolved ? resolved : "";
    ::free(resolved);
    return text;
  }
  std::string complaint(const MountPointRequest& request) const {
    const auto path = prepare_mount_point(request);
    return path ? "" : path.error().what;
  }

  tests::TempDir dir_;
};

TEST_F(MountPointTest, AnEmptyDirectoryWillDoAndItsLinksAreResolved) {
  dir_.make_dir("mnt");
  ASSERT_EQ(::symlink("mnt", (dir_ / "link").c_str()), 0);
  const auto path = prepare_mount_point({.path = dir_ / "link"});
  ASSERT_TRUE(path) << path.error().what;
  EXPECT_EQ(*path, real(dir_ / "mnt"));
}

TEST_F(MountPointTest, AMissingDirectoryIsToBeMade) {
  EXPECT_THAT(complaint({.path = dir_ / "mnt"}),
              AllOf(HasSubstr("does not exist"), HasSubstr("mkdir -p " + (dir_ / "mnt"))));
}

TEST_F(MountPointTest, AFileIsNoMountPoint) {
  dir_.write("mnt", "");
  EXPECT_THAT(complaint({.path = dir_ / "mnt"}), HasSubstr("no directory"));
}

TEST_F(MountPointTest, FilesAreNotHiddenUnlessAskedFor) {
  dir_.write("mnt/precious", "");
  EXPECT_THAT(complaint({.path = dir_ / "mnt"}),
              AllOf(HasSubstr("not empty"), HasSubstr("-o nonempty")));
  EXPECT_EQ(complaint({.path = dir_ / "mnt", .nonempty = true}), "");
}

TEST_F(MountPointTest, ThePlaceOfTheMountIsNotInsideTheSource) {
  dir_.make_dir("data/orders-0/mnt");
  const auto source = real(dir_ / "data");
  for (const auto* place : {"data", "data/orders-0", "data/orders-0/mnt"})
    EXPECT_THAT(complaint({.path = dir_ / place, .sources = {source}, .nonempty = true}),
                AllOf(HasSubstr("inside the source"), HasSubstr(source)))
        << place;
}

TEST_F(MountPointTest, ALinkIntoTheSourceIsSeenThrough) {
  dir_.make_dir("data/mnt");
  ASSERT_EQ(::symlink("data/mnt", (dir_ / "mnt").c_str()), 0);
  EXPECT_THAT(complaint({.path = dir_ / "mnt", .sources = {real(dir_ / "data")}}),
              HasSubstr("inside the source"));
}

TEST_F(MountPointTest, ASourceBesideOrBelowIsNoMatter) {
  dir_.make_dir("mnt");
  dir_.make_dir("mnt-data");
  EXPECT_EQ(complaint({.path = dir_ / "mnt", .sources = {real(dir_ / "mnt-data")}}), "");
  dir_.make_dir("mnt/data");
  EXPECT_EQ(
      complaint({.path = dir_ / "mnt", .sources = {real(dir_ / "mnt/data")}, .nonempty = true}),
      "");
}

TEST_F(MountPointTest, EveryComplaintIsOneLine) {
  EXPECT_THAT(complaint({.path = "/proc/no/such"}), AllOf(Not(""), Not(HasSubstr("\n"))));
}

TEST_F(MountPointTest, LyingWithinIncludesTheDirectoryItself) {
  dir_.make_dir("a/b");
  EXPECT_TRUE(*lies_within(dir_ / "a", dir_ / "a"));
  EXPECT_TRUE(*lies_within(dir_ / "a/b", dir_ / "a"));
  EXPECT_FALSE(*lies_within(dir_ / "a", dir_ / "a/b"));
  EXPECT_TRUE(*lies_within(dir_ / "a", "/"));
  EXPECT_FALSE(lies_within(dir_ / "none", "/"));
}

}  // namespace
}  // namespace offsetfs::mount
