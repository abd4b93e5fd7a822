#include "storage/log_recovery.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/log_dir_writer.h"
#include "storage/log_writer.h"
#include "storage/offset_checkpoint.h"
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

// What is refused is refused before anything is cut, with the clean mark or without.
TEST(LogRecoveryTest, ATailThatWasFlushedOnceIsNotCutBeforeTheLogIsRefused) {
  const std::string whole = ten_batches()->content(kFirst);
  const std::size_t batch = whole.size() / 10;
  for (const bool clean : {false, true})
    for (const std::string& left :
         {whole.substr(0, 9 * batch) + std::string(batch, '\0'),
          whole.substr(0, 9 * batch) + std::string(7, '\0'), std::string(3, '\0')}) {
      const auto dir = ten_batches();
      ASSERT_TRUE(open_log(dir, writer_options())->close());
      dir->content(kFirst) = left;
      const auto before = dir->contents();
      auto options = recovery_options(10);
      options.clean = clean;
      const auto log = recover_log(*dir, options);
      ASSERT_FALSE(log);
      EXPECT_EQ(log.error().code, Errc::kCorrupt);
      EXPECT_THAT(log.error().what, testing::HasSubstr("flushed up to 10 once"));
      EXPECT_TRUE(dir->contents() == before);
    }
}

// Also where the recovery point knows nothing, as of a broker that was killed early.
TEST(LogRecoveryTest, OffsetsBelowTheHighWatermarkAreNeverGivenAgain) {
  const auto dir = ten_batches();
  std::string& content = dir->content(kFirst);
  content.resize(content.size() - 5);
  const auto before = dir->contents();
  auto options = recovery_options();
  options.high_watermark = {10};
  const auto refused = recover_log(*dir, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kCorrupt);
  EXPECT_THAT(refused.error().what, testing::HasSubstr("had acknowledged records up to 10 once "
                                                       "(replication-offset-checkpoint)"));
  EXPECT_TRUE(dir->contents() == before);
  options.high_watermark = {9};
  const auto log = recover_log(*dir, options);
  ASSERT_TRUE(log) << log.error().what;
  EXPECT_EQ(log->log_end_offset, Offset{9});
}

TEST(LogRecoveryTest, SegmentsThatAreMissingAreSaidUnlessTheLogWasCompacted) {
  const auto four_segments_without = [](int missing) {
    const auto dir = std::make_shared<CrashingDir>(1);
    const auto log = open_log(dir, writer_options());
    for (int i = 0; i < 12; ++i) {
      std::string batch = make_batch({std::string(300, 'v')}, 1000 + i);
      EXPECT_TRUE(log->append(batch));
      if (i % 3 == 2 && i < 11) {
        EXPECT_TRUE(log->roll());
      }
    }
    EXPECT_TRUE(log->close());
    for (const char* file : {".log", ".index", ".timeindex"})
      EXPECT_TRUE(dir->unlink("0000000000000000000" + std::to_string(missing) + file));
    return dir;
  };
  for (const bool clean : {false, true}) {
    auto options = recovery_options(clean ? 12 : 0);
    options.clean = clean;
    const auto middle = recover_log(*four_segments_without(3), options);
    ASSERT_TRUE(middle) << middle.error().what;
    EXPECT_THAT(middle->report.gaps,
                testing::ElementsAre(testing::HasSubstr(
                    "the offsets 3 to 5, before 00000000000000000006.log, are in no segment")));
    const auto first = recover_log(*four_segments_without(0), options);
    ASSERT_TRUE(first) << first.error().what;
    EXPECT_THAT(first->report.gaps,
                testing::ElementsAre(testing::HasSubstr("the offsets 0 to 2, which the log began "
                                                        "with (leader-epoch-checkpoint)")));
    options.first_dirty_offset = {9};
    EXPECT_THAT(recover_log(*four_segments_without(3), options)->report.gaps, testing::IsEmpty());
    options.first_dirty_offset = {};
    options.config.cleanup_policy.compact = true;
    EXPECT_THAT(recover_log(*four_segments_without(3), options)->report.gaps, testing::IsEmpty());
  }
}

// The sector with the last bytes of an offset was never written, all else of the batch was: its CRC
// is good, since it does not cover the offset.
TEST(LogRecoveryTest, ABatchWhoseOffsetAloneWasNeverWrittenIsAHole) {
  const auto dir = std::make_shared<CrashingDir>(1);
  const auto log = open_log(dir, writer_options());
  const std::size_t overhead = make_batch({std::string(400, 'x')}, 1).size() - 400;
  for (const std::size_t bytes : {512 - 8 - overhead, std::size_t{300}, std::size_t{300}}) {
    std::string batch = make_batch({std::string(bytes, 'x')}, 1);
    ASSERT_TRUE(log->append(batch));
  }
  std::string& content = dir->content(kFirst);
  ASSERT_EQ(content.substr(504, 8), std::string("\0\0\0\0\0\0\0\1", 8));
  content[511] = 0;
  const auto recovered = recover_log(*dir, recovery_options());
  ASSERT_TRUE(recovered) << recovered.error().what;
  EXPECT_EQ(recovered->log_end_offset, Offset{1});
  EXPECT_EQ(dir->content(kFirst).size(), 504U);
}

// A broker's own directory, stopped cleanly: nothing is scanned, and appends go on behind it.
TEST(LogRecoveryTest, ABrokersCleanDirectoryIsTakenOver) {
  const std::string original = std::string(OFFSETFS_FIXTURES) + "/logs/clean/";
  const TempDir temp;
  for (const std::string name :
       {"seg-demo-0", ".kafka_cleanshutdown", "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint", "replication-offset-checkpoint"})
    files::copy(original + name, temp / name, files::copy_options::recursive);
  const auto backend = test_backend();
  const auto log_dir =
      storage::LogDirWriter::open(PosixWriteDir::open(temp.path(), backend).value(), std::nullopt)
          .value();
  storage::RecoveryReport report;
  const auto log = LogWriter::open(PosixWriteDir::open(temp / "seg-demo-0", backend).value(),
                                   log_dir, {"seg-demo", 0}, LogWriter::Options{}, &report);
  ASSERT_TRUE(log) << log.error().what;
  EXPECT_TRUE(report.was_clean);
  EXPECT_EQ(report.to_string(), "");
  std::string batch = make_batch({"x"}, 1900000000000);
  EXPECT_EQ((*log)->append(batch)->base_offset, Offset{4000});
  ASSERT_TRUE((*log)->close());
  EXPECT_TRUE(log_dir->close().value());
  for (const auto& entry : files::directory_iterator(original + "seg-demo-0")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("00000000000000003015.")) continue;  // what grew
    EXPECT_TRUE(read_file(temp / ("seg-demo-0/" + name)) == read_file(entry.path())) << name;
  }
}

// Whatever a killed broker left is recovered from its own recovery points, and nothing is lost.
TEST(LogRecoveryTest, AKilledBrokersLogsAreRecoveredAndNothingIsCut) {
  const std::string original = std::string(OFFSETFS_FIXTURES) + "/logs/killed/";
  const auto recovery_points =
      storage::parse_offset_checkpoint(read_file(original + storage::kRecoveryPointCheckpoint),
                                       "recovery points")
          .value();
  const auto log_starts = storage::parse_offset_checkpoint(
                              read_file(original + storage::kLogStartOffsetCheckpoint), "starts")
                              .value();
  for (const auto& [topic, end] :
       std::vector<std::pair<std::string, std::int64_t>>{{"seg-demo", 7000},
                                                         {"a1.segments2", 40},
                                                         {"codec-zstd", 1500},
                                                         {"compacted", 9001},
                                                         {"trimmed", 3000},
                                                         {"txn", 393},
                                                         {"orders", 900}}) {
    const TempDir temp;
    for (const auto& entry : files::directory_iterator(original + topic + "-0")) {
      const std::string name = entry.path().filename();
      if (name.ends_with(".log")) files::copy_file(entry.path(), temp / name);
      if (name.ends_with(".snapshot")) files::copy_file(entry.path(), temp / name);
    }
    RecoveryOptions options;
    const auto found = recovery_points.find({topic, 0});
    if (found != recovery_points.end()) options.recovery_point = found->second;
    const auto start = log_starts.find({topic, 0});
    if (start != log_starts.end()) options.log_start_offset = start->second;
    const auto dir = PosixWriteDir::open(temp.path(), test_backend()).value();
    const auto log = recover_log(*dir, options);
    ASSERT_TRUE(log) << topic << ": " << log.error().what;
    EXPECT_TRUE(log->report.cuts.empty()) << log->report.to_string();
    EXPECT_EQ(log->log_end_offset, Offset{end}) << topic;
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

TEST(LogRecoveryTest, OfTheSnapshotsThatCleanStopsLeaveTheLastOneStays) {
  const auto dir = std::make_shared<CrashingDir>(1);
  const auto snapshots = [&] {
    std::vector<std::string> names;
    for (const auto& [name, content] : dir->contents())
      if (name.ends_with(".snapshot")) names.push_back(name);
    return names;
  };
  for (int life = 0; life < 5; ++life) {
    const auto log = open_log(dir, writer_options());
    std::string batch = make_batch({"a"}, 1, 7);
    ASSERT_TRUE(log->append(batch));
    if (life == 2) {
      ASSERT_TRUE(log->roll());
    }
    ASSERT_TRUE(log->append(batch));
    ASSERT_TRUE(log->close());
  }
  ASSERT_TRUE(open_log(dir, writer_options()));
  EXPECT_THAT(snapshots(), testing::ElementsAre("00000000000000000005.snapshot",
                                                "00000000000000000010.snapshot"));
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

// The originals bear `.deleted` by then: they are the only copy that is left.
TEST(LogRecoveryTest, ADamagedResultOfACompactionCostsNoOriginal) {
  for (const std::size_t byte : {std::size_t{17}, std::size_t{250}, std::size_t{700}}) {
    const auto dir = ten_batches();
    const std::string whole = dir->content(kFirst);
    const std::string swap = std::string(kFirst) + ".swap",
                      original = std::string(kFirst) + ".deleted";
    ASSERT_TRUE(dir->rename(kFirst, original));
    ASSERT_TRUE(dir->open(swap, storage::WriteDir::Open::kFresh));
    dir->content(swap) = whole;
    dir->content(swap)[byte] ^= 1;
    const auto before = dir->contents();
    const auto refused = recover_log(*dir, recovery_options());
    ASSERT_FALSE(refused) << byte;
    EXPECT_EQ(refused.error().code, Errc::kCorrupt);
    EXPECT_THAT(refused.error().what,
                testing::HasSubstr("what it was made from is in " + original));
    EXPECT_TRUE(dir->contents() == before);

    ASSERT_TRUE(dir->unlink(swap));
    ASSERT_TRUE(dir->rename(original, kFirst));
    const auto cured = recover_log(*dir, recovery_options());
    ASSERT_TRUE(cured) << cured.error().what;
    EXPECT_EQ(cured->log_end_offset, Offset{10});
    EXPECT_EQ(dir->content(kFirst), whole);
  }
}

// A machine whose power goes again and again, and what it must still know after each time: all
// records up to the last flush() that was acknowledged, each whole and as it was sent, at unbroken
// offsets from the log's start on.
class Machine {
 public:
  explicit Machine(std::uint64_t seed)
      : random_(seed),
        dir_(std::make_shared<CrashingDir>(seed)),
        log_dir_files_(std::make_shared<CrashingDir>(~seed)) {}

  void run() {
    for (int life = 0; life < 3 && !::testing::Test::HasFatalFailure(); ++life) {
      if (random_() % 2 == 0) dir_->stop_after(static_cast<int>(random_() % 120));
      if (random_() % 4 == 0) log_dir_files_->stop_after(static_cast<int>(random_() % 30));
      live();
      dir_->cut_power();
      log_dir_files_->cut_power();
    }
    if (!::testing::Test::HasFatalFailure()) expect_recovery_is_idempotent();
  }

 private:
  void live() {
    const auto options = writer_options(96 + 12 * static_cast<std::int64_t>(random_() % 8));
    log_dir_ = storage::LogDirWriter::open(log_dir_files_, std::nullopt).value_or(nullptr);
    if (!log_dir_) return;
    auto opened = LogWriter::open(dir_, log_dir_, {"orders", 0}, options, nullptr);
    if (!opened) {
      ASSERT_EQ(opened.error().sys_errno, EIO) << opened.error().what;  // stopped while recovering
      return;
    }
    LogWriter& log = **opened;
    expect_unbroken(log.log_start_offset(), log.log_end_offset());
    sent_.resize(static_cast<std::size_t>(log.log_end_offset().value));
    for (int i = static_cast<int>(random_() % 40); i > 0; --i)
      if (!step(log)) return;
  }

  // False when the machine has stopped.
  bool step(LogWriter& log) {
    const auto what = random_() % 32;
    if (what == 0) {
      const auto end = random_() % (sent_.size() + 1);
      // Gone for good only when acknowledged, but any part of it may have happened.
      may_start_ = std::max(may_start_, static_cast<std::int64_t>(end));
      // A disk that is full for this only is no reason to stop.
      const bool full = random_() % 2 == 0;
      if (full) dir_->fail_after(static_cast<std::int64_t>(random_() % 80), ENOSPC);
      std::vector<std::string> renamed;
      const auto removed = log.remove_segments({static_cast<std::int64_t>(end)}, renamed);
      if (full) dir_->fail_after(-1, 0);
      if (!removed && removed.error().sys_errno != ENOSPC) return false;
    } else if (what == 1) {
      if (!log.close()) return false;
      synced_ = static_cast<std::int64_t>(sent_.size());
      if (random_() % 2 == 0) (void)log_dir_->close().has_value();
      return false;
    } else if (what == 2) {
      if (!log.checkpoint_offsets()) return false;
    } else if (what < 8) {
      if (!log.flush()) return false;
      synced_ = static_cast<std::int64_t>(sent_.size());
    } else {
      std::string batch =
          make_batch({std::string(random_() % 900, static_cast<char>('a' + sent_.size() % 26))},
                     1000 + static_cast<std::int64_t>(sent_.size()));
      const auto appended = log.append(batch);
      // One that failed may have reached the disk: it is what may stand there, or nothing.
      sent_.push_back(batch);
      if (!appended) return false;
    }
    synced_ = std::max(synced_, log.recovery_point().value);
    return true;
  }

  void expect_unbroken(Offset start, Offset end) {
    std::string all;
    for (const auto& [name, content] : dir_->contents())
      if (name.ends_with(".log")) all += content;
    const auto batches = split_batches(all);
    ASSERT_LE(start.value, may_start_);
    ASSERT_GE(end.value, synced_);
    ASSERT_LE(end.value, static_cast<std::int64_t>(sent_.size()));
    ASSERT_EQ(end - start, static_cast<std::int64_t>(batches.size()));
    for (std::size_t i = 0; i < batches.size(); ++i)
      ASSERT_EQ(batches[i], sent_[static_cast<std::size_t>(start.value) + i]) << i;
  }

  void expect_recovery_is_idempotent() {
    const auto once = recover_log(*dir_, recovery_options());
    ASSERT_TRUE(once) << once.error().what;
    expect_unbroken(once->log_start_offset, once->log_end_offset);
    const auto before = dir_->contents();
    const auto twice = recover_log(*dir_, recovery_options());
    ASSERT_TRUE(twice);
    EXPECT_EQ(twice->report.to_string(), "");
    EXPECT_TRUE(dir_->contents() == before);
  }

  std::mt19937_64 random_;
  const std::shared_ptr<CrashingDir> dir_;
  const std::shared_ptr<CrashingDir> log_dir_files_;
  std::shared_ptr<storage::LogDirWriter> log_dir_;
  std::vector<std::string> sent_;  // by offset
  std::int64_t synced_ = 0;
  std::int64_t may_start_ = 0;
};

TEST(LogRecoveryPropertyTest, NoPowerCutLosesASyncedRecordOrLeavesAHalfOne) {
  const std::uint64_t first = std::random_device{}();
  std::printf("seeds %llu and up\n", static_cast<unsigned long long>(first));
  for (std::uint64_t i = 0; i < 1000 && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("seed " + std::to_string(first + i));
    Machine(first + i).run();
  }
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
