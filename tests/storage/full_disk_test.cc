// A disk that is really full: a tmpfs of a few megabytes.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include "storage/batch_builder.h"
#include "storage/dir_lock.h"
#include "storage/log_compaction.h"
#include "storage/log_creation.h"
#include "storage/log_dir_writer.h"
#include "storage/log_writer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_backend.h"
#include "tests/support/written_log.h"

namespace offsetfs::storage {
namespace {

namespace stdfs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (::mount("tmpfs", disk_.path().c_str(), "tmpfs", 0, "size=8m") != 0)
      GTEST_SKIP() << "THE FULL DISK WAS NOT TESTED: a tmpfs can't be mounted here ("
                   << std::strerror(errno) << "); run this as root, outside of a container that "
                   << "forbids it";
    mounted_ = true;
    NewLog log;
    log.log_dir = disk_.path();
    log.topic_partition = {"orders", 0};
    const auto made = create_log(log);
    ASSERT_TRUE(made) << made.error().what;
  }
  void TearDown() override {
    close_without_ceremony();
    if (mounted_) {
      EXPECT_EQ(::umount2(disk_.path().c_str(), MNT_DETACH), 0);
    }
  }

  std::string dir() const { return disk_ / "orders-0"; }
  void close_without_ceremony() {
    log_.reset();
    log_dir_.reset();
  }

  Result<void> open() {
    close_without_ceremony();
    ASSIGN_OR_RETURN(std::shared_ptr<WriteDir> files,
                     PosixWriteDir::open(dir(), tests::test_backend()));
    ASSIGN_OR_RETURN(std::shared_ptr<WriteDir> log_dir,
                     PosixWriteDir::open(disk_.path(), tests::test_backend()));
    ASSIGN_OR_RETURN(auto lock, DirLock::acquire(disk_.path()));
    ASSIGN_OR_RETURN(log_dir_, LogDirWriter::open(log_dir, std::move(lock)));
    LogWriter::Options options;
    options.config.segment_bytes = 1 << 20;
    options.config.cleanup_policy = {.compact = true, .remove = false};
    ASSIGN_OR_RETURN(log_, LogWriter::open(files, log_dir_, {"orders", 0}, options, &report_));
    return {};
  }
  void must_open() {
    const auto opened = open();
    ASSERT_TRUE(opened) << opened.error().what;
  }

  // One batch of a record of about 16 KiB; what was acknowledged is counted.
  Result<void> append() {
    const std::string number = std::to_string(acknowledged_);
    BatchBuilder builder;
    const std::string value = number + std::string(16000, 'v');
    builder.add({1000}, Bytes(number), Bytes(value));
    ASSIGN_OR_RETURN(const auto appended, log_->append(builder.finish()));
    EXPECT_EQ(appended.base_offset, Offset{acknowledged_});
    ++acknowledged_;
    return {};
  }
  Error fill_up() {
    for (int i = 0; i < 2000; ++i)
      if (auto appended = append(); !appended) return appended.error();
    ADD_FAILURE() << "the disk never was full";
    return {};
  }
  // Takes room away, to give it back later.
  void make_ballast(std::size_t bytes) {
    std::ofstream(disk_ / "ballast") << std::string(bytes, 'b');
    ASSERT_EQ(stdfs::file_size(disk_ / "ballast"), bytes);
  }
  void drop_ballast() { ASSERT_TRUE(stdfs::remove(disk_ / "ballast")); }

  // Every record from `next` on that was acknowledged, and nothing behind the last one but what
  // preallocation left.
  void expect_whole(std::int64_t next = 0) {
    std::vector<std::string> names;
    for (const auto& entry : stdfs::directory_iterator(dir()))
      if (entry.path().extension() == ".log") names.push_back(entry.path().string());
    std::ranges::sort(names);
    for (const auto& name : names) {
      std::ifstream in(name, std::ios::binary);
      const std::string content{std::istreambuf_iterator<char>(in), {}};
      for (const auto& batch : tests::split_batches(content)) {
        EXPECT_THAT(batch, HasSubstr(std::to_string(next) + "vvvv"));
        ++next;
      }
    }
    EXPECT_EQ(next, acknowledged_);
  }

  const tests::TempDir disk_;
  bool mounted_ = false;
  std::shared_ptr<LogDirWriter> log_dir_;
  std::unique_ptr<LogWriter> log_;
  RecoveryReport report_;
  std::int64_t acknowledged_ = 0;
};

TEST_F(FullDisk, AnAppendSaysSoTheLogStaysWholeAndGoesOnWhenThereIsRoomAgain) {
  make_ballast(4 << 20);
  must_open();
  for (int i = 0; i < 3; ++i) {
    const auto error = fill_up();
    EXPECT_EQ(error.code, Errc::kIo);
    EXPECT_EQ(error.sys_errno, ENOSPC) << error.what;
    expect_whole();
  }
  EXPECT_GT(log_->segments().size(), 1U);
  drop_ballast();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(append());
  ASSERT_TRUE(log_->close());
  ASSERT_TRUE(log_dir_->close().value());
  must_open();
  EXPECT_TRUE(report_.was_clean);
  expect_whole();
}

TEST_F(FullDisk, ACrashWithNoRoomLeftIsRecoveredOnceThereIs) {
  make_ballast(4 << 20);
  must_open();
  fill_up();
  close_without_ceremony();
  if (const auto opened = open(); !opened) {
    EXPECT_EQ(opened.error().sys_errno, ENOSPC) << opened.error().what;
  }
  close_without_ceremony();
  expect_whole();
  drop_ballast();
  must_open();
  EXPECT_THAT(report_.cuts, IsEmpty());
  EXPECT_EQ(log_->log_end_offset(), Offset{acknowledged_});
  expect_whole();
  ASSERT_TRUE(append());
}

TEST_F(FullDisk, RetentionMakesRoomWhereThereIsNone) {
  must_open();
  fill_up();
  const auto segments = log_->segments();
  ASSERT_GT(segments.size(), 3U);
  std::vector<std::string> renamed;
  const auto removed = log_->remove_segments(segments[1].next_offset, renamed);
  EXPECT_EQ(log_->log_start_offset(), segments[2].base_offset);
  if (!removed) {
    EXPECT_EQ(removed.error().sys_errno, ENOSPC) << removed.error().what;
  }
  for (const auto& name : renamed) ASSERT_TRUE(log_->unlink_deleted(name));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(append());
  ASSERT_TRUE(log_->close());
  ASSERT_TRUE(log_dir_->close().value());
  must_open();
  EXPECT_EQ(log_->log_start_offset(), segments[2].base_offset);
  EXPECT_EQ(log_->log_end_offset(), Offset{acknowledged_});
  expect_whole(segments[2].base_offset.value);
}

TEST_F(FullDisk, ACreationThatFindsNoRoomIsFinishedByTheSameAgain) {
  constexpr std::uint64_t kPage = 4096;
  const auto resize = [&](std::uint64_t bytes) {
    const auto size = "size=" + std::to_string(bytes);
    return ::mount("tmpfs", disk_.path().c_str(), "tmpfs", MS_REMOUNT, size.c_str()) == 0;
  };
  std::uint64_t room = 0;
  for (bool fits = false; !fits; room += kPage) {
    NewLog log;
    log.log_dir = disk_ / ("node" + std::to_string(room / kPage));
    log.topic_partition = {"orders", 0};
    log.broker = true;
    struct statvfs disk {};
    ASSERT_EQ(::statvfs(disk_.path().c_str(), &disk), 0);
    ASSERT_TRUE(resize((disk.f_blocks - disk.f_bfree) * disk.f_frsize + room));
    const auto made = create_log(log);
    fits = made.has_value();
    ASSERT_TRUE(resize(8 << 20));
    if (fits) continue;
    EXPECT_EQ(made.error().sys_errno, ENOSPC) << made.error().what;
    const auto finished = create_log(log);
    ASSERT_TRUE(finished) << room << ": " << finished.error().what;
    EXPECT_TRUE(stdfs::exists(*finished + "/partition.metadata"));
    EXPECT_TRUE(stdfs::exists(log.log_dir + "/meta.properties"));
    EXPECT_TRUE(stdfs::exists(log.log_dir + "/.kafka_cleanshutdown"));
  }
  EXPECT_GT(room, 5 * kPage);
}

TEST_F(FullDisk, ACompactionThatFindsNoRoomChangesNothingAndWorksLater) {
  make_ballast(4 << 20);
  must_open();
  fill_up();
  ASSERT_GT(log_->segments().size(), 2U);
  LogCompaction compaction(*log_);
  const auto refused = compaction.run_at_once({1000});  // all keys differ: it needs the room twice
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sys_errno, ENOSPC) << refused.error().what;
  for (const auto& entry : stdfs::directory_iterator(dir()))
    EXPECT_NE(entry.path().extension(), ".cleaned");
  expect_whole();
  drop_ballast();
  const auto run = compaction.run_at_once({1000});
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_TRUE(run->cleaned);
  ASSERT_TRUE(compaction.unlink_due({INT64_MAX}));
  expect_whole();
  ASSERT_TRUE(append());
}

}  // namespace
}  // namespace offsetfs::storage
