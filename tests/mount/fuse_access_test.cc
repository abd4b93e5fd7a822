#include "mount/fuse_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temp_dir.h"

namespace offsetfs::mount {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A machine on which everything is there.
class FuseAccessTest : public testing::Test {
 protected:
  FuseAccessTest() {
    dir_.write("fusermount3", "");
    ::chmod((dir_ / "fusermount3").c_str(), 0755);
    dir_.write("fuse.conf", "# comment\n#user_allow_other\n");
    access_.device = "/dev/null";
    access_.config = dir_ / "fuse.conf";
    access_.helpers = {dir_ / "none", dir_ / "fusermount3"};
    access_.user = 1000;
  }
  std::string complaint() const {
    const auto checked = check_fuse_access(access_);
    return checked ? "" : checked.error().what;
  }

  tests::TempDir dir_;
  FuseAccess access_;
};

TEST_F(FuseAccessTest, AUserWithTheHelperMayMount) { EXPECT_EQ(complaint(), ""); }

TEST_F(FuseAccessTest, WithoutTheDeviceTheModuleIsToBeLoaded) {
  access_.device = dir_ / "no-fuse";
  EXPECT_THAT(complaint(), AllOf(HasSubstr("modprobe fuse"), HasSubstr("--device")));
}

TEST_F(FuseAccessTest, WithoutTheHelperOnlyRootMounts) {
  access_.helpers = {dir_ / "none"};
  EXPECT_THAT(complaint(), AllOf(HasSubstr("fusermount3"), HasSubstr("apt-get install fuse3")));
  access_.user = 0;
  EXPECT_EQ(complaint(), "");
}

TEST_F(FuseAccessTest, UsersNeedUserAllowOtherForAllowOther) {
  access_.allow_other = true;
  EXPECT_THAT(complaint(), AllOf(HasSubstr("user_allow_other"), HasSubstr(dir_ / "fuse.conf")));
  dir_.write("fuse.conf", "mount_max = 10\n  user_allow_other \n");
  EXPECT_EQ(complaint(), "");
}

TEST_F(FuseAccessTest, RootNeedsNoLineForAllowOther) {
  access_.allow_other = true;
  access_.user = 0;
  EXPECT_EQ(complaint(), "");
}

TEST(MountFailure, WhatIsKnownHasACure) {
  EXPECT_THAT(cure_for_mount_failure("fuse: mount failed: Operation not permitted"),
              HasSubstr("SYS_ADMIN"));
  EXPECT_THAT(cure_for_mount_failure("fusermount3: user has no write access to mountpoint /mnt"),
              HasSubstr("that you own"));
  EXPECT_EQ(cure_for_mount_failure("something new"), "");
}

}  // namespace
}  // namespace offsetfs::mount
