#include "storage/log_dir.h"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/support/few_descriptors.h"
#include "tests/support/log_builder.h"
#include "tests/support/open_logs.h"
#include "tests/support/refused_syscall.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_backend.h"

namespace offsetfs::tests {
namespace {

using storage::DirState;
using storage::Errc;
using storage::LogDir;
using storage::Offset;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> names(const LogDir& source) {
  std::vector<std::string> all;
  for (const auto partitions = source.partitions(); const auto& partition : *partitions)
    all.push_back(partition.name);
  return all;
}

std::vector<std::string> problems(const LogDir& source) {
  std::vector<std::string> all;
  for (const auto& problem : source.problems().list()) {
    all.push_back(problem.file.substr(problem.file.rfind('/') + 1) + ": " + problem.what);
  }
  return all;
}

TEST(LogDirTest, ASourceThatIsRemovedSaysSoOnceAndIsNotWhatIsMadeAnewUnderItsName) {
  const TempDir temp;
  const std::string log_dir = temp / "data";
  LogBuilder(log_dir + "/orders-3").batch({"a"}).build();
  for (const std::string& path : {log_dir + "/orders-3", log_dir}) {
    const auto source = LogDir::open({path}, test_backend(), {}).value();
    source->refresh();
    EXPECT_THAT(source->problems().list(), IsEmpty());
    std::filesystem::remove_all(path);
    LogBuilder(log_dir + "/orders-3").batch({"b"}).build();
    source->refresh();
    source->refresh();
    const auto problems = source->problems().list();
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].file, path);
    EXPECT_THAT(problems[0].what, HasSubstr("was removed"));
    EXPECT_EQ(source->is_single_partition(), path != log_dir);
  }
}

TEST(LogDirTest, PartitionsStandInNameOrderAndTheBrokersOwnFilesAreNone) {
  const TempDir temp;
  for (const char* name : {"b-1", "a.b-0", "a-10", "x-0.0123456789abcdef0123456789abcdef-delete",
                           "remote-log-index-cache"}) {
    temp.make_dir(name);
  }
  temp.write("meta.properties", "version=1\nnode.id=4\ncluster.id=c\n");
  temp.write(".lock", "");
  const auto source = open_source({temp.path()});
  EXPECT_FALSE(source->is_single_partition());
  EXPECT_THAT(names(*source),
              ElementsAre("a-10", "a.b-0", "b-1", "x-0.0123456789abcdef0123456789abcdef-delete"));
  EXPECT_EQ(source->partitions()->back().state, DirState::kDelete);
  EXPECT_THAT(problems(*source), IsEmpty());
  EXPECT_EQ(open_log(*source, "b-1")->node_id(), 4);
}

TEST(LogDirTest, AlienThingsAreNamedAndNothingOfThemIsOpened) {
  const TempDir temp;
  temp.make_dir("a-0");
  temp.make_dir("lost+found");
  temp.write("notes.txt", "");
  std::filesystem::create_symlink("/etc", temp / "etc-0");
  ASSERT_EQ(::mkfifo((temp / "pipe-0").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo((temp / "a-0/00000000000000000000.log").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo((temp / "a-0/pipe").c_str(), 0600), 0);
  temp.write("a-0/notes.txt", "");
  const auto source = open_source({temp.path()});
  EXPECT_THAT(names(*source), ElementsAre("a-0"));
  EXPECT_EQ(open_log(*source, "a-0")->offsets()->log_end_offset, Offset{0});
  EXPECT_THAT(problems(*source),
              testing::UnorderedElementsAre(
                  HasSubstr("lost+found: "), HasSubstr("notes.txt: "),
                  HasSubstr("etc-0: a symbolic link"), HasSubstr("pipe-0: a symbolic link, FIFO"),
                  HasSubstr("00000000000000000000.log: is no regular file"),
                  "pipe: is no regular file: not opened"));
}

TEST(LogDirTest, APartitionDirectoryAloneTakesCheckpointsFromItsParent) {
  const TempDir temp;
  LogBuilder(temp / "orders-3").batch({"a", "b"}).build();
  temp.write("log-start-offset-checkpoint", "0\n1\norders 3 1\n");
  temp.write("notes.txt", "");
  std::filesystem::create_symlink(temp / "orders-3", temp / "link");
  for (const char* path : {"orders-3", "link", "orders-3/"}) {
    const auto source = open_source({temp / path});
    EXPECT_TRUE(source->is_single_partition());
    EXPECT_EQ(open_log(*source, "orders-3")->offsets()->log_start_offset, Offset{1});
    EXPECT_THAT(problems(*source), IsEmpty());
  }
}

TEST(LogDirTest, ABackupOfAPartitionMayBearAnyName) {
  const TempDir temp;
  LogBuilder(temp / "backup").batch({"a"}).build();
  const auto source = open_source({temp / "backup"});
  EXPECT_THAT(names(*source), ElementsAre("backup-0"));
}

TEST(LogDirTest, WhatIsNoSourceIsRefusedWithACure) {
  const TempDir temp;
  temp.write("home/file", "");
  LogBuilder(temp / "logs/orders-3").batch({"a"}).build();
  const auto open = [&](std::vector<std::string> paths) {
    return LogDir::open(paths, test_backend(), {});
  };
  EXPECT_THAT(open({temp / "home"}).error().what, HasSubstr("neither a partition directory"));
  EXPECT_EQ(open({temp / "nowhere"}).error().code, Errc::kNotFound);
  EXPECT_THAT(open({temp / "logs", temp / "logs/orders-3"}).error().what,
              HasSubstr("mount it alone"));
  EXPECT_THAT(open({temp / "logs", temp / "logs/"}).error().what, HasSubstr("given twice"));
  EXPECT_THAT(open({}).error().what, HasSubstr("no source given"));
}

TEST(LogDirTest, OfTwoCopiesTheLongerOneHasTheName) {
  const TempDir temp;
  LogBuilder(temp / "one/orders-3").batch({"a"}).build();
  LogBuilder(temp / "two/orders-3").batch({"A", "B"}).build();
  LogBuilder(temp / "two/other-0").batch({"A"}).build();
  const auto source = open_source({temp / "one", temp / "two"});
  EXPECT_THAT(names(*source), ElementsAre("orders-3", "orders-3~0", "other-0"));
  EXPECT_EQ(open_log(*source, "orders-3")->offsets()->log_end_offset, Offset{2});
  EXPECT_EQ(open_log(*source, "orders-3~0")->offsets()->log_end_offset, Offset{1});
  EXPECT_THAT(problems(*source), ElementsAre(HasSubstr("shown as orders-3~0")));
}

TEST(LogDirTest, ATopicCreatedAnewIsAnotherIncarnation) {
  const TempDir temp;
  LogBuilder(temp / "orders-3").batch({"old"}).build();
  temp.make_dir("other-0");
  const auto source = open_source({temp.path()});
  const auto before = *source->partitions();
  const auto old_log = open_log(*source, "orders-3");

  std::filesystem::rename(temp / "orders-3",
                          temp / "orders-3.0123456789abcdef0123456789abcdef-delete");
  LogBuilder(temp / "orders-3").batch({"new", "new"}).build();
  EXPECT_TRUE(source->refresh());
  const auto after = *source->partitions();
  ASSERT_EQ(after.size(), 3U);
  EXPECT_NE(after[0].id, before[0].id);
  EXPECT_EQ(after[1].id, before[0].id);  // the directory lives on under its new name
  EXPECT_EQ(after[2].id, before[1].id);
  EXPECT_EQ(old_log->find(Offset{0})->record.value, "old");
  EXPECT_EQ(open_log(*source, "orders-3")->find(Offset{0})->record.value, "new");
}

TEST(LogDirTest, AnInodeNumberThatComesAgainIsStillAnotherIncarnation) {
  const TempDir temp;
  LogBuilder(temp / "orders-3").batch({"old"}).build();
  const auto source = open_source({temp.path()});
  const auto id = source->partitions()->front().id;
  EXPECT_EQ(open_log(*source, "orders-3")->find(Offset{0})->record.value, "old");
  std::filesystem::remove_all(temp / "orders-3");  // nobody looks meanwhile
  LogBuilder(temp / "orders-3").batch({"new"}).build();
  source->refresh();
  EXPECT_NE(source->partitions()->front().id, id);
  EXPECT_EQ(open_log(*source, "orders-3")->find(Offset{0})->record.value, "new");
}

TEST(LogDirTest, APartitionIsNotGoneBecauseAListingFailed) {
  const TempDir temp;
  temp.make_dir("a-0");
  const auto source = open_source({temp.path()});
  const auto id = source->partitions()->front().id;
  temp.make_dir("b-0");
  {
    const FewDescriptors none(0);
    source->refresh();
    EXPECT_THAT(names(*source), ElementsAre("a-0"));
  }
  EXPECT_THAT(problems(*source), ElementsAre(HasSubstr("open files")));
  source->refresh();
  EXPECT_THAT(names(*source), ElementsAre("a-0", "b-0"));
  EXPECT_EQ(source->partitions()->front().id, id);
}

TEST(LogDirTest, APartitionWhoseBirthCannotBeAskedForIsNoOther) {
  const TempDir temp;
  temp.make_dir("a-0");
  const auto source = open_source({temp.path()});
  const auto id = source->partitions()->front().id;
  temp.make_dir("b-0");
  EXPECT_TRUE(holds_where_refused(SYS_statx, EIO, [&] {
    source->refresh();
    const auto partitions = source->partitions();
    return partitions->size() == 1 && partitions->front().id == id;
  }));
  for (const int no_such_call : {ENOSYS, EPERM}) {
    EXPECT_TRUE(holds_where_refused(SYS_statx, no_such_call, [&] {
      return names(*open_source({temp.path()})) == std::vector<std::string>{"a-0", "b-0"};
    }));
  }
}

TEST(LogDirTest, AListingThatFailedAtTheStartIsTakenAgain) {
  const TempDir temp;
  temp.make_dir("a-0");
  std::filesystem::last_write_time(
      temp.path(), std::filesystem::file_time_type::clock::now() - std::chrono::minutes(1));
  const auto source = open_source({temp.path()});
  {
    const FewDescriptors none(0);
    EXPECT_THAT(names(*source), IsEmpty());
  }
  source->refresh();
  EXPECT_THAT(names(*source), ElementsAre("a-0"));
}

TEST(LogDirTest, APartitionThatIsGoneCantBeOpened) {
  const TempDir temp;
  temp.make_dir("a-0");
  temp.make_dir("b-0");
  const auto source = open_source({temp.path()});
  const auto id = source->partitions()->front().id;
  std::filesystem::remove(temp / "a-0");
  source->refresh();
  EXPECT_THAT(names(*source), ElementsAre("b-0"));
  EXPECT_EQ(source->open(id).error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace offsetfs::tests
