#include "fs/invalidator.h"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "fs/file_system.h"
#include "fs/node_table.h"
#include "storage/log_dir.h"
#include "tests/support/log_builder.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_backend.h"

namespace offsetfs::fs {
namespace {

using storage::LogChanges;
using storage::LogDir;
using tests::LogBuilder;
using tests::TempDir;
using Kind = LogChanges::Change::Kind;

constexpr auto kPatience = std::chrono::seconds(60);

// What the kernel was told to forget: "NUMBER/NAME", "NUMBER attributes", "NUMBER content".
class Forgotten {
 public:
  void add(const std::string& what) {
    const std::lock_guard lock(mutex_);
    forgotten_.insert(what);
    changed_.notify_all();
  }
  bool wait_for(const std::string& what) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return forgotten_.contains(what); });
  }
  bool has(const std::string& what) {
    const std::lock_guard lock(mutex_);
    return forgotten_.contains(what);
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    forgotten_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multiset<std::string> forgotten_;
};

class FakeCaches final : public KernelCaches {
 public:
  explicit FakeCaches(Forgotten& forgotten) : forgotten_(forgotten) {}
  void forget_name(std::uint64_t directory, const std::string& name) override {
    forgotten_.add(std::to_string(directory) + "/" + name);
  }
  void forget_attributes(std::uint64_t ino) override {
    forgotten_.add(std::to_string(ino) + " attributes");
  }
  void forget_content(std::uint64_t ino) override {
    forgotten_.add(std::to_string(ino) + " content");
  }

 private:
  Forgotten& forgotten_;
};

class InvalidatorTest : public testing::Test {
 protected:
  void mount(LogDir::Options options = watching()) {
    source_ = LogDir::open({temp_.path()}, tests::test_backend(), std::move(options)).value();
    file_system_ = std::make_unique<FileSystem>(source_, FileSystemOptions{}, LogSink{});
    file_system_->take_back_from(std::make_unique<FakeCaches>(forgotten_));
  }

  static LogDir::Options watching() {
    LogDir::Options options;
    options.watch = storage::LogWatcher::How::kAuto;
    return options;
  }

  FileSystem::Entry lookup(const std::string& path) {
    FileSystem::Entry entry;
    entry.ino = kRootId;
    for (std::size_t begin = 0; begin < path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      entry = file_system_->lookup(entry.ino, path.substr(begin, end - begin)).value();
      begin = end + 1;
    }
    return entry;
  }

  std::string name_in(const std::string& directory, const std::string& name) {
    return std::to_string(directory.empty() ? kRootId : lookup(directory).ino) + "/" + name;
  }

  const TempDir temp_;
  Forgotten forgotten_;
  std::shared_ptr<const LogDir> source_;
  std::unique_ptr<FileSystem> file_system_;
};

constexpr const char* kFirst = "orders-0/segments/00000000000000000000";

TEST_F(InvalidatorTest, NamesThatMayGoAreBelievedForLongOnlyIfTheyAreTakenBack) {
  LogBuilder(temp_ / "orders-0").batch({"a"}).roll().batch({"b"}).build();
  mount();
  EXPECT_EQ(lookup("orders-0").entry_timeout, kWhileWatched);
  EXPECT_EQ(lookup(kFirst).entry_timeout, kWhileWatched);
  LogDir::Options polling;
  polling.watch = storage::LogWatcher::How::kPoll;
  mount(std::move(polling));
  EXPECT_EQ(lookup("orders-0").entry_timeout, kBriefly);
  EXPECT_EQ(lookup(kFirst).entry_timeout, kBriefly);
}

TEST_F(InvalidatorTest, ASegmentThatWasDeletedIsTakenBackAndTheOffsetsWithIt) {
  LogBuilder(temp_ / "orders-0").batch({"a"}).roll().batch({"b"}).build();
  mount();
  lookup(kFirst);
  const std::string segment = name_in("orders-0/segments", "00000000000000000000");
  const std::string kept = name_in("orders-0/segments", "00000000000000000001");
  const std::string offsets = name_in("orders-0", "offsets");
  const std::string log = temp_ / "orders-0/00000000000000000000.log";
  std::filesystem::rename(log, log + ".deleted");
  EXPECT_TRUE(forgotten_.wait_for(segment));
  EXPECT_TRUE(forgotten_.wait_for(offsets));
  EXPECT_FALSE(forgotten_.has(kept));
}

TEST_F(InvalidatorTest, ARollTakesNothingBack) {
  LogBuilder log(temp_ / "orders-0");
  log.batch({"a"}).build();
  mount();
  lookup(kFirst);
  const std::string segments = std::to_string(lookup("orders-0/segments").ino) + " attributes";
  // The first change makes sure of everything.
  temp_.write("orders-0/00000000000000000000.txnindex", "");
  ASSERT_TRUE(forgotten_.wait_for(segments));
  for (int i = 0; i < 3; ++i) {
    forgotten_.clear();
    log.roll().batch({"b"}).build();
    ASSERT_TRUE(forgotten_.wait_for(segments));
    EXPECT_FALSE(forgotten_.has(name_in("orders-0/segments", "00000000000000000000")));
    EXPECT_FALSE(forgotten_.has(name_in("orders-0", "offsets")));
  }
}

TEST_F(InvalidatorTest, AnotherSegmentOfTheNameIsAnotherNode) {
  LogBuilder(temp_ / "orders-0").batch({"a"}).roll().batch({"b"}).build();
  mount();
  const std::uint64_t before = lookup(kFirst).ino;
  const std::uint64_t stream = lookup(std::string(kFirst) + "/records.jsonl").ino;
  const std::string segment = name_in("orders-0/segments", "00000000000000000000");
  LogBuilder(temp_ / "other").batch({"compacted"}).build();
  std::filesystem::rename(temp_ / "other/00000000000000000000.log",
                          temp_ / "orders-0/00000000000000000000.log");
  EXPECT_TRUE(forgotten_.wait_for(segment));
  EXPECT_NE(lookup(kFirst).ino, before);
  EXPECT_NE(lookup(std::string(kFirst) + "/records.jsonl").ino, stream);
  // Whoever asks by the old numbers is sent to look the name up anew.
  EXPECT_EQ(file_system_->getattr(stream).error().code, storage::Errc::kOutOfRange);
  EXPECT_EQ(file_system_->lookup(before, "records.jsonl").error().code, storage::Errc::kOutOfRange);
}

TEST_F(InvalidatorTest, AMovedLogStartTakesTheOffsetsBack) {
  LogBuilder(temp_ / "orders-0").batch({"a", "b"}).build();
  mount();
  lookup("orders-0/offsets/0");
  const std::string offsets = name_in("orders-0", "offsets");
  temp_.write("log-start-offset-checkpoint.tmp", "0\n1\norders 0 1\n");
  std::filesystem::rename(temp_ / "log-start-offset-checkpoint.tmp",
                          temp_ / "log-start-offset-checkpoint");
  EXPECT_TRUE(forgotten_.wait_for(offsets));
  EXPECT_EQ(lookup("orders-0/offsets").ino != 0, true);
}

TEST_F(InvalidatorTest, APartitionThatIsGoneOrAnotherOneIsTakenBack) {
  LogBuilder(temp_ / "orders-0").batch({"a"}).build();
  LogBuilder(temp_ / "other-0").batch({"a"}).build();
  mount();
  const std::uint64_t before = lookup("orders-0").ino;
  lookup("other-0");
  std::filesystem::rename(temp_ / "orders-0",
                          temp_ / "orders-0.0123456789abcdef0123456789abcdef-delete");
  EXPECT_TRUE(forgotten_.wait_for(name_in("", "orders-0")));
  EXPECT_FALSE(forgotten_.has(name_in("", "other-0")));
  LogBuilder(temp_ / "orders-0").batch({"anew"}).build();
  forgotten_.clear();
  while (!file_system_->lookup(kRootId, "orders-0"))
    ASSERT_TRUE(forgotten_.wait_for(std::to_string(kRootId) + " attributes"));
  EXPECT_NE(lookup("orders-0").ino, before);
}

TEST_F(InvalidatorTest, ATruncationIntoASealedSegmentTakesItsBytesBack) {
  LogBuilder(temp_ / "orders-0").batch({"a"}).roll().batch({"b"}).build();
  mount();
  const auto stream = lookup(std::string(kFirst) + "/records.jsonl");
  const std::string segments = std::to_string(lookup("orders-0/segments").ino) + " attributes";
  temp_.write("orders-0/00000000000000000000.txnindex", "");
  ASSERT_TRUE(forgotten_.wait_for(segments));
  const std::string log = temp_ / "orders-0/00000000000000000001.log";
  std::filesystem::rename(log, log + ".deleted");
  EXPECT_TRUE(forgotten_.wait_for(std::to_string(stream.ino) + " content"));
}

}  // namespace
}  // namespace offsetfs::fs
