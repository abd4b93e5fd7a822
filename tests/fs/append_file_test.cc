#include "fs/append_file.h"

#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "fs/file_system.h"
#include "fs/written_logs.h"
#include "storage/log_creation.h"
#include "storage/log_dir.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_backend.h"

namespace offsetfs::fs {
namespace {

using storage::Errc;

constexpr std::uint64_t kRoot = 1;

// A log of our own, and the tree over it; nothing is mounted.
class AppendFileTest : public testing::Test {
 protected:
  AppendFileTest() {
    storage::NewLog log;
    log.log_dir = temp_ / "logs";
    log.topic_partition = {"orders", 0};
    dir_ = storage::create_log(log).value();
  }

  void open(bool appends = true) {
    auto source = storage::LogDir::open({dir_}, tests::test_backend(), {});
    ASSERT_TRUE(source) << source.error().what;
    if (appends) {
      const storage::Settings settings({}, (*source)->problems());
      auto written = WrittenLogs::open(**source, settings, {.append = {}, .log = log_sink()});
      ASSERT_TRUE(written) << written.error().what;
      written_ = *written;
    }
    file_system_ = std::make_unique<FileSystem>(*source, FileSystemOptions{}, log_sink(), written_);
  }
  void close() {
    file_system_.reset();
    EXPECT_TRUE(written_ == nullptr || written_->close());
    written_.reset();
  }
  LogSink log_sink() {
    return [this](LogLevel level, const std::string& line) {
      if (level != LogLevel::kInfo) said_.push_back(line);
    };
  }

  std::uint64_t ino(std::uint64_t parent, const std::string& name) {
    const auto entry = file_system_->lookup(parent, name);
    EXPECT_TRUE(entry) << name;
    return entry ? entry->ino : 0;
  }
  std::unique_ptr<OpenFile> open_append(const std::string& name = "append") {
    auto file = file_system_->open_to_write(ino(kRoot, name), false);
    EXPECT_TRUE(file) << (file ? "" : file.error().what);
    return file ? std::move(*file) : nullptr;
  }
  std::string values() {
    const auto file = file_system_->open(ino(kRoot, "records.values"));
    EXPECT_TRUE(file) << (file ? "" : file.error().what);
    std::string buffer;
    return std::string((*file)->read(0, 1 << 20, buffer).value());
  }

  const tests::TempDir temp_;
  std::string dir_;
  std::vector<std::string> said_;
  std::shared_ptr<WrittenLogs> written_;
  std::unique_ptr<FileSystem> file_system_;
};

TEST_F(AppendFileTest, WhatIsWrittenIsReadAtOnce) {
  open();
  const auto file = open_append();
  EXPECT_EQ(file->write("one\ntwo\n", ::getpid()).value(), 8U);
  EXPECT_EQ(values(), "one\ntwo\n");
  EXPECT_TRUE(file->flags().direct_io && file->flags().nonseekable && file->flags().is_written);
  close();
  EXPECT_TRUE(said_.empty()) << said_.front();
}

TEST_F(AppendFileTest, ACloseEndsTheLineOfTheProcessThatBeganItAndOfNobodyElse) {
  open();
  const auto file = open_append();
  ASSERT_TRUE(file->write("half", ::getpid()));
  ASSERT_TRUE(file->flush(::getppid()));
  EXPECT_EQ(values(), "");
  ASSERT_TRUE(file->flush(::getpid()));
  EXPECT_EQ(values(), "half\n");
}

TEST_F(AppendFileTest, AnotherThreadOfTheWriterMayClose) {
  open();
  const auto file = open_append();
  pid_t writer = 0;
  std::thread([&] {
    writer = ::gettid();
    ASSERT_TRUE(file->write("half", writer));
    ASSERT_TRUE(file->flush(::getpid()));  // while the thread is there
  }).join();
  EXPECT_NE(writer, ::getpid());
  EXPECT_EQ(values(), "half\n");
}

TEST_F(AppendFileTest, ProcessesOfAnotherNamespaceAreNotTakenForOne) {
  open();
  auto file = open_append();
  ASSERT_TRUE(file->write("half", 0));
  ASSERT_TRUE(file->flush(0));
  EXPECT_EQ(values(), "");
  file.reset();
  EXPECT_EQ(values(), "half\n");
}

TEST_F(AppendFileTest, TheLastCloseEndsTheLineWhoeverItIs) {
  open();
  auto file = open_append();
  ASSERT_TRUE(file->write("half", ::getpid()));
  file.reset();
  EXPECT_EQ(values(), "half\n");
}

TEST_F(AppendFileTest, WhatFailsIsSaidWithItsReason) {
  open();
  const auto file = open_append("append.jsonl");
  const auto refused = file->write("{}\n", ::getpid());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sys_errno, EINVAL);
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_EQ(said_[0],
            "append.jsonl, line 1: column 3: no \"payload\" in it; of a tombstone it is "
            "\"payload\":null");
}

TEST_F(AppendFileTest, OnlyAppendIsWrittenAndItIsNeverRead) {
  open();
  EXPECT_EQ(file_system_->refusal(), EPERM);
  EXPECT_EQ(file_system_->open_to_write(ino(kRoot, "README"), false).error().sys_errno, EPERM);
  EXPECT_EQ(file_system_->open(ino(kRoot, "append")).error().sys_errno, EACCES);
  const auto attributes = file_system_->getattr(ino(kRoot, "append"));
  ASSERT_TRUE(attributes);
  EXPECT_EQ(attributes->stat.st_mode, S_IFREG | 0200U);
  EXPECT_EQ(attributes->stat.st_size, 0);
  EXPECT_TRUE(file_system_->truncate(ino(kRoot, "append"), 0));
  EXPECT_EQ(file_system_->truncate(ino(kRoot, "append"), 1).error().sys_errno, EPERM);
  EXPECT_EQ(file_system_->truncate(ino(kRoot, "README"), 0).error().sys_errno, EPERM);
  EXPECT_TRUE(said_.empty()) << said_.front();
}

TEST_F(AppendFileTest, WhereNothingIsWrittenThereIsNoSuchFile) {
  open(/*appends=*/false);
  EXPECT_EQ(file_system_->refusal(), EROFS);
  for (const char* name : {"append", "append.jsonl"})
    EXPECT_EQ(file_system_->lookup(kRoot, name).error().code, Errc::kNotFound) << name;
  EXPECT_EQ(file_system_->open_to_write(ino(kRoot, "README"), false).error().sys_errno, EROFS);
  EXPECT_FALSE(std::filesystem::exists(temp_ / "logs/.lock"));
}

TEST_F(AppendFileTest, WritersThatAreStillOpenAtTheEndLoseNothingButAnUnfinishedLine) {
  open();
  const auto file = open_append();
  ASSERT_TRUE(file->write("one\nhalf", ::getpid()));
  ASSERT_TRUE(written_->close());
  EXPECT_EQ(values(), "one\n");
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_EQ(said_[0], "a line that was begun and not ended is dropped");
  EXPECT_TRUE(std::filesystem::exists(temp_ / "logs/.kafka_cleanshutdown"));
  // Nobody is told that more was written.
  EXPECT_FALSE(file->write("two\n", ::getpid()) && file->flush(::getpid()));
}

TEST_F(AppendFileTest, ADirectoryHasOneWriter) {
  open();
  const auto source = storage::LogDir::open({dir_}, tests::test_backend(), {}).value();
  const storage::Settings settings({}, source->problems());
  const auto second = WrittenLogs::open(*source, settings, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kBusy);
  close();
  const auto third = WrittenLogs::open(*source, settings, {});
  ASSERT_TRUE(third) << third.error().what;
  EXPECT_TRUE((*third)->close());
}

TEST_F(AppendFileTest, KafkasOwnTopicsAndStrayNamesAreNotWritten) {
  for (const char* name : {"__cluster_metadata-0", "backup"}) {
    const std::string other = temp_ / ("logs/" + std::string(name));
    std::filesystem::copy(dir_, other);
    const auto source = storage::LogDir::open({other}, tests::test_backend(), {}).value();
    const storage::Settings settings({}, source->problems());
    const auto refused = WrittenLogs::open(*source, settings, {});
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, Errc::kInvalid);
  }
}

}  // namespace
}  // namespace offsetfs::fs
