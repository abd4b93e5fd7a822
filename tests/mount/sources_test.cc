#include "mount/sources.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/temp_dir.h"

namespace offsetfs::mount {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

constexpr const char* kSegment = "00000000000000000000.log";

bool nothing_exists(const std::string&) { return false; }

TEST(SplitSource, CommasJoinDirectories) {
  EXPECT_THAT(split_source("/a, /b ,,/c", nothing_exists), ElementsAre("/a", "/b", "/c"));
  EXPECT_THAT(split_source("/a", nothing_exists), ElementsAre("/a"));
}

TEST(SplitSource, APathThatExistsAsItIsWrittenIsOne) {
  EXPECT_THAT(split_source("/a,/b", [](const std::string& path) { return path == "/a,/b"; }),
              ElementsAre("/a,/b"));
}

TEST(SplitSource, AnEscapedCommaBelongsToThePath) {
  EXPECT_THAT(split_source("/a\\,b,/c", nothing_exists), ElementsAre("/a,b", "/c"));
}

TEST(LogDirsOf, LogDirsGoBeforeLogDir) {
  EXPECT_THAT(*log_dirs_of("log.dir=/x\nlog.dirs=/a, /b\n", "k"), ElementsAre("/a", "/b"));
  EXPECT_THAT(*log_dirs_of("log.dir=/x\n", "k"), ElementsAre("/x"));
}

TEST(LogDirsOf, AConfigWithoutThemIsNamed) {
  const auto dirs = log_dirs_of("#log.dirs=/a\nlog.retention.hours=1\n", "/etc/k");
  ASSERT_FALSE(dirs);
  EXPECT_THAT(dirs.error().what, AllOf(HasSubstr("/etc/k"), HasSubstr("log.dirs")));
}

class SourcesTest : public testing::Test {
 protected:
  storage::Result<SourcePaths> find(const std::vector<std::string>& sources) const {
    Options options;
    options.sources = sources;
    return find_sources(options);
  }
  std::string complaint(const std::vector<std::string>& sources) const {
    const auto found = find(sources);
    return found ? "" : found.error().what;
  }

  tests::TempDir dir_;
};

TEST_F(SourcesTest, ALogDirectoryIsOneThatHoldsPartitions) {
  dir_.make_dir("data/orders-0");
  EXPECT_EQ(complaint({dir_ / "data"}), "");
}

TEST_F(SourcesTest, ABrokersDirectoryWithoutPartitionsYetIsOne) {
  dir_.write("data/meta.properties", "node.id=1\n");
  EXPECT_EQ(complaint({dir_ / "data"}), "");
}

TEST_F(SourcesTest, APartitionMayBeCalledAnything) {
  dir_.write("copied by hand/00000000000000000042.log", "");
  EXPECT_EQ(complaint({dir_ / "copied by hand"}), "");
}

TEST_F(SourcesTest, TheRealPathsComeToo) {
  dir_.make_dir("data/orders-0");
  ASSERT_EQ(::symlink("data", (dir_ / "link").c_str()), 0);
  const auto sources = find({dir_ / "link"});
  ASSERT_TRUE(sources) << sources.error().what;
  EXPECT_THAT(sources->given, ElementsAre(dir_ / "link"));
  EXPECT_THAT(sources->real, ElementsAre(EndsWith("/data")));
}

TEST_F(SourcesTest, ARelativePathIsToldInFull) {
  dir_.make_dir("data/orders-0");
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(dir_.path());
  const auto sources = find({"data"});
  std::filesystem::current_path(here);
  ASSERT_TRUE(sources) << sources.error().what;
  EXPECT_EQ(sources->given, sources->real);
  EXPECT_THAT(sources->given, ElementsAre(EndsWith("/data")));
}

TEST_F(SourcesTest, SeveralAreJoinedByCommasOrRepeated) {
  dir_.make_dir("a/orders-0");
  dir_.make_dir("b/orders-1");
  dir_.make_dir("c/orders-2");
  const auto sources = find({(dir_ / "a") + "," + (dir_ / "b"), dir_ / "c"});
  ASSERT_TRUE(sources) << sources.error().what;
  EXPECT_THAT(sources->given, ElementsAre(dir_ / "a", dir_ / "b", dir_ / "c"));
}

TEST_F(SourcesTest, AConfigNamesThem) {
  dir_.make_dir("a/orders-0");
  dir_.make_dir("b/orders-1");
  dir_.write("server.properties", "log.dirs=" + (dir_ / "a") + ",\\\n  " + (dir_ / "b") + "\n");
  Options options;
  options.config = dir_ / "server.properties";
  const auto sources = find_sources(options);
  ASSERT_TRUE(sources) << sources.error().what;
  EXPECT_THAT(sources->given, ElementsAre(dir_ / "a", dir_ / "b"));
}

TEST_F(SourcesTest, AConfigThatCannotBeReadIsNamed) {
  Options options;
  options.config = dir_ / "none";
  EXPECT_THAT(find_sources(options).error().what, HasSubstr(dir_ / "none"));
  options.config = dir_.path();
  EXPECT_THAT(find_sources(options).error().what, HasSubstr("server.properties"));
}

TEST_F(SourcesTest, WhatIsMissingIsNamed) {
  EXPECT_THAT(complaint({dir_ / "data"}), AllOf(HasSubstr(dir_ / "data"), HasSubstr("not exist")));
}

TEST_F(SourcesTest, OfASegmentFileTheDirectoryIsMeant) {
  dir_.write(std::string("orders-0/") + kSegment, "");
  EXPECT_THAT(complaint({dir_ / (std::string("orders-0/") + kSegment)}),
              HasSubstr("give its directory: " + (dir_ / "orders-0")));
}

TEST_F(SourcesTest, AnyOtherFileIsNoSource) {
  dir_.write("notes", "");
  EXPECT_THAT(complaint({dir_ / "notes"}), HasSubstr("is a file"));
}

TEST_F(SourcesTest, AnEmptyDirectoryIsSaidToBeEmpty) {
  dir_.make_dir("data");
  EXPECT_THAT(complaint({dir_ / "data"}), HasSubstr("is empty"));
}

TEST_F(SourcesTest, OneLevelTooHighIsPointedOut) {
  dir_.make_dir("kafka/config");
  dir_.write("kafka/data/orders-0/" + std::string(kSegment), "");
  EXPECT_THAT(complaint({dir_ / "kafka"}), HasSubstr("give " + (dir_ / "kafka/data")));
}

TEST_F(SourcesTest, AnAlienDirectoryHoldsNoPartition) {
  dir_.write("home/notes", "");
  EXPECT_THAT(complaint({dir_ / "home"}), AllOf(HasSubstr("no partition"), HasSubstr("log.dirs")));
}

TEST_F(SourcesTest, ALogFileInsideASourceIsRefused) {
  dir_.make_dir("data/orders-0");
  const auto sources = find({dir_ / "data"});
  ASSERT_TRUE(sources) << sources.error().what;
  EXPECT_TRUE(check_log_file("", *sources));
  EXPECT_TRUE(check_log_file(dir_ / "log", *sources));
  EXPECT_THAT(check_log_file(dir_ / "data/orders-0/log", *sources).error().what,
              HasSubstr("would change it"));
  EXPECT_THAT(check_log_file(dir_ / "none/log", *sources).error().what,
              HasSubstr("can't log there"));
}

}  // namespace
}  // namespace offsetfs::mount
