#include "storage/log_watcher.h"

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "storage/log_dir.h"
#include "tests/support/log_builder.h"
#include "tests/support/open_logs.h"
#include "tests/support/refused_syscall.h"
#include "tests/support/temp_dir.h"

namespace offsetfs::tests {
namespace {

using storage::LogChanges;
using storage::LogDir;
using storage::LogWatcher;
using storage::Offset;
using Change = LogChanges::Change;
using Kind = Change::Kind;

// Only a hang ends it: what is waited for is told at once, or within a second where it is polled.
constexpr auto kPatience = std::chrono::seconds(60);

// Counts what it hears.
class Heard {
 public:
  LogChanges::Listener listener() {
    return [this](const Change& change) {
      const std::lock_guard lock(mutex_);
      ++counts_[change.kind];
      changed_.notify_all();
    };
  }

  int count(Kind kind) {
    const std::lock_guard lock(mutex_);
    return counts_[kind];
  }

  bool wait_for_more(Kind kind, int than) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return counts_[kind] > than; });
  }

  // Runs what changes the source, and waits until it was told.
  template <class Act>
  bool hears(Kind kind, Act&& act) {
    const int before = count(kind);
    act();
    return wait_for_more(kind, before);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Kind, int> counts_;
};

class LogWatcherTest : public testing::TestWithParam<LogWatcher::How> {
 protected:
  std::shared_ptr<const LogDir> open(const std::string& path) {
    LogDir::Options options;
    options.watch = GetParam();
    options.on_notice = [this](const std::string& line) { notices_.push_back(line); };
    return open_source({path}, std::move(options));
  }

  std::uint32_t id_of(const LogDir& source, const std::string& name) {
    for (const auto partitions = source.partitions(); const auto& partition : *partitions)
      if (partition.name == name) return partition.id;
    throw std::runtime_error(name + ": no such partition");
  }

  const TempDir temp_;
  std::vector<std::string> notices_;
};

INSTANTIATE_TEST_SUITE_P(Ways, LogWatcherTest,
                         testing::Values(LogWatcher::How::kAuto, LogWatcher::How::kPoll),
                         [](const auto& way) {
                           return way.param == LogWatcher::How::kAuto ? "Inotify" : "Polling";
                         });

TEST_P(LogWatcherTest, AppendsAreToldToWhoListensToThePartition) {
  LogBuilder log(temp_ / "orders-0");
  log.batch({"a"}).build();
  LogBuilder other(temp_ / "other-0");
  other.batch({"a"}).build();
  const auto source = open(temp_.path());
  Heard heard;
  const auto subscription =
      source->changes().subscribe(id_of(*source, "orders-0"), heard.listener());
  const auto partition = open_log(*source, "orders-0");
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(heard.hears(Kind::kAppended, [&] { log.batch({"b"}).build(); }));
    EXPECT_EQ(partition->offsets()->log_end_offset, Offset{log.next_offset()});
  }
}

TEST_P(LogWatcherTest, WhoListensHearsOfRollsRenamesAndDeletionsAndTheLogHasLookedBefore) {
  LogBuilder log(temp_ / "orders-0");
  log.batch({"a"}).roll().batch({"b"}).build();
  const auto source = open(temp_.path());
  const auto partition = open_log(*source, "orders-0");
  ASSERT_EQ(partition->segments()->size(), 2U);
  Heard heard;
  const auto subscription =
      source->changes().subscribe(id_of(*source, "orders-0"), heard.listener());
  ASSERT_TRUE(heard.hears(Kind::kSegments, [&] { log.roll().batch({"c"}).build(); }));
  while (partition->segments()->size() != 3) ASSERT_TRUE(heard.wait_for_more(Kind::kSegments, 1));
  const std::string first = temp_ / "orders-0/00000000000000000000.log";
  ASSERT_TRUE(
      heard.hears(Kind::kSegments, [&] { std::filesystem::rename(first, first + ".deleted"); }));
  // What is heard first may still tell of the change before.
  while (partition->segments()->front().base_offset != Offset{1})
    ASSERT_TRUE(heard.wait_for_more(Kind::kSegments, 1));
  ASSERT_TRUE(heard.hears(Kind::kSegments, [&] { std::filesystem::remove(first + ".deleted"); }));
  while (!partition->set_aside()->empty()) ASSERT_TRUE(heard.wait_for_more(Kind::kSegments, 1));
}

TEST_P(LogWatcherTest, ATruncationIsTold) {
  LogBuilder log(temp_ / "orders-0");
  log.batch({"a"}).batch({"b"}).build();
  const auto source = open(temp_.path());
  const auto partition = open_log(*source, "orders-0");
  Heard heard;
  const auto subscription =
      source->changes().subscribe(id_of(*source, "orders-0"), heard.listener());
  EXPECT_EQ(partition->offsets()->log_end_offset, Offset{2});
  ASSERT_TRUE(heard.hears(Kind::kAppended, [&] {
    ASSERT_EQ(::truncate(log.log_path().c_str(), log.positions()[1]), 0);
  }));
  EXPECT_EQ(partition->offsets()->log_end_offset, Offset{1});
}

TEST_P(LogWatcherTest, PartitionsThatComeAndGoAreToldToAll) {
  LogBuilder(temp_ / "orders-0").batch({"a"}).build();
  temp_.write("meta.properties", "version=1\n");
  const auto source = open(temp_.path());
  Heard heard;
  const auto subscription = source->changes().subscribe(std::nullopt, heard.listener());
  ASSERT_TRUE(
      heard.hears(Kind::kPartitions, [&] { LogBuilder(temp_ / "new-0").batch({"a"}).build(); }));
  while (source->partitions()->size() != 2) ASSERT_TRUE(heard.wait_for_more(Kind::kPartitions, 1));
  ASSERT_NE(open_log(*source, "new-0"), nullptr);
  const std::uint32_t id = id_of(*source, "new-0");
  const std::string gone = temp_ / "new-0.0123456789abcdef0123456789abcdef-delete";
  ASSERT_TRUE(
      heard.hears(Kind::kPartitions, [&] { std::filesystem::rename(temp_ / "new-0", gone); }));
  EXPECT_EQ(id_of(*source, "new-0.0123456789abcdef0123456789abcdef-delete"), id);
  ASSERT_TRUE(heard.hears(Kind::kPartitions, [&] { std::filesystem::remove_all(gone); }));
  while (source->partitions()->size() != 1) ASSERT_TRUE(heard.wait_for_more(Kind::kPartitions, 2));
}

TEST_P(LogWatcherTest, ACheckpointIsToldToThePartitionsItSpeaksOf) {
  LogBuilder(temp_ / "orders-0").batch({"a", "b"}).build();
  LogBuilder(temp_ / "other-0").batch({"a", "b"}).build();
  temp_.write("replication-offset-checkpoint", "0\n2\norders 0 0\nother 0 1\n");
  const auto source = open(temp_.path());
  const auto partition = open_log(*source, "orders-0");
  Heard of_orders;
  Heard of_other;
  const auto orders = source->changes().subscribe(id_of(*source, "orders-0"), of_orders.listener());
  const auto other = source->changes().subscribe(id_of(*source, "other-0"), of_other.listener());
  EXPECT_EQ(partition->offsets()->high_watermark, Offset{0});
  // Polling tells what it finds at its first look.
  if (GetParam() == LogWatcher::How::kPoll) {
    ASSERT_TRUE(of_other.wait_for_more(Kind::kCheckpoints, 0));
    ASSERT_TRUE(of_orders.wait_for_more(Kind::kCheckpoints, 0));
  }
  const int before = of_other.count(Kind::kCheckpoints);
  ASSERT_TRUE(of_orders.hears(Kind::kCheckpoints, [&] {
    temp_.write("replication-offset-checkpoint.tmp", "0\n2\norders 0 2\nother 0 1\n");
    std::filesystem::rename(temp_ / "replication-offset-checkpoint.tmp",
                            temp_ / "replication-offset-checkpoint");
  }));
  while (partition->offsets()->high_watermark != Offset{2})
    ASSERT_TRUE(of_orders.wait_for_more(Kind::kCheckpoints, 0));
  EXPECT_EQ(of_other.count(Kind::kCheckpoints), before);
}

TEST_P(LogWatcherTest, ASourceOfOnePartitionIsWatchedLikeAnyOther) {
  LogBuilder log(temp_ / "logs/orders-0");
  log.batch({"a"}).build();
  const auto source = open(temp_ / "logs/orders-0");
  Heard heard;
  const auto subscription =
      source->changes().subscribe(id_of(*source, "orders-0"), heard.listener());
  ASSERT_TRUE(heard.hears(Kind::kAppended, [&] { log.batch({"b"}).build(); }));
  ASSERT_TRUE(heard.hears(Kind::kSegments, [&] { log.roll().batch({"c"}).build(); }));
  ASSERT_TRUE(heard.hears(Kind::kCheckpoints, [&] {
    temp_.write("logs/replication-offset-checkpoint", "0\n1\norders 0 1\n");
  }));
}

TEST_P(LogWatcherTest, ItSaysOnceHowItWatches) {
  LogBuilder(temp_ / "orders-0").batch({"a"}).build();
  const auto source = open(temp_.path());
  open_log(*source, "orders-0");
  const bool by_inotify = GetParam() == LogWatcher::How::kAuto;
  EXPECT_EQ(source->changes().is_prompt(id_of(*source, "orders-0")), by_inotify);
  EXPECT_EQ(source->changes().manner(), by_inotify ? "inotify" : "polling");
  EXPECT_EQ(notices_.size(), by_inotify ? 0U : 1U);
}

TEST(LogWatcher, AppendsOfAPartitionThatNobodyListensToAreNotWatchedFor) {
  const TempDir temp;
  LogBuilder log(temp / "orders-0");
  log.batch({"a"}).build();
  LogDir::Options options;
  options.watch = LogWatcher::How::kAuto;
  const auto source = open_source({temp.path()}, std::move(options));
  const auto partition = open_log(*source, "orders-0");
  Heard heard;
  const auto all = source->changes().subscribe(std::nullopt, heard.listener());
  log.batch({"b"}).build();
  // What comes behind it in the queue is told; the append never was in it.
  ASSERT_TRUE(
      heard.hears(Kind::kSegments, [&] { temp.write("orders-0/00000000000000000009.log", ""); }));
  EXPECT_EQ(heard.count(Kind::kAppended), 0);
  auto one = source->changes().subscribe(0, [](const Change&) {});
  ASSERT_TRUE(heard.hears(Kind::kAppended, [&] { log.batch({"c"}).build(); }));
  one.end();
  const int before = heard.count(Kind::kAppended);
  log.batch({"d"}).build();
  ASSERT_TRUE(
      heard.hears(Kind::kSegments, [&] { temp.write("orders-0/00000000000000000010.log", ""); }));
  EXPECT_EQ(heard.count(Kind::kAppended), before);
}

// A listener that does not return holds up the watcher, and so the kernel's queue overflows.
TEST(LogWatcher, AfterAnOverflowEverythingIsLookedAt) {
  const TempDir temp;
  LogBuilder log(temp / "orders-0");
  log.batch({"a"}).build();
  LogBuilder(temp / "other-0").batch({"a"}).build();
  LogDir::Options options;
  options.watch = LogWatcher::How::kAuto;
  const auto source = open_source({temp.path()}, std::move(options));
  const auto partition = open_log(*source, "orders-0");
  const auto other = open_log(*source, "other-0");
  std::mutex gate;
  std::unique_lock closed(gate);
  Heard heard;
  std::vector<std::uint32_t> of_segments;  // only the watcher's thread writes, under the gate
  const auto subscription = source->changes().subscribe(std::nullopt, [&](const Change& change) {
    const std::lock_guard pass(gate);
    if (change.kind == Kind::kSegments) of_segments.push_back(change.partition);
    heard.listener()(change);
  });
  for (int i = 0; i < 20'000; ++i) {
    temp.write("other-0/00000000000000000099.log.cleaned", "");
    std::filesystem::remove(temp / "other-0/00000000000000000099.log.cleaned");
  }
  log.roll().batch({"b"}).build();  // nobody was told of it
  closed.unlock();
  while (partition->segments()->size() != 2 || heard.count(Kind::kPartitions) == 0)
    ASSERT_TRUE(heard.wait_for_more(Kind::kSegments, heard.count(Kind::kSegments) - 1));
  // All that is in use, and not only what made the noise.
  ASSERT_TRUE(heard.hears(Kind::kSegments, [&] { log.roll().batch({"c"}).build(); }));
  const std::lock_guard pass(gate);
  EXPECT_THAT(of_segments, testing::IsSupersetOf({0U, 1U}));
}

TEST(LogWatcher, WhereTheKernelGrantsNoWatchesItLooksForChanges) {
  EXPECT_TRUE(holds_where_refused(SYS_inotify_add_watch, ENOSPC, [] {
    const TempDir temp;
    LogBuilder log(temp / "orders-0");
    log.batch({"a"}).build();
    std::mutex mutex;
    std::vector<std::string> notices;
    LogDir::Options options;
    options.watch = LogWatcher::How::kAuto;
    options.on_notice = [&](const std::string& line) {
      const std::lock_guard lock(mutex);
      notices.push_back(line);
    };
    const auto source = open_source({temp.path()}, std::move(options));
    const auto partition = open_log(*source, "orders-0");
    Heard heard;
    const auto subscription = source->changes().subscribe(0, heard.listener());
    const bool told = heard.hears(Kind::kAppended, [&] { log.batch({"b"}).build(); });
    const std::lock_guard lock(mutex);
    return told && source->changes().manner() == "inotify,polling" &&
           !source->changes().is_prompt(0) && !notices.empty() &&
           notices.front().find("max_user_watches") != std::string::npos;
  }));
}

TEST(LogWatcher, WhereTheKernelGrantsNoInotifyItLooksForChanges) {
  EXPECT_TRUE(holds_where_refused(SYS_inotify_init1, EMFILE, [] {
    const TempDir temp;
    LogBuilder log(temp / "orders-0");
    log.batch({"a"}).build();
    LogDir::Options options;
    options.watch = LogWatcher::How::kAuto;
    const auto source = open_source({temp.path()}, std::move(options));
    const auto partition = open_log(*source, "orders-0");
    Heard heard;
    const auto subscription = source->changes().subscribe(0, heard.listener());
    return heard.hears(Kind::kAppended, [&] { log.batch({"b"}).build(); }) &&
           source->changes().manner() == "polling";
  }));
}

}  // namespace
}  // namespace offsetfs::tests
