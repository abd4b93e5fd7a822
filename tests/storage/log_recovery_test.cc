#include "storage/log_recovery.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>
#include <random>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/log_writer.h"
#include "storage/pread_file.h"
#include "tests/support/crashing_dir.h"
#include "tests/support/log_builder.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_backend.h"
#include "tests/support/written_log.h"

namespace offsetfs::tests {
namespace {

namespace files = std::filesystem;
using storage::Errc;
using storage::LogWriter;
using storage::Offset;
using storage::PosixWriteDir;
using storage::recover_log;
using storage::RecoveryOptions;

constexpr const char* kFirst = "00000000000000000000.log";

RecoveryOptions recovery_options(std::int64_t recovery_point = 0) {
  RecoveryOptions options;
  options.config = writer_options().config;
  options.recovery_point = {recovery_point};
  return options;
}

// Ten batches of one record in one segment, not closed.
std::shared_ptr<CrashingDir> ten_batches(std::size_t value_bytes = 200) {
  const auto dir = std::make_shared<CrashingDir>(1);
  const auto log = open_log(dir, writer_options());
  for (int i = 0; i < 10; ++i) {
    std::string batch =
        make_batch({std::string(value_bytes, static_cast<char>('a' + i))}, 1000 + i);
    EXPECT_TRUE(log->append(batch));
  }
  return dir;
}

TEST(LogRecoveryTest, ATornTailIsCutWhereverItWasTorn) {
  const std::string whole = ten_batches()->content(kFirst);
  const std::size_t batch = whole.size() / 10;
  for (std::size_t cut = 1; cut < batch; cut += 3) {
    const auto dir = ten_batches();
    dir->content(kFirst).resize(whole.size() - cut);
    const auto log = recover_log(*dir, recovery_options());
    ASSERT_TRUE(log) << log.error().what;
    EXPECT_EQ(log->log_end_offset, Offset{9});
    EXPECT_EQ(dir->content(kFirst), whole.substr(0, 9 * batch));
    ASSERT_EQ(log->report.cuts.size(), 1U);
    EXPECT_EQ(log->report.cuts[0].bytes, static_cast<std::int64_t>(batch - cut));
  }
}

// Also where the byte is one of the size, which makes the batch seem to reach past the end.
TEST(LogRecoveryTest, AFlippedByteInTheMiddleIsNeverCutAndNothingIsTouched) {
  const std::string whole = ten_batches()->content(kFirst);
  const std::size_t batch = whole.size() / 10;
  for (std::size_t i = 0; i < batch; ++i) {
    if (i >= 12 && i < 16) continue;  // the leader epoch, which no CRC covers
    const auto dir = ten_batches();
    dir->content(kFirst)[4 * batch + i] ^= 0x40;
    const auto before = dir->contents();
    const auto log = recover_log(*dir, recovery_options());
    ASSERT_FALSE(log) << "byte " << i << " of the batch";
    EXPECT_TRUE(log.error().code == Errc::kCorrupt || log.error().code == Errc::kUnsupported)
        << log.error().what;
    EXPECT_NE(log.error().what.find(kFirst), std::string::npos) << log.error().what;
    EXPECT_TRUE(dir->contents() == before) << i;
  }
}

TEST(LogRecoveryTest, DamageInASealedSegmentIsNeverCut) {
  for (const bool at_end : {false, true}) {
    const auto dir = ten_batches();
    ASSERT_TRUE(open_log(dir, writer_options())->roll());
    std::string& content = dir->content(kFirst);
    if (at_end)
      content.resize(content.size() - 5);
    else
      content[300] ^= 1;
    const auto before = dir->contents();
    const auto log = recover_log(*dir, recovery_options());
    ASSERT_FALSE(log);
    EXPECT_EQ(log.error().code, Errc::kCorrupt);
    EXPECT_TRUE(dir->contents() == before);
  }
}

TEST(LogRecoveryTest, AnUnknownMagicOrCodecIsUnsupportedAndNeverCut) {
  const auto dir = ten_batches();
  const std::size_t batch = dir->content(kFirst).size() / 10;
  dir->content(kFirst)[9 * batch + 16] = 3;
  const auto log = recover_log(*dir, recovery_options());
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, Errc::kUnsupported);
  EXPECT_EQ(dir->content(kFirst).size(), 10 * batch);
}

TEST(LogRecoveryTest, AHoleAboveTheRecoveryPointIsCutAndOneBelowIsDamage) {
  for (const bool flushed : {false, true}) {
    const auto dir = ten_batches(2000);
    std::string& content = dir->content(kFirst);
    std::fill(content.begin() + 8192, content.begin() + 8704, '\0');
    const auto log = recover_log(*dir, recovery_options(flushed ? 5 : 0));
    ASSERT_EQ(log.has_value(), !flushed);
    if (log) {
      EXPECT_EQ(log->log_end_offset, Offset{3});
      EXPECT_NE(log->report.to_string().find("a hole"), std::string::npos);
    }
  }
}

TEST(LogRecoveryTest, RecoveredIndexesAreABrokers) {
  for (const std::string topic : {"seg-demo", "codec-mixed", "odd-times", "txn", "append-time"}) {
    const std::string original = std::string(OFFSETFS_FIXTURES) + "/logs/clean/" + topic + "-0";
    const TempDir temp;
    for (const auto& entry : files::directory_iterator(original))
      if (entry.path().extension() == ".log")
        files::copy_file(entry.path(), temp / entry.path().filename().string());
    const auto dir = PosixWriteDir::open(temp.path(), test_backend()).value();
    RecoveryOptions options;
    const auto log = recover_log(*dir, options);
    ASSERT_TRUE(log) << log.error().what;
    for (const auto& entry : files::directory_iterator(original)) {
      const std::string name = entry.path().filename();
      if (name == "partition.metadata") continue;
      EXPECT_TRUE(read_file(temp / name) == read_file(entry.path())) << topic << " " << name;
    }
  }
}

TEST(LogRecoveryTest, ACleanStopIsFollowedByNoScanAndTheLogGoesOn) {
  const auto dir = std::make_shared<CrashingDir>(1);
  {
    const auto log = open_log(dir, writer_options());
    for (int i = 0; i < 50; ++i) {
      std::string batch = make_batch({"value"}, 1000 + i, 7);
      ASSERT_TRUE(log->append(batch));
    }
    ASSERT_TRUE(log->close());
  }
  auto options = recovery_options(50);
  options.clean = true;
  const auto before = dir->contents();
  const auto log = recover_log(*dir, options);
  ASSERT_TRUE(log) << log.error().what;
  EXPECT_TRUE(log->report.was_clean) << log->report.to_string();
  EXPECT_EQ(log->report.batches_walked, 0);
  EXPECT_EQ(log->log_end_offset, Offset{50});
  EXPECT_EQ(log->segments.back().indexes.max_timestamp, storage::TimestampMs{1049});
  EXPECT_EQ(log->producers.snapshot(), dir->content("00000000000000000050.snapshot"));
  EXPECT_TRUE(dir->contents() == before);
}

TEST(LogRecoveryTest, ACleanMarkOverATornTailIsNotBelieved) {
  const auto dir = ten_batches();
  ASSERT_TRUE(open_log(dir, writer_options())->close());
  dir->content(kFirst) += dir->content(kFirst).substr(0, 100);
  auto options = recovery_options();
  options.clean = true;
  const auto log = recover_log(*dir, options);
  ASSERT_TRUE(log) << log.error().what;
  EXPECT_FALSE(log->report.was_clean);
  EXPECT_EQ(log->log_end_offset, Offset{10});
  EXPECT_EQ(log->report.cuts.size(), 1U);
}

// What recovery must give back, whatever happened: the records up to `synced` at least, each whole
// and as it was sent, at unbroken offsets.
void expect_unbroken(CrashingDir& dir, std::int64_t synced, const std::vector<std::string>& sent) {
  std::string all;
  for (const auto& [name, content] : dir.contents())
    if (name.ends_with(".log")) all += content;
  const auto batches = split_batches(all);
  ASSERT_GE(static_cast<std::int64_t>(batches.size()), synced);
  ASSERT_LE(batches.size(), sent.size());
  for (std::size_t i = 0; i < batches.size(); ++i) ASSERT_EQ(batches[i], sent[i]) << i;
}

// One machine's life: appends, flushes, rolls; then the power goes; and again on what is left.
void live_and_lose_power(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto dir = std::make_shared<CrashingDir>(seed);
  std::vector<std::string> sent;
  std::int64_t synced = 0;
  for (int life = 0; life < 3; ++life) {
    const auto log =
        open_log(dir, writer_options(96 + 12 * static_cast<std::int64_t>(random() % 8)));
    ASSERT_TRUE(log);
    const std::int64_t end = log->log_end_offset().value;
    expect_unbroken(*dir, synced, sent);
    sent.resize(static_cast<std::size_t>(end));
    synced = end;  // what recovery gave back is appended behind
    const int appends = static_cast<int>(random() % 40);
    for (int i = 0; i < appends; ++i) {
      std::string batch = make_batch({std::string(random() % 900, static_cast<char>('a' + i % 26))},
                                     1000 + static_cast<std::int64_t>(sent.size()));
      const auto appended = log->append(batch);
      ASSERT_TRUE(appended) << appended.error().what;
      sent.push_back(batch);
      if (random() % 6 == 0) {
        ASSERT_TRUE(log->flush());
        synced = static_cast<std::int64_t>(sent.size());
      }
    }
    synced = std::max(synced, log->recovery_point().value);
    dir->cut_power();
  }
  const auto once = recover_log(*dir, recovery_options());
  ASSERT_TRUE(once) << once.error().what;
  expect_unbroken(*dir, synced, sent);
  const auto before = dir->contents();
  const auto twice = recover_log(*dir, recovery_options());
  ASSERT_TRUE(twice);
  EXPECT_TRUE(twice->report.cuts.empty());
  EXPECT_TRUE(dir->contents() == before);
}

TEST(LogRecoveryPropertyTest, NoPowerCutLosesASyncedRecordOrLeavesAHalfOne) {
  const std::uint64_t first = std::random_device{}();
  std::printf("seeds %llu and up\n", static_cast<unsigned long long>(first));
  for (std::uint64_t i = 0; i < 1000 && !::testing::Test::HasFatalFailure(); ++i)
    live_and_lose_power(first + i);
}

// The child appends until it is killed, and says in shared memory how far it got.
TEST(LogRecoveryPropertyTest, NoKillLosesAnAcknowledgedRecord) {
  const std::uint64_t seed = std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  const TempDir temp;
  void* const shared =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const acknowledged = new (shared) std::atomic<std::int64_t>(0);
  const auto dir =
      PosixWriteDir::open(temp.path(), std::make_shared<storage::PreadBackend>()).value();
  for (int round = 0; round < 30; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto log = LogWriter::open(dir, nullptr, {"orders", 0}, writer_options(2400), nullptr);
      for (int i = 0; log; ++i) {
        std::string batch = make_batch({std::string(300, 'x'), std::to_string(i)}, 1000 + i);
        const auto appended = (*log)->append(batch);
        if (!appended) ::_exit(1);
        acknowledged->store(appended->last_offset.value + 1);
      }
      ::_exit(1);
    }
    const std::int64_t goal = acknowledged->load() + static_cast<std::int64_t>(random() % 200);
    while (acknowledged->load() <= goal && ::waitpid(child, nullptr, WNOHANG) == 0) ::usleep(50);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto log = recover_log(*dir, recovery_options());
    ASSERT_TRUE(log) << log.error().what;
    ASSERT_GT(acknowledged->load(), goal);
    ASSERT_GE(log->log_end_offset.value, acknowledged->load());
    ASSERT_EQ(log->log_end_offset.value % 2, 0);
  }
  ::munmap(shared, 4096);
}

}  // namespace
}  // namespace offsetfs::tests
