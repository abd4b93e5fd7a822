#include "storage/log_compaction.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/batch_builder.h"
#include "storage/compaction_filter.h"
#include "storage/offset_checkpoint.h"
#include "storage/record_batch.h"
#include "storage/segment_files.h"
#include "tests/support/crashing_dir.h"
#include "tests/support/golden_batches.h"
#include "tests/support/hex.h"
#include "tests/support/written_log.h"

namespace offsetfs::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::CrashingDir;
using tests::hex;
using tests::open_log;

constexpr TimestampMs kStart{1'700'000'000'000};

struct Rec {
  std::int64_t offset = 0;
  std::int64_t time = 0;
  std::optional<std::string> key, value;
  std::int64_t batch = 0;  // base offset of its batch
  friend bool operator==(const Rec&, const Rec&) = default;
  friend void PrintTo(const Rec& rec, std::ostream* out) {
    *out << rec.offset << " " << rec.key.value_or("-") << (rec.value ? "=..." : "=null");
  }
};

std::vector<BatchHeader> headers_in(const CrashingDir& dir) {
  std::vector<BatchHeader> headers;
  for (const auto& [name, content] : dir.contents()) {
    if (!name.ends_with(".log")) continue;
    std::string log = content;
    // A preallocated one does not occur here: batches are all there is.
    for (const auto& batch : tests::split_batches(log)) {
      BatchHeader header;
      EXPECT_EQ(parse_batch_header(batch, header, nullptr), HeaderStatus::kOk);
      headers.push_back(header);
    }
  }
  return headers;
}

// Of all plain `.log` files, in order. Control records are left out.
std::vector<Rec> records_in(const CrashingDir& dir) {
  std::vector<Rec> records;
  std::int64_t next = 0;
  for (const auto& [name, content] : dir.contents()) {
    if (!name.ends_with(".log")) continue;
    for (const auto& entry : tests::split_batches(content)) {
      const auto batch = DecodedBatch::decode(entry);
      EXPECT_TRUE(batch) << name;
      if (!batch) continue;
      const BatchHeader& header = (*batch)->header();
      EXPECT_GE(header.base_offset.value, next);
      next = header.next_offset().value;
      if (header.is_control()) continue;
      RecordReader reader = (*batch)->records();
      for (Record record; reader.next(record) == RecordReader::Step::kRecord;) {
        Rec rec{record.offset.value, record.timestamp.value, {}, {}, header.base_offset.value};
        if (record.key) rec.key.emplace(*record.key);
        if (record.value) rec.value.emplace(*record.value);
        records.push_back(std::move(rec));
      }
    }
  }
  return records;
}

// What a reader who replays the log ends up with.
std::map<std::string, std::string> state_of(const std::vector<Rec>& records) {
  std::map<std::string, std::string> state;
  for (const auto& rec : records) {
    if (!rec.key) continue;
    if (rec.value)
      state[*rec.key] = *rec.value;
    else
      state.erase(*rec.key);
  }
  return state;
}

LogWriter::Options compacted(std::int64_t index_bytes = 1200) {
  auto options = tests::writer_options(index_bytes);
  options.config.cleanup_policy = {.compact = true, .remove = false};
  options.allow_missing_keys = true;
  options.config.delete_retention_ms = 1000;
  options.config.file_delete_delay_ms = 0;
  return options;
}

// Appends what a seed makes: keys that come again, tombstones, records without a key, all codecs.
class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed) {}

  void append_segments(LogWriter& log, int segments, bool keyless = true) {
    for (int segment = 0; segment < segments; ++segment) {
      for (auto batches = 1 + random_() % 8; batches > 0; --batches) append_batch(log, keyless);
      ASSERT_TRUE(log.roll());
    }
  }

 private:
  void append_batch(LogWriter& log, bool keyless) {
    BatchBuilder::Options options;
    options.codec = static_cast<Codec>(random_() % 5);
    BatchBuilder builder(options);
    for (auto records = 1 + random_() % 12; records > 0; --records) {
      const std::string key = "key " + std::to_string(random_() % 60);
      const std::string value(random_() % 300, static_cast<char>('a' + random_() % 26));
      const bool has_key = !keyless || random_() % 20 != 0;
      builder.add(kStart + static_cast<std::int64_t>(random_() % 1000),
                  has_key ? std::optional<Bytes>(key) : std::nullopt,
                  random_() % 6 == 0 ? std::nullopt : std::optional<Bytes>(value));
    }
    ASSERT_TRUE(log.append(builder.finish()));
  }

  std::mt19937_64 random_;
};

// The rules once more, plainly.
class Model {
 public:
  std::vector<Rec> compact(const std::vector<Rec>& before, const LogCompaction::Run& run,
                           TimestampMs now) {
    std::map<std::string, std::int64_t> latest;
    for (const auto& rec : before)
      if (rec.key && rec.offset >= run.first_dirty.value && rec.offset < run.end.value)
        latest[*rec.key] = rec.offset;
    std::vector<Rec> kept;
    std::set<std::int64_t> batches_with_tombstones;
    for (const auto& rec : before) {
      if (rec.offset < run.end.value) {
        if (!rec.key) continue;
        const auto found = latest.find(*rec.key);
        if (found != latest.end() && rec.offset < found->second) continue;
        const auto horizon = horizons_.find(rec.batch);
        if (!rec.value && horizon != horizons_.end() && now.value >= horizon->second) continue;
      }
      if (!rec.value && rec.offset < run.end.value) batches_with_tombstones.insert(rec.batch);
      kept.push_back(rec);
    }
    for (const auto batch : batches_with_tombstones) horizons_.try_emplace(batch, now.value + 1000);
    return kept;
  }

 private:
  std::map<std::int64_t, std::int64_t> horizons_;
};

// What recovery makes of the sealed segments' indexes is what stands there already.
void expect_indexes_as_recovery_makes_them(const std::shared_ptr<CrashingDir>& dir,
                                           const LogWriter::Options& options) {
  const auto before = dir->contents();
  RecoveryReport report;
  const auto log = open_log(dir, options, &report);
  ASSERT_TRUE(log);
  EXPECT_THAT(report.cuts, IsEmpty());
  const auto segments = log->segments();
  const auto after = dir->contents();
  for (std::size_t i = 0; i + 1 < segments.size(); ++i)
    for (const auto file : {SegmentFile::kOffsetIndex, SegmentFile::kTimeIndex}) {
      const auto name = segment_file_name({segments[i].base_offset, file, SegmentSuffix::kNone});
      ASSERT_TRUE(before.contains(name) && after.contains(name)) << name;
      EXPECT_EQ(hex(before.at(name)), hex(after.at(name))) << name;
    }
}

TEST(LogCompactionTest, KeepsOfEveryKeyWhatTheRulesSayOverManyPasses) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto dir = std::make_shared<CrashingDir>(seed);
    const auto options = compacted();
    auto log = open_log(dir, options);
    History history(seed);
    Model model;
    LogCompaction compaction(*log);
    TimestampMs now = kStart;
    for (int pass = 0; pass < 4; ++pass) {
      history.append_segments(*log, 3);
      const auto before = records_in(*dir);
      const Offset end = log->log_end_offset();
      const auto run = compaction.run_at_once(now);
      ASSERT_TRUE(run) << run.error().what;
      ASSERT_TRUE(run->cleaned);
      EXPECT_EQ(run->end, end) << "the active segment is empty";
      EXPECT_EQ(log->log_end_offset(), end);
      EXPECT_EQ(records_in(*dir), model.compact(before, *run, now));
      EXPECT_EQ(state_of(records_in(*dir)), state_of(before));
      ASSERT_TRUE(compaction.unlink_due(now));
      for (const auto& [name, content] : dir->contents())
        if (const auto parsed = parse_segment_file(name)) {
          EXPECT_EQ(parsed->suffix, SegmentSuffix::kNone) << name;
        }
      now = now + 700;
    }
    log.reset();
    expect_indexes_as_recovery_makes_them(dir, options);
  }
}

TEST(LogCompactionTest, ATombstoneGoesInThePassAfterItsHorizonAndNotBefore) {
  const auto dir = std::make_shared<CrashingDir>(1);
  const auto log = open_log(dir, compacted());
  LogCompaction compaction(*log);
  const auto append = [&](const std::string& key, bool tombstone) {
    BatchBuilder builder;
    builder.add(kStart, Bytes(key), tombstone ? std::nullopt : std::optional<Bytes>("v"));
    ASSERT_TRUE(log->append(builder.finish()));
    ASSERT_TRUE(log->roll());
  };
  append("a", false);
  append("a", true);
  append("b", false);
  ASSERT_TRUE(compaction.run_at_once(kStart));
  EXPECT_EQ(records_in(*dir).front().offset, 1) << "the value is gone, its tombstone stays";
  ASSERT_TRUE(headers_in(*dir).front().has_delete_horizon());
  EXPECT_EQ(headers_in(*dir).front().base_timestamp, kStart + 1000);
  EXPECT_EQ(records_in(*dir).front().time, kStart.value);
  append("c", false);
  ASSERT_TRUE(compaction.run_at_once(kStart + 999));
  EXPECT_EQ(records_in(*dir).front().offset, 1);
  EXPECT_EQ(headers_in(*dir).front().base_timestamp, kStart + 1000) << "set once";
  append("d", false);
  ASSERT_TRUE(compaction.run_at_once(kStart + 1000));
  EXPECT_EQ(records_in(*dir).front().offset, 2);
}

TEST(LogCompactionTest, RunsOnlyWhereThePolicySaysAndEnoughIsDirty) {
  for (const bool compact : {false, true}) {
    const auto dir = std::make_shared<CrashingDir>(1);
    auto options = compacted();
    options.config.cleanup_policy = {.compact = compact, .remove = true};
    const auto log = open_log(dir, options);
    LogCompaction compaction(*log);
    History(1).append_segments(*log, 2);
    EXPECT_EQ(compaction.run(kStart)->cleaned, compact);
    EXPECT_FALSE(compaction.run(kStart)->cleaned) << "nothing is dirty";
  }
}

TEST(LogCompactionTest, KeysThatDoNotFitAreLeftToTheNextPass) {
  const auto dir = std::make_shared<CrashingDir>(1);
  const auto log = open_log(dir, compacted());
  LogCompaction::Options small;
  small.keys_bytes = 40 * 24;  // 36 keys of 60
  LogCompaction compaction(*log, small);
  History(3).append_segments(*log, 6);
  const auto state = state_of(records_in(*dir));
  int passes = 0;
  for (;; ++passes) {
    const auto run = compaction.run_at_once(kStart);
    ASSERT_TRUE(run) << run.error().what;
    if (!run->cleaned) break;
    EXPECT_GT(run->end, run->first_dirty);
    EXPECT_EQ(state_of(records_in(*dir)), state);
  }
  EXPECT_GT(passes, 1);

  small.keys_bytes = 2 * 24;
  LogCompaction hopeless(*log, small);
  History(4).append_segments(*log, 2);
  const auto before = dir->contents();
  const auto run = hopeless.run_at_once(kStart);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, Errc::kTooLarge);
  EXPECT_EQ(dir->contents(), before);
}

TEST(LogCompactionTest, DamageInTheWayIsSaidAndNothingIsTouched) {
  const auto dir = std::make_shared<CrashingDir>(1);
  const auto log = open_log(dir, compacted());
  History(5).append_segments(*log, 3);
  const auto second = segment_file_name({log->segments()[1].base_offset, SegmentFile::kLog, {}});
  dir->content(second)[80] ^= 1;
  const auto before = dir->contents();
  const auto run = LogCompaction(*log).run_at_once(kStart);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, Errc::kCorrupt);
  EXPECT_THAT(run.error().what, HasSubstr(second));
  EXPECT_EQ(dir->contents(), before);
}

TEST(LogCompactionTest, AnOffsetThatCanNotStandWhereItDoesIsDamage) {
  for (const int byte : {0, 5, 7}) {
    const auto dir = std::make_shared<CrashingDir>(1);
    const auto log = open_log(dir, compacted());
    History(5).append_segments(*log, 3);
    const auto third = segment_file_name({log->segments()[2].base_offset, SegmentFile::kLog, {}});
    dir->content(third)[static_cast<std::size_t>(byte)] ^= '\x81';
    const auto before = dir->contents();
    const auto run = LogCompaction(*log).run_at_once(kStart);
    ASSERT_FALSE(run) << byte;
    EXPECT_EQ(run.error().code, Errc::kCorrupt) << run.error().what;
    EXPECT_THAT(run.error().what, HasSubstr(third));
    EXPECT_EQ(dir->contents(), before);
  }
}

// The clean part is rewritten with every pass: what lies before the damage would be each time.
TEST(LogCompactionTest, AfterDamageNoPassWritesAnythingAgain) {
  const auto dir = std::make_shared<CrashingDir>(1);
  const auto log = open_log(dir, compacted());
  LogCompaction compaction(*log);
  History history(5);
  history.append_segments(*log, 3);
  const auto damaged = segment_file_name({log->segments()[2].base_offset, SegmentFile::kLog, {}});
  dir->content(damaged)[80] ^= 1;
  const auto refused = compaction.run(kStart);
  ASSERT_FALSE(refused);
  history.append_segments(*log, 1);
  dir->content(damaged)[80] ^= 1;
  const auto before = dir->contents();
  const auto again = compaction.run(kStart);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().what, refused.error().what);
  EXPECT_EQ(dir->contents(), before);
  const auto anew = LogCompaction(*log).run(kStart);
  ASSERT_TRUE(anew) << anew.error().what;
  EXPECT_TRUE(anew->cleaned);
}

TEST(LogCompactionTest, APassCanBeStoppedAtAnyBatch) {
  const auto dir = std::make_shared<CrashingDir>(1);
  const auto log = open_log(dir, compacted());
  History(9).append_segments(*log, 3);
  const auto before = dir->contents();
  int batches = 0, most = 0;
  LogCompaction::Options options;
  options.must_stop = [&] { return ++batches > most; };
  LogCompaction compaction(*log, options);
  for (;; ++most, batches = 0) {
    const auto run = compaction.run_at_once(kStart);
    if (run) break;
    ASSERT_EQ(run.error().code, Errc::kBusy) << run.error().what;
    ASSERT_EQ(dir->contents(), before);
  }
  EXPECT_GT(most, 10);
}

TEST(LogCompactionTest, AFullDiskChangesNothing) {
  int failed = 0;
  for (std::int64_t bytes = 0; bytes < 8000; bytes += 97) {
    const auto dir = std::make_shared<CrashingDir>(1);
    const auto log = open_log(dir, compacted());
    History(6).append_segments(*log, 3);
    const auto state = state_of(records_in(*dir));
    dir->fail_after(bytes, ENOSPC);
    LogCompaction compaction(*log);
    const auto run = compaction.run_at_once(kStart);
    if (!run) {
      ++failed;
      EXPECT_EQ(run.error().sys_errno, ENOSPC);
    }
    for (const auto& [name, content] : dir->contents())
      EXPECT_THAT(name, testing::Not(testing::EndsWith(".cleaned")));
    EXPECT_EQ(state_of(records_in(*dir)), state);
    dir->fail_after(-1, 0);
    History(7).append_segments(*log, 1);
    const auto again = compaction.run_at_once(kStart);
    EXPECT_TRUE(again) << again.error().what;
  }
  EXPECT_GT(failed, 3);
}

TEST(LogCompactionTest, NoPowerCutLosesTheLatestRecordOfAKey) {
  int stopped = 0;
  for (std::uint64_t round = 0; round < 1000; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const std::uint64_t seed = 1 + round % 7;
    const auto dir = std::make_shared<CrashingDir>(round + 1);
    const auto options = compacted(480);
    auto log = open_log(dir, options);
    History history(seed);
    history.append_segments(*log, 5);
    const Offset end = log->log_end_offset();
    ASSERT_TRUE(log->flush());
    const auto state = state_of(records_in(*dir));

    std::mt19937_64 random(round);
    dir->stop_after(static_cast<int>(random() % 90));
    const auto run = LogCompaction(*log).run_at_once(kStart);
    stopped += run ? 0 : 1;
    log.reset();
    dir->cut_power();
    // Another cut while it is put in order.
    if (random() % 2 == 0) {
      dir->stop_after(static_cast<int>(random() % 30));
      (void)LogWriter::open(dir, nullptr, {"orders", 0}, options, nullptr).has_value();
      dir->cut_power();
    }
    RecoveryReport report;
    log = open_log(dir, options, &report);
    ASSERT_TRUE(log);
    EXPECT_THAT(report.cuts, IsEmpty());
    EXPECT_EQ(log->log_end_offset(), end);
    EXPECT_EQ(state_of(records_in(*dir)), state);
    for (const auto& [name, content] : dir->contents())
      if (const auto parsed = parse_segment_file(name)) {
        EXPECT_EQ(parsed->suffix, SegmentSuffix::kNone) << name;
      }
    const auto again = LogCompaction(*log).run_at_once(kStart);
    ASSERT_TRUE(again) << again.error().what;
    EXPECT_EQ(state_of(records_in(*dir)), state);
  }
  EXPECT_GT(stopped, 500);
}

TEST(LogCompactionTest, TheFirstDirtyOffsetIsCheckpointed) {
  const auto dir = std::make_shared<CrashingDir>(1);
  const auto log_dir_files = std::make_shared<CrashingDir>(2);
  auto log_dir = LogDirWriter::open(log_dir_files, std::nullopt);
  ASSERT_TRUE(log_dir);
  auto log = LogWriter::open(dir, *log_dir, {"orders", 0}, compacted(), nullptr);
  ASSERT_TRUE(log);
  History(8).append_segments(**log, 3);
  const auto run = LogCompaction(**log).run(kStart);
  ASSERT_TRUE(run->cleaned);
  EXPECT_EQ(log_dir_files->content(kCleanerOffsetCheckpoint),
            "0\n1\norders 0 " + std::to_string(run->end.value) + "\n");
  ASSERT_TRUE((*log)->close());
  log_dir = LogDirWriter::open(log_dir_files, std::nullopt);
  log = LogWriter::open(dir, *log_dir, {"orders", 0}, compacted(), nullptr);
  EXPECT_EQ((*log)->first_dirty_offset(), run->end);
  EXPECT_FALSE(LogCompaction(**log).run_at_once(kStart)->cleaned);
}

// --- Transactions --------------------------------------------------------------------------------

class Transactions : public testing::Test {
 protected:
  void data(std::int64_t producer, const std::string& key, bool transactional = true) {
    BatchBuilder::Options options;
    options.producer_id = producer;
    options.producer_epoch = 0;
    options.base_sequence = sequence_[producer]++;
    options.is_transactional = transactional;
    BatchBuilder builder(options);
    builder.add(kStart, Bytes(key), Bytes("value"));
    ASSERT_TRUE(log_->append(builder.finish()));
  }
  void end(std::int64_t producer, bool commit) {
    auto marker = build_marker({commit, producer, 0, 0, kStart}, {0}, LeaderEpoch{0});
    ASSERT_TRUE(log_->append(marker));
  }
  void roll() { ASSERT_TRUE(log_->roll()); }
  LogCompaction::Run pass(TimestampMs now) {
    auto run = compaction_.run_at_once(now);
    EXPECT_TRUE(run) << run.error().what;
    return run.value_or(LogCompaction::Run{});
  }
  std::vector<std::int64_t> offsets() const {
    std::vector<std::int64_t> all;
    for (const auto& rec : records_in(*dir_)) all.push_back(rec.offset);
    return all;
  }
  std::vector<std::int64_t> markers() const {
    std::vector<std::int64_t> all;
    for (const auto& header : headers_in(*dir_))
      if (header.is_control()) all.push_back(header.base_offset.value);
    return all;
  }
  std::string transaction_index() const {
    const auto contents = dir_->contents();
    const auto found = contents.find("00000000000000000000.txnindex");
    return found == contents.end() ? "" : found->second;
  }

  const std::shared_ptr<CrashingDir> dir_ = std::make_shared<CrashingDir>(1);
  const std::unique_ptr<LogWriter> log_ = open_log(dir_, compacted());
  LogCompaction compaction_{*log_};
  std::map<std::int64_t, std::int32_t> sequence_;
};

TEST_F(Transactions, AbortedDataGoesAndItsMarkerOutlivesItByTwoPasses) {
  data(1, "a");   // 0, committed
  data(2, "a");   // 1, aborted: later, and yet not the latest
  end(2, false);  // 2
  end(1, true);   // 3
  data(2, "x");   // 4, so that 1 is not its producer's last
  end(2, true);   // 5
  roll();
  pass(kStart);
  EXPECT_THAT(offsets(), ElementsAre(0, 4));
  EXPECT_THAT(markers(), ElementsAre(2, 3, 5));
  EXPECT_EQ(transaction_index().size(), 34U) << "data of it was still there in this pass";

  data(3, "b", false);  // 6
  roll();
  pass(kStart + 1);
  EXPECT_THAT(markers(), ElementsAre(2, 3, 5)) << "its time begins";
  EXPECT_EQ(transaction_index(), "");

  data(3, "c", false);
  roll();
  pass(kStart + 1000);
  EXPECT_THAT(markers(), ElementsAre(2, 3, 5));
  data(3, "d", false);
  roll();
  pass(kStart + 1001);
  EXPECT_THAT(markers(), ElementsAre(3, 5)) << "data of theirs is there";
}

TEST_F(Transactions, AnOpenOneHoldsAllBehindIt) {
  data(1, "a", false);
  roll();
  data(2, "a");
  roll();
  data(1, "a", false);
  roll();
  EXPECT_EQ(pass(kStart).end, Offset{1});
  EXPECT_THAT(offsets(), ElementsAre(0, 1, 2));
  end(2, true);
  roll();
  EXPECT_EQ(pass(kStart).end, Offset{4});
  EXPECT_THAT(offsets(), ElementsAre(2));
}

TEST_F(Transactions, AProducersLastBatchLeavesItsHeader) {
  data(1, "a", false);
  data(2, "a", false);
  roll();
  pass(kStart);
  EXPECT_THAT(offsets(), ElementsAre(1));
  const auto headers = headers_in(*dir_);
  ASSERT_EQ(headers.size(), 2U);
  EXPECT_EQ(headers[0].producer_id, 1);
  EXPECT_EQ(headers[0].records_count, 0);
  EXPECT_EQ(headers[0].size_bytes, 61);
}

// --- Golden batches ------------------------------------------------------------------------------

std::string filtered(const std::string& batch, const CompactionFilter::Options& options,
                     const std::map<std::string, std::int64_t>& latest,
                     const std::vector<ProducerSnapshotEntry>& producers = {}) {
  KeyOffsets keys(1 << 16, 100, random_hash_key());
  for (const auto& [key, offset] : latest) keys.put(key, Offset{offset});
  CleanedTransactions transactions;
  CompactionFilter filter(options, keys, producers, transactions);
  BatchHeader header;
  EXPECT_EQ(parse_batch_header(batch, header, nullptr), HeaderStatus::kOk);
  const auto kept = filter.filter(header, batch);
  EXPECT_TRUE(kept) << kept.error().what;
  return kept ? std::string(kept->batch) : "";
}

TEST(CompactionFilterTest, ATombstonesBatchIsABrokersToTheByte) {
  BatchBuilder::Options options;
  options.base_offset = {50};
  options.leader_epoch = {7};
  BatchBuilder builder(options);
  builder.add({5000}, Bytes("a"), Bytes("x"));
  builder.add({5001}, Bytes("b"), std::nullopt);
  builder.add({5002}, Bytes("a2"), Bytes("y"));
  const auto batch = builder.build();
  CompactionFilter::Options pass;
  pass.last_mapped = {100};
  pass.now = {1000};
  pass.delete_retention_ms = 100000;
  EXPECT_EQ(hex(filtered(batch, pass, {{"a2", 99}})), hex(tests::golden_tombstone()));
}

TEST(CompactionFilterTest, AnEmptiedBatchIsABrokersToTheByte) {
  BatchBuilder::Options options;
  options.codec = Codec::kZstd;
  options.base_offset = {60};
  options.leader_epoch = {9};
  options.producer_id = 1000;
  options.producer_epoch = 3;
  options.base_sequence = 7;
  BatchBuilder builder(options);
  builder.add({5000}, Bytes("a"), Bytes("x"));
  builder.add({5009}, Bytes("a"), Bytes("y"));
  const auto batch = builder.build();
  CompactionFilter::Options pass;
  pass.last_mapped = {100};
  ProducerSnapshotEntry producer;
  producer.producer_id = 1000;
  producer.producer_epoch = 3;
  producer.last_offset = {61};
  EXPECT_EQ(hex(filtered(batch, pass, {{"a", 99}}, {producer})), hex(tests::golden_empty_batch()));
  EXPECT_EQ(filtered(batch, pass, {{"a", 99}}), "");
  pass.last_mapped = {61};
  EXPECT_EQ(hex(filtered(batch, pass, {{"a", 99}})), hex(tests::golden_empty_batch()))
      << "it ends the pass";
}

TEST(CompactionFilterTest, ABatchThatKeepsAllStaysAsItIs) {
  const auto batch = tests::make_batch({"no key"}, 5);
  CompactionFilter::Options pass;
  pass.last_mapped = {-1};
  EXPECT_EQ(hex(filtered(batch, pass, {})), hex(batch)) << "it lies above what was mapped";
}

TEST(CompactionFilterTest, OlderMagicIsRefused) {
  KeyOffsets keys(1 << 16, 100, random_hash_key());
  CleanedTransactions transactions;
  CompactionFilter filter({}, keys, {}, transactions);
  BatchHeader header;
  const auto message = tests::golden_v1_tombstone();
  ASSERT_EQ(parse_batch_header(message, header, nullptr), HeaderStatus::kOk);
  EXPECT_EQ(filter.filter(header, message).error().code, Errc::kUnsupported);
}

}  // namespace
}  // namespace offsetfs::storage
