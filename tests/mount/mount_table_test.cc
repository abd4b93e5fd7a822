#include "mount/mount_table.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace offsetfs::mount {
namespace {

constexpr const char* kTable =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 8:1 / / rw,relatime shared:1 master:2 - ext4 /dev/sda1 rw\n"
    "80 27 0:44 / /mnt/a\\040b\\134c ro,nosuid - fuse.offsetfs /data/orders-3 ro,user_id=0\n"
    "no mount\n"
    "81 80 0:45 / /mnt/a\\040b\\134c ro - fuse.sshfs host:/ ro\n";

TEST(MountTable, ReadsTypeSourceDeviceAndEscapedPaths) {
  const auto table = parse_mount_table(kTable);
  ASSERT_EQ(table.size(), 4u);
  EXPECT_EQ(table[1].dev, makedev(8, 1));
  EXPECT_EQ(table[1].type, "ext4");
  EXPECT_EQ(table[2].mount_point, "/mnt/a b\\c");
  EXPECT_EQ(table[2].source, "/data/orders-3");
  EXPECT_TRUE(table[2].is_offsetfs());
  EXPECT_FALSE(table[3].is_offsetfs());
}

TEST(MountTable, OfStackedMountsTheLastIsSeen) {
  const auto table = parse_mount_table(kTable);
  ASSERT_NE(mount_at(table, "/mnt/a b\\c"), nullptr);
  EXPECT_EQ(mount_at(table, "/mnt/a b\\c")->type, "fuse.sshfs");
  EXPECT_EQ(mount_at(table, "/mnt"), nullptr);
}

TEST(MountTable, FindsTheMountOfADevice) {
  const auto table = parse_mount_table(kTable);
  ASSERT_NE(mount_of_device(table, makedev(0, 44)), nullptr);
  EXPECT_TRUE(mount_of_device(table, makedev(0, 44))->is_offsetfs());
  EXPECT_EQ(mount_of_device(table, makedev(7, 7)), nullptr);
}

TEST(MountTable, ThisMachineHasProcMounted) {
  const auto table = read_mount_table();
  ASSERT_TRUE(table) << table.error().what;
  struct stat status {};
  ASSERT_EQ(::stat("/proc", &status), 0);
  ASSERT_NE(mount_of_device(*table, status.st_dev), nullptr);
  EXPECT_EQ(mount_of_device(*table, status.st_dev)->type, "proc");
}

}  // namespace
}  // namespace offsetfs::mount
