#include "mount/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mount/option_list.h"

namespace offsetfs::mount {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Arguments = std::vector<std::string>;

Options parsed(const Arguments& arguments) {
  auto result = parse_command_line(arguments);
  if (!result) {
    ADD_FAILURE() << result.error().what;
    return {};
  }
  return std::get<Options>(*result);
}

std::string complaint(const Arguments& arguments) {
  const auto result = parse_command_line(arguments);
  return result ? "" : result.error().what;
}

Options with_list(const std::string& list) { return parsed({"/data", "/mnt", "-o", list}); }
std::string complaint_of_list(const std::string& list) {
  return complaint({"/data", "/mnt", "-o", list});
}

std::string printed(const Arguments& arguments) {
  const auto result = parse_command_line(arguments);
  return result && std::holds_alternative<Printout>(*result) ? std::get<Printout>(*result).text
                                                             : "";
}

TEST(CommandLine, TheLastPathIsTheMountPoint) {
  const auto options = parsed({"/disk1", "/disk2,/disk3", "/mnt"});
  EXPECT_THAT(options.sources, ElementsAre("/disk1", "/disk2,/disk3"));
  EXPECT_EQ(options.mount_point, "/mnt");
  EXPECT_FALSE(options.foreground);
}

TEST(CommandLine, OptionsMayStandAnywhere) {
  const auto options = parsed({"-f", "-o", "list=5", "/data", "-o", "control", "/mnt"});
  EXPECT_THAT(options.sources, ElementsAre("/data"));
  EXPECT_EQ(options.mount_point, "/mnt");
  EXPECT_TRUE(options.foreground);
  EXPECT_EQ(options.tree.list_limit, 5);
  EXPECT_TRUE(options.tree.show_control);
}

TEST(CommandLine, AConfigStandsForTheSources) {
  const auto options = parsed({"--config", "server.properties", "/mnt"});
  EXPECT_THAT(options.sources, IsEmpty());
  EXPECT_EQ(options.config, "server.properties");
  EXPECT_EQ(options.mount_point, "/mnt");
}

TEST(CommandLine, InFstabNoneStandsForTheSourcesOfTheConfig) {
  const auto options = parsed({"none", "/mnt", "-o", "ro,config=/etc/k"});
  EXPECT_THAT(options.sources, IsEmpty());
  EXPECT_EQ(options.config, "/etc/k");
}

TEST(CommandLine, ASourceNextToAConfigIsTheSource) {
  EXPECT_THAT(parsed({"/data", "/mnt", "-o", "config=/etc/k"}).sources, ElementsAre("/data"));
}

TEST(CommandLine, MissingPathsAreNamed) {
  EXPECT_THAT(complaint({}), HasSubstr("no MOUNTPOINT"));
  EXPECT_THAT(complaint({"/mnt"}), AllOf(HasSubstr("no SOURCE"), HasSubstr("/mnt")));
  EXPECT_THAT(complaint({"--config", "k"}), HasSubstr("no MOUNTPOINT"));
  EXPECT_THAT(complaint({"", "/mnt"}), HasSubstr("empty"));
}

TEST(CommandLine, AnUnknownFlagIsOneLine) {
  EXPECT_THAT(complaint({"/data", "/mnt", "--wrong"}),
              AllOf(HasSubstr("--wrong"), HasSubstr("--help"), Not(HasSubstr("\n"))));
}

TEST(CommandLine, HelpNamesEveryOptionAndTheExitCodes) {
  const auto help = printed({"--help"});
  for (const auto& row : option_rows())
    EXPECT_THAT(help, HasSubstr("\n  " + std::string(row.name)));
  EXPECT_THAT(help, AllOf(HasSubstr("Exit codes"), HasSubstr("--log-file"), HasSubstr("--config")));
}

TEST(CommandLine, VersionNamesLibfuseToo) {
  EXPECT_THAT(printed({"--version"}), AllOf(HasSubstr("offsetfs "), HasSubstr("libfuse 3")));
}

TEST(CommandLine, DebuggingStaysInTheForeground) {
  EXPECT_TRUE(parsed({"-d", "/data", "/mnt"}).foreground);
}

// What mount(8) calls through mount.fuse3, as seen with a script in offsetfs' place.
struct HelperCall {
  const char* written;
  const char* list;
  bool allow_other;
  const char* config;
};

class MountHelperTest : public testing::TestWithParam<HelperCall> {};

TEST_P(MountHelperTest, IsUnderstood) {
  const auto options = parsed({"/data", "/mnt", "-o", GetParam().list});
  EXPECT_THAT(options.sources, ElementsAre("/data"));
  EXPECT_EQ(options.mount_point, "/mnt");
  EXPECT_EQ(options.allow_other, GetParam().allow_other);
  EXPECT_EQ(options.default_permissions, GetParam().allow_other);
  EXPECT_EQ(options.config, GetParam().config);
  EXPECT_FALSE(options.foreground);
}

INSTANTIATE_TEST_SUITE_P(
    Mount8, MountHelperTest,
    testing::Values(HelperCall{"mount -t fuse.offsetfs SRC MNT", "rw,dev,suid", false, ""},
                    HelperCall{"mount ... -o ro,allow_other,x-systemd.automount,_netdev,nofail",
                               "ro,allow_other,dev,suid", true, ""},
                    HelperCall{"mount -t fuse 'offsetfs#SRC' MNT -o ro", "ro,dev,suid", false, ""},
                    HelperCall{"fstab: ro,noauto,user,allow_other,config=/etc/k",
                               "ro,noexec,nosuid,nodev,allow_other,config=/etc/k", true, "/etc/k"},
                    HelperCall{"what mount.fuse3 keeps to itself",
                               "x-systemd.automount,_netdev,nofail,x-gvfs-hide", false, ""},
                    HelperCall{"fstab: defaults", "defaults,auto,noatime,user=joe", false, ""}));

TEST(OptionList, ValuesLandInTheirFields) {
  const auto options = with_list(
      "list=all,now=2026-10-29T04:23:56.476Z,max_decompressed=1G,io=pread,threads=3,nonempty,"
      "log_file=/var/log/o,log_level=warning");
  EXPECT_EQ(options.tree.list_limit, fs::FileSystemOptions::kListAll);
  EXPECT_EQ(options.tree.now, storage::TimestampMs{1793247836476});
  EXPECT_EQ(options.tree.decompressed_limit_bytes, std::int64_t{1} << 30);
  EXPECT_EQ(options.io, storage::IoChoice::kPread);
  EXPECT_EQ(options.tree.threads, 3);
  EXPECT_TRUE(options.nonempty);
  EXPECT_EQ(options.log_file, "/var/log/o");
  EXPECT_EQ(options.log_level, fs::LogLevel::kWarning);
}

TEST(OptionList, SizesTakeSuffixes) {
  const auto bytes = [](const std::string& size) {
    return with_list("max_decompressed=" + size).tree.decompressed_limit_bytes;
  };
  EXPECT_EQ(bytes("4096"), 4096);
  EXPECT_EQ(bytes("4k"), 4096);
  EXPECT_EQ(bytes("256M"), std::int64_t{256} << 20);
  EXPECT_EQ(bytes("2T"), std::int64_t{2} << 40);
}

TEST(OptionList, WhatIsNoValueIsSaidWithWhatWasExpected) {
  const std::pair<const char*, const char*> cases[] = {
      {"list=", "list=N|all"},
      {"list", "list=N|all"},
      {"list=-1", "list=N|all"},
      {"list=1x", "list=N|all"},
      {"list=99999999999999999999", "list=N|all"},
      {"control=1", "expected control"},
      {"control=", "expected control"},
      {"max_decompressed=0", "BYTES"},
      {"max_decompressed=9999999999T", "BYTES"},
      {"max_decompressed=M", "BYTES"},
      {"threads=0", "1..256"},
      {"threads=257", "1..256"},
      {"io=mmap", "auto|ring|pread"},
      {"now=yesterday", "now=TIME"},
      {"log_level=loud", "info|warning|error"},
      {"config=", "config=FILE"},
  };
  for (const auto& [list, expected] : cases)
    EXPECT_THAT(complaint_of_list(list), AllOf(HasSubstr(list), HasSubstr(expected)));
}

TEST(OptionList, AnUnknownOptionIsNamedWithTheNearestKnownOne) {
  EXPECT_THAT(complaint_of_list("ro,lst=5"),
              AllOf(HasSubstr("lst"), HasSubstr("did you mean list?")));
  EXPECT_THAT(complaint_of_list("allow_others"), HasSubstr("did you mean allow_other?"));
  EXPECT_THAT(complaint_of_list("thread=2"), HasSubstr("did you mean threads?"));
  EXPECT_THAT(complaint_of_list("max-decompressed=1"), HasSubstr("did you mean max_decompressed?"));
}

TEST(OptionList, WhatWouldUndoTheMountIsRefusedWithItsReason) {
  for (const auto* word : {"uid=0", "gid=0", "umask=0", "fsname=x", "subtype=x", "max_read=4096",
                           "auto_unmount", "remount"})
    EXPECT_THAT(complaint_of_list(word), HasSubstr("can't be set")) << word;
}

TEST(OptionList, TheLastOfTwoHolds) { EXPECT_EQ(with_list("list=1,list=2").tree.list_limit, 2); }

TEST(OptionList, AnEscapedCommaBelongsToTheValue) {
  EXPECT_EQ(with_list("config=/a\\,b,control").config, "/a,b");
}

TEST(OptionList, EmptyWordsSayNothing) { EXPECT_EQ(with_list(",,list=3,").tree.list_limit, 3); }

}  // namespace
}  // namespace offsetfs::mount
