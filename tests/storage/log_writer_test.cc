#include "storage/log_writer.h"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/batch_builder.h"
#include "storage/log_dir.h"
#include "storage/partition_metadata.h"
#include "tests/support/crashing_dir.h"
#include "tests/support/log_builder.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_backend.h"
#include "tests/support/written_log.h"

namespace offsetfs::tests {
namespace {

namespace files = std::filesystem;
using storage::Errc;
using storage::LeaderEpoch;
using storage::LogDirWriter;
using storage::LogWriter;
using storage::Offset;
using storage::PosixWriteDir;
using storage::TimestampMs;

// Every file of a partition directory by name.
std::map<std::string, std::string> files_of(const std::string& dir) {
  std::map<std::string, std::string> found;
  for (const auto& entry : files::directory_iterator(dir))
    found[entry.path().filename()] = read_file(entry.path());
  return found;
}

std::shared_ptr<PosixWriteDir> posix(const std::string& path) {
  return PosixWriteDir::open(path, test_backend()).value();
}

// Strips the batches of a partition that a broker wrote and appends them again, under the same
// settings: the same files must come out, byte for byte.
void expect_same_history(const std::string& topic, std::int64_t segment_ms,
                         std::int64_t segment_bytes) {
  const std::string original = std::string(OFFSETFS_FIXTURES) + "/logs/clean/" + topic + "-0";
  auto expected = files_of(original);
  const TempDir temp;
  temp.make_dir(topic + "-0");
  LogWriter::Options options;
  options.config.segment_ms = segment_ms;
  options.config.segment_bytes = segment_bytes;
  options.topic_id =
      storage::parse_partition_metadata(expected.at("partition.metadata"), "m")->topic_id;
  auto opened =
      LogWriter::open(posix(temp / (topic + "-0")), nullptr, {topic, 0}, options, nullptr);
  ASSERT_TRUE(opened) << opened.error().what;
  for (const auto& [name, content] : expected) {
    if (!name.ends_with(".log")) continue;
    for (const auto& batch : split_batches(content)) {
      std::string sent = stripped(batch);
      const auto appended = (*opened)->append(sent);
      ASSERT_TRUE(appended) << appended.error().what;
      ASSERT_EQ(sent, batch);
    }
  }
  ASSERT_TRUE((*opened)->close());
  const auto written = files_of(temp / (topic + "-0"));
  for (const auto& [name, content] : expected) {
    ASSERT_TRUE(written.contains(name)) << name;
    EXPECT_TRUE(written.at(name) == content)
        << name << ": " << written.at(name).size() << " bytes, a broker's has " << content.size();
  }
  EXPECT_EQ(written.size(), expected.size());
}

TEST(LogWriterHistoryTest, FourThousandRecordsInSegmentsOfOneMebibyteAreABrokersFiles) {
  expect_same_history("seg-demo", 604800000, 1 << 20);
}

TEST(LogWriterHistoryTest, SegmentsRolledByTheTimeOfTheirMessagesAreABrokersFiles) {
  expect_same_history("a1.segments2", 5000, 1 << 30);
}

TEST(LogWriterTest, LessThanAMebibyteASegmentIsRefusedInKafkasWords) {
  auto options = writer_options();
  options.config.segment_bytes = 1048575;
  const auto log =
      LogWriter::open(std::make_shared<CrashingDir>(1), nullptr, {"t", 0}, options, nullptr);
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, Errc::kInvalid);
  EXPECT_EQ(
      log.error().what,
      "Invalid value 1048575 for configuration segment.bytes: Value must be at least 1048576");
}

TEST(LogWriterTest, ABatchThatIsNotWholeIsRefusedAndChangesNothing) {
  const auto dir = std::make_shared<CrashingDir>(1);
  auto options = writer_options();
  options.config.max_message_bytes = 4096;
  const auto log = open_log(dir, options);
  const std::string good = make_batch({"a", "b"}, 1);
  std::string flipped = good;
  flipped[70] ^= 1;
  EXPECT_EQ(log->append(flipped).error().code, Errc::kInvalid);
  std::string cut = good.substr(0, good.size() - 1);
  EXPECT_EQ(log->append(cut).error().code, Errc::kInvalid);
  std::string twice = good + good;
  EXPECT_EQ(log->append(twice).error().code, Errc::kInvalid);
  std::string large = make_batch({std::string(5000, 'x')}, 1);
  EXPECT_EQ(log->append(large).error().code, Errc::kTooLarge);
  EXPECT_EQ(log->log_end_offset(), Offset{0});
  std::string batch = good;
  EXPECT_EQ(log->append(batch)->last_offset, Offset{1});
}

// Its CRC is good, its records are not: what is read before the bad one says nothing of the rest.
TEST(LogWriterTest, ACompactedLogRefusesABatchThatCanNotBeRead) {
  auto options = writer_options();
  options.config.cleanup_policy = {.compact = true, .remove = false};
  const auto log = open_log(std::make_shared<CrashingDir>(1), options);
  storage::BatchBuilder builder;
  builder.add({1}, "key", "one");
  builder.add({1}, "key", "two");
  std::string batch = builder.build();
  batch[batch.size() - 13] ^= 2;            // the length of the second record
  storage::assign_append_time(batch, {1});  // sums it anew
  const auto refused = log->append(batch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kInvalid);
  EXPECT_EQ(log->log_end_offset(), Offset{0});
}

TEST(LogWriterTest, AFullSegmentMayBeExactlyFullAndOneByteMoreRolls) {
  auto options = writer_options(120000);
  const auto log = open_log(std::make_shared<CrashingDir>(1), options);
  const std::size_t overhead = make_batch({std::string(500000, 'x')}, 1).size() - 500000;
  const std::string half = make_batch({std::string(524288 - overhead, 'x')}, 1);
  ASSERT_EQ(half.size(), 524288U);
  std::string batch = half;
  EXPECT_FALSE(log->append(batch)->rolled);
  batch = half;
  EXPECT_FALSE(log->append(batch)->rolled);
  batch = make_batch({"x"}, 1);
  EXPECT_TRUE(log->append(batch)->rolled);
  EXPECT_EQ(log->segments().back().base_offset, Offset{2});
}

TEST(LogWriterTest, MessageTimeRollsStrictlyAfterSegmentMs) {
  auto options = writer_options();
  options.config.segment_ms = 2000;
  const auto log = open_log(std::make_shared<CrashingDir>(1), options);
  for (const auto& [time, rolls] : std::vector<std::pair<std::int64_t, bool>>{
           {10000, false}, {12000, false}, {5000, false}, {12001, true}, {14001, false}}) {
    std::string batch = make_batch({"x"}, time);
    EXPECT_EQ(log->append(batch)->rolled, rolls) << time;
  }
}

TEST(LogWriterTest, AFullTimeIndexRollsWithOneSlotKeptForTheRoll) {
  auto options = writer_options(48);  // four time entries, of which three come by appends
  options.config.index_interval_bytes = 0;
  const auto dir = std::make_shared<CrashingDir>(1);
  const auto log = open_log(dir, options);
  int rolled_at = -1;
  for (int i = 0; i < 8 && rolled_at < 0; ++i) {
    std::string batch = make_batch({"x"}, 1000 + i);
    if (log->append(batch)->rolled) rolled_at = i;
  }
  EXPECT_EQ(rolled_at, 4);  // the first batch gets no entry
  EXPECT_EQ(dir->content("00000000000000000000.timeindex").size(), 36U);
  EXPECT_EQ(dir->content("00000000000000000000.index").size(), 24U);
  EXPECT_EQ(dir->content("00000000000000000004.index").size(), 48U);
}

TEST(LogWriterTest, APreallocatedSegmentIsZerosUpToTheRollAndTheEnd) {
  const auto dir = std::make_shared<CrashingDir>(1);
  auto options = writer_options();
  options.config.preallocate = true;
  auto log = open_log(dir, options);
  const std::string first = "00000000000000000000.log", second = "00000000000000000001.log";
  EXPECT_EQ(dir->content(first).size(), 1U << 20);
  std::string batch = make_batch({"a"}, 1);
  ASSERT_TRUE(log->append(batch));
  EXPECT_EQ(dir->content(first).size(), 1U << 20);
  ASSERT_TRUE(log->roll());
  EXPECT_EQ(dir->content(first).size(), batch.size());
  EXPECT_EQ(dir->content(second).size(), 1U << 20);
  ASSERT_TRUE(log->append(batch));

  // A crash leaves the zeros: they are no records, and recovery cuts them off.
  log = open_log(dir, options);
  EXPECT_EQ(dir->content(second).size(), batch.size());
  EXPECT_EQ(log->log_end_offset(), Offset{2});
  ASSERT_TRUE(log->append(batch));
  ASSERT_TRUE(log->close());
  EXPECT_EQ(dir->content(second).size(), 2 * batch.size());
}

TEST(LogWriterTest, FlushMessagesAndFlushMsMoveTheRecoveryPoint) {
  auto options = writer_options();
  auto now = std::make_shared<TimestampMs>(TimestampMs{1000});
  options.now = [now] { return *now; };
  options.config.flush_messages = 3;
  options.config.flush_ms = 50;
  const auto log = open_log(std::make_shared<CrashingDir>(1), options);
  const auto append = [&] {
    std::string batch = make_batch({"a"}, 1);
    ASSERT_TRUE(log->append(batch));
  };
  append();
  append();
  EXPECT_EQ(log->recovery_point(), Offset{0});
  append();
  EXPECT_EQ(log->recovery_point(), Offset{3});
  append();
  *now = *now + 49;
  ASSERT_TRUE(log->flush_if_due(*now));
  EXPECT_EQ(log->recovery_point(), Offset{3});
  *now = *now + 1;
  ASSERT_TRUE(log->flush_if_due(*now));
  EXPECT_EQ(log->recovery_point(), Offset{4});
}

TEST(LogWriterTest, AppendTimeIsTheClocksAndTheEpochOnesOwn) {
  auto options = writer_options();
  options.config.log_append_time = true;
  options.leader_epoch = LeaderEpoch{7};
  const auto dir = std::make_shared<CrashingDir>(1);
  const auto log = open_log(dir, options);
  std::string batch = make_batch({"x"}, 5);
  ASSERT_TRUE(log->append(batch));
  storage::BatchHeader header;
  ASSERT_EQ(parse_batch_header(batch, header, nullptr), storage::HeaderStatus::kOk);
  EXPECT_EQ(header.max_timestamp, TimestampMs{1700000000000});
  EXPECT_EQ(header.timestamp_type(), storage::TimestampType::kLogAppendTime);
  EXPECT_EQ(header.leader_epoch, LeaderEpoch{7});
  EXPECT_EQ(compute_batch_crc(header, batch), header.crc);
  EXPECT_EQ(dir->content("leader-epoch-checkpoint"), "0\n1\n7 0\n");
}

// Whatever byte the disk is full at.
TEST(LogWriterTest, AFullDiskInMidAppendLeavesTheLogWholeAndTheNextAppendGoesOn) {
  for (std::int64_t room = 0; room < 420; room += 7) {
    const auto dir = std::make_shared<CrashingDir>(1);
    auto options = writer_options();
    options.config.index_interval_bytes = 0;
    const auto log = open_log(dir, options);
    std::string batch = make_batch({"first"}, 1);
    ASSERT_TRUE(log->append(batch));
    dir->fail_after(room, ENOSPC);
    std::int64_t taken = 0;
    for (int i = 0; i < 4; ++i) {
      batch = make_batch({"more " + std::to_string(i)}, 2 + i);
      const auto appended = log->append(batch);
      if (appended) {
        ++taken;
        continue;
      }
      EXPECT_EQ(appended.error().code, Errc::kIo);
      EXPECT_EQ(appended.error().sys_errno, ENOSPC);
      break;
    }
    const std::string& content = dir->content("00000000000000000000.log");
    EXPECT_EQ(split_batches(content).size(), static_cast<std::size_t>(taken + 1)) << room;
    dir->fail_after(-1, 0);
    batch = make_batch({"after"}, 9);
    EXPECT_EQ(log->append(batch)->base_offset, Offset{taken + 1});
    ASSERT_TRUE(log->close());
    EXPECT_EQ(dir->content("00000000000000000000.index").size(),
              static_cast<std::size_t>(taken + 1) * 8);
  }
}

TEST(LogWriterTest, FourThreadsNeverInterleaveWithinABatch) {
  const TempDir temp;
  temp.make_dir("orders-0");
  const auto log = open_log(posix(temp / "orders-0"), writer_options(120000));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        std::string batch = make_batch({std::to_string(t), std::to_string(i), "end"}, 1000 + i);
        EXPECT_TRUE(log->append(batch));
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(log->log_end_offset(), Offset{1200});
  ASSERT_TRUE(log->close());
  EXPECT_EQ(split_batches(read_file(temp / "orders-0/00000000000000000000.log")).size(), 400U);
}

TEST(LogWriterTest, WhatWasWrittenReadsBackEqual) {
  const TempDir temp;
  temp.make_dir("orders-0");
  const auto log = open_log(posix(temp / "orders-0"), writer_options(120));
  for (int i = 0; i < 300; ++i) {
    std::string batch = make_batch({"a" + std::to_string(i), "b" + std::to_string(i)}, 1000 + i);
    ASSERT_TRUE(log->append(batch));
  }
  ASSERT_TRUE(log->close());
  EXPECT_GT(log->segments().size(), 3U);
  const auto source = storage::LogDir::open({temp / "orders-0"}, test_backend(), {});
  ASSERT_TRUE(source) << source.error().what;
  const auto read = (*source)->open((*source)->partitions()->front().id).value();
  EXPECT_EQ(read->offsets()->log_end_offset, Offset{600});
  for (int i = 0; i < 600; ++i) {
    const auto found = read->find({i}).value();
    ASSERT_EQ(found.outcome, storage::RecordLookup::Outcome::kPresent) << i;
    EXPECT_EQ(*found.record.value, (i % 2 == 0 ? "a" : "b") + std::to_string(i / 2));
  }
  EXPECT_EQ(read->find_time({1150})->kafka, Offset{300});
}

// The same by a real kernel, which writes the part that fits.
TEST(LogWriterTest, AFileThatMayNotGrowIsCutBackToItsLastWholeBatch) {
  const TempDir temp;
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::signal(SIGXFSZ, SIG_IGN);
    auto options = writer_options(1200);
    options.config.index_interval_bytes = 1 << 20;
    const auto log = open_log(posix(temp.path()), options);
    std::string batch = make_batch({std::string(700, 'x')}, 1, 5);
    if (!log->append(batch)) ::_exit(2);
    const auto size = batch.size();
    const struct rlimit little { 2 * size + size / 2, RLIM_INFINITY };
    ::setrlimit(RLIMIT_FSIZE, &little);
    if (!log->append(batch)) ::_exit(3);
    const auto refused = log->append(batch);
    if (refused || refused.error().sys_errno != EFBIG) ::_exit(4);
    if (files::file_size(temp / "00000000000000000000.log") != 2 * size) ::_exit(5);
    const struct rlimit none { RLIM_INFINITY, RLIM_INFINITY };
    ::setrlimit(RLIMIT_FSIZE, &none);
    if (!log->append(batch) || !log->close()) ::_exit(6);
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(split_batches(read_file(temp / "00000000000000000000.log")).size(), 3U);
}

// Who asked for the sync that failed is one thing, who is told that nothing was lost another.
TEST(LogWriterTest, AfterASyncThatFailedNothingIsCalledDurableAnyMore) {
  struct Row {
    const char* what;
    std::function<void(CrashingDir&, LogWriter&)> fail;
  };
  for (const auto& [what, fail] : std::initializer_list<Row>{
           {"flush",
            [](CrashingDir&dir, LogWriter&log) {
              dir.stop_after(0);
              EXPECT_FALSE(log.flush());
            }},
           {"flush.ms",
            [](CrashingDir&dir, LogWriter&log) {
              dir.stop_after(0);
              EXPECT_FALSE(log.flush_if_due({INT64_MAX}));
            }},
           {"flush.messages",
            [](CrashingDir&dir, LogWriter&log) {
              std::string batch = make_batch({"b", "c"}, 1);
              dir.stop_after(1);  // the index interval is not reached: one write, then the sync
              const auto appended = log.append(batch);
              ASSERT_FALSE(appended);
              EXPECT_EQ(appended.error().code, Errc::kReadOnly);
            }},
           {"a roll",
            [](CrashingDir&dir, LogWriter&log) {
              dir.stop_after(1);  // the segment is trimmed, then synced
              EXPECT_FALSE(log.roll());
            }},
           {"close",
            [](CrashingDir&dir, LogWriter&log) {
              dir.stop_after(1);
              EXPECT_FALSE(log.close());
            }},
       }) {
    SCOPED_TRACE(what);
    const auto dir = std::make_shared<CrashingDir>(1);
    const auto log_dir_files = std::make_shared<CrashingDir>(2);
    const auto log_dir = LogDirWriter::open(log_dir_files, std::nullopt).value();
    auto options = writer_options();
    options.config.flush_messages = 3;
    options.config.flush_ms = 1;
    const auto log = LogWriter::open(dir, log_dir, {"orders", 0}, options, nullptr).value();
    std::string batch = make_batch({"a"}, 1);
    ASSERT_TRUE(log->append(batch));
    fail(*dir, *log);
    dir->stop_after(-1);

    EXPECT_FALSE(log->flush());
    EXPECT_FALSE(log->flush_if_due({INT64_MAX}));
    const auto appended = log->append(batch);
    ASSERT_FALSE(appended);
    EXPECT_EQ(appended.error().code, Errc::kReadOnly);
    EXPECT_FALSE(log->roll());
    EXPECT_FALSE(log->close());
    EXPECT_EQ(log->recovery_point(), Offset{0});
    EXPECT_FALSE(log_dir->close().value());
    EXPECT_FALSE(log_dir_files->info(".kafka_cleanshutdown"));
  }
}

TEST(LogWriterTest, NothingIsWrittenIntoASegmentThatSomebodyRemoved) {
  for (const bool append_first : {false, true}) {
    const TempDir temp;
    temp.make_dir("orders-0");
    const auto log = open_log(posix(temp / "orders-0"), writer_options());
    std::string batch = make_batch({"a"}, 1);
    ASSERT_TRUE(log->append(batch));
    files::remove_all(temp / "orders-0");
    if (append_first) {
      EXPECT_EQ(log->append(batch).error().code, Errc::kReadOnly);
    }
    const auto flushed = log->flush();
    ASSERT_FALSE(flushed);
    EXPECT_EQ(flushed.error().code, Errc::kIo);
    EXPECT_EQ(flushed.error().sys_errno, ESTALE);
    EXPECT_NE(flushed.error().what.find("orders-0/00000000000000000000.log: was removed while"),
              std::string::npos)
        << flushed.error().what;
    EXPECT_EQ(log->append(batch).error().code, Errc::kReadOnly);
    EXPECT_FALSE(log->close());
  }
}

TEST(LogWriterTest, ABatchThatWasNotWrittenIsUnknownOfItsProducerToo) {
  std::map<std::string, std::string> snapshots[2];
  for (const bool with_failure : {false, true}) {
    const auto dir = std::make_shared<CrashingDir>(1);
    const auto log = open_log(dir, writer_options());
    for (const std::int64_t producer : {5, 6}) {
      std::string batch = make_batch({"a", "b"}, 1000, producer);
      ASSERT_TRUE(log->append(batch));
    }
    if (with_failure) {
      for (const std::int64_t producer : {5, 7}) {
        dir->fail_after(10, ENOSPC);
        std::string batch = make_batch({"a", "b", "c"}, 2000, producer);
        ASSERT_FALSE(log->append(batch));
        dir->fail_after(-1, 0);
      }
    }
    ASSERT_TRUE(log->close());
    snapshots[with_failure ? 1 : 0] = dir->contents();
  }
  EXPECT_TRUE(snapshots[0] == snapshots[1]);
}

// The disk is full when the new segment is made: the old one goes on, and nothing lies in its way.
TEST(LogWriterTest, ARollThatFailsLeavesNoSegmentBehind) {
  for (std::int64_t room = 0; room < 60; room += 4) {
    const auto dir = std::make_shared<CrashingDir>(1);
    auto options = writer_options();
    options.config.segment_ms = 10;
    const auto log = open_log(dir, options);
    std::string batch = make_batch({"first"}, 1000);
    ASSERT_TRUE(log->append(batch));
    dir->fail_after(room, ENOSPC);
    batch = make_batch({"second"}, 2000);
    const bool failed = !log->append(batch);
    dir->fail_after(-1, 0);
    EXPECT_TRUE(failed);
    batch = make_batch({"third"}, 2000);
    EXPECT_EQ(log->append(batch)->base_offset, Offset{1});
    ASSERT_TRUE(log->close());
    const auto again = open_log(dir, options);
    EXPECT_EQ(again->log_end_offset(), Offset{2});
  }
}

TEST(LogDirWriterTest, ALogThatWasOpenedAndNotClosedIsNotCleanTheNextTime) {
  const auto files_of_dir = std::make_shared<CrashingDir>(1);
  ASSERT_TRUE(files_of_dir->replace(".kafka_cleanshutdown", ""));
  const auto log_dir = LogDirWriter::open(files_of_dir, std::nullopt).value();
  EXPECT_TRUE(log_dir->opened({"orders", 0}));
  EXPECT_FALSE(log_dir->opened({"orders", 0}));
  log_dir->closed_cleanly({"orders", 0});
  EXPECT_TRUE(log_dir->opened({"orders", 0}));
  EXPECT_FALSE(log_dir->close().value());
}

TEST(LogDirWriterTest, TheHighWatermarkCoversNothingThatAPowerCutCouldTake) {
  const auto files_of_dir = std::make_shared<CrashingDir>(1);
  const auto log_dir = LogDirWriter::open(files_of_dir, std::nullopt).value();
  const auto log = LogWriter::open(std::make_shared<CrashingDir>(2), log_dir, {"orders", 0},
                                   writer_options(), nullptr)
                       .value();
  std::string batch = make_batch({"a", "b"}, 1);
  ASSERT_TRUE(log->append(batch));
  ASSERT_TRUE(log->checkpoint_offsets());
  EXPECT_EQ(files_of_dir->content("replication-offset-checkpoint"), "0\n1\norders 0 0\n");
  ASSERT_TRUE(log->flush());
  ASSERT_TRUE(log->checkpoint_offsets());
  EXPECT_EQ(files_of_dir->content("replication-offset-checkpoint"), "0\n1\norders 0 2\n");
}

TEST(LogDirWriterTest, TheCleanMarkComesBackOnlyWhereItIsTrueForEveryPartition) {
  const TempDir temp;
  temp.make_dir("orders-0");
  temp.make_dir("other-0");
  temp.write("recovery-point-offset-checkpoint", "0\n1\nother 0 0\n");
  const auto once = [&](bool with_other) {
    const auto log_dir = LogDirWriter::open(posix(temp.path()), std::nullopt).value();
    for (const std::string topic : {"orders", "other"}) {
      if (topic == "other" && !with_other) continue;
      auto log = LogWriter::open(posix(temp / (topic + "-0")), log_dir, {topic, 0},
                                 writer_options(), nullptr);
      EXPECT_TRUE(log) << log.error().what;
      EXPECT_FALSE(files::exists(temp / ".kafka_cleanshutdown"));
      std::string batch = make_batch({"x"}, 1);
      EXPECT_TRUE((*log)->append(batch));
      EXPECT_TRUE((*log)->close());
    }
    return log_dir->close().value();
  };
  EXPECT_FALSE(once(false));  // nobody knows how `other` was left
  EXPECT_EQ(read_file(temp / "recovery-point-offset-checkpoint"), "0\n2\norders 0 1\nother 0 0\n");
  EXPECT_TRUE(once(true));
  EXPECT_EQ(read_file(temp / ".kafka_cleanshutdown"), R"({"version":0,"brokerEpoch":-1})");
  EXPECT_TRUE(once(false));  // clean before, and so still
  EXPECT_EQ(read_file(temp / "recovery-point-offset-checkpoint"), "0\n2\norders 0 3\nother 0 1\n");
}

}  // namespace
}  // namespace offsetfs::tests
