#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/log_cursor.h"
#include "storage/partition_log.h"
#include "tests/support/log_model.h"
#include "tests/support/open_logs.h"
#include "tests/support/temp_dir.h"

// Random logs against a std::map of what they hold, whatever their indexes say.

namespace offsetfs::tests {
namespace {

using storage::Offset;
using storage::RecordLookup;
using storage::TimestampMs;
using Outcome = RecordLookup::Outcome;

std::optional<std::int64_t> value(const std::optional<Offset>& offset) {
  return offset ? std::optional(offset->value) : std::nullopt;
}

class RandomLogs : public testing::TestWithParam<std::uint64_t> {
 protected:
  RandomLogs() : random_(GetParam()) {}

  void write(const RandomLog& shape) {
    dir_ = temp_ / "topic-3";
    model_ = write_random_log(dir_, random_, shape);
    if (random_() % 2 == 0) {  // DeleteRecords
      const auto span = static_cast<std::uint64_t>(model_.end - model_.start);
      model_.start += static_cast<std::int64_t>(random_() % span);
      temp_.write("log-start-offset-checkpoint",
                  "0\n1\ntopic 3 " + std::to_string(model_.start) + "\n");
    }
  }

  std::string damage_indexes() {
    std::string did;
    std::vector<std::filesystem::path> logs;
    for (const auto& file : std::filesystem::directory_iterator(dir_)) {
      if (file.path().extension() == ".log") logs.push_back(file.path());
    }
    std::sort(logs.begin(), logs.end());
    for (std::filesystem::path log : logs) {
      const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(log));
      did += log.stem().string() + " index " +
             damage_index(log.replace_extension(".index"), 8, bytes, random_) + ", timeindex " +
             damage_index(log.replace_extension(".timeindex"), 12, bytes, random_) + "; ";
    }
    return did;
  }

  void expect_offsets(const storage::PartitionLog& log) {
    const auto offsets = log.offsets().value();
    EXPECT_EQ(offsets.log_start_offset.value, model_.start);
    EXPECT_EQ(offsets.log_end_offset.value, model_.end);
    std::vector<std::int64_t> order;
    for (std::int64_t n = std::max<std::int64_t>(0, model_.start - 5); n < model_.end + 5; ++n) {
      order.push_back(n);
    }
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::int64_t n : order) {
      const RecordLookup found = log.find(Offset{n}).value();
      ASSERT_EQ(found.outcome, expected(n)) << n << ": " << found.reason;
      if (found.outcome == Outcome::kPresent) {
        ASSERT_EQ(found.record.offset.value, n);
        ASSERT_EQ(found.record.value, model_.entries.at(n).value);
        ASSERT_EQ(found.record.timestamp.value, model_.entries.at(n).timestamp);
      }
      if (n % 7 == 0) {
        ASSERT_EQ(value(log.seek(Offset{n}).value()), model_.visible_from(n)) << n;
        ASSERT_EQ(log.find_afresh(Offset{n})->outcome, expected(n)) << n;
      }
    }
    EXPECT_EQ(value(log.first_record().value()), model_.visible_from(model_.start));
    EXPECT_EQ(value(log.last_record().value()), model_.last_visible());
  }

  Outcome expected(std::int64_t offset) const {
    if (offset < model_.start) return Outcome::kBelowLogStart;
    if (offset >= model_.end) return Outcome::kPastLogEnd;
    const auto found = model_.entries.find(offset);
    if (found == model_.entries.end()) return Outcome::kCompacted;
    return found->second.control ? Outcome::kControl : Outcome::kPresent;
  }

  // Kafka takes the first segment that may hold the time, by its mtime (which is now) where it has
  // no times.
  std::optional<std::int64_t> kafka_answer(std::int64_t time) const {
    std::map<std::int64_t, std::int64_t> largest;
    for (const auto& batch : model_.batches) {
      auto& of = largest.try_emplace(batch.segment_base_offset, -1).first->second;
      of = std::max(of, batch.max_timestamp);
    }
    for (auto segment = largest.begin(); segment != largest.end(); ++segment) {
      if (segment->second >= 0 && segment->second < time) continue;
      const auto next = std::next(segment);
      for (const auto& [offset, entry] : model_.entries) {
        if (offset < std::max(segment->first, model_.start)) continue;
        if (next != largest.end() && offset >= next->first) break;
        if (entry.timestamp >= time) return offset;
      }
      return std::nullopt;
    }
    return std::nullopt;
  }

  void expect_times(const storage::PartitionLog& log) {
    std::vector<std::int64_t> times = {0, 1, INT64_MAX};
    for (const auto& [offset, entry] : model_.entries) {
      if (random_() % 4 != 0 || entry.timestamp < 0) continue;
      times.push_back(entry.timestamp);
      times.push_back(entry.timestamp + 1);
    }
    for (const std::int64_t time : times) {
      const auto found = log.find_time(TimestampMs{time}).value();
      const auto x = model_.first_at_time(time);
      ASSERT_EQ(value(found.record), x ? model_.visible_from(*x) : std::nullopt) << time;
      // A far target is beyond any mtime.
      if (time != INT64_MAX) {
        ASSERT_EQ(value(found.kafka), kafka_answer(time)) << time;
      }
    }
  }

  TempDir temp_;
  std::mt19937_64 random_;
  std::string dir_;
  LogModel model_;
};

TEST_P(RandomLogs, AnswerAsTheirModelDoes) {
  write({});
  const auto source = open_source({temp_.path()});
  const auto log = open_log(*source, "topic-3");
  expect_offsets(*log);
  expect_times(*log);
  EXPECT_THAT(source->problems().list(), testing::IsEmpty());
}

TEST_P(RandomLogs, AnswerTheSameWhateverTheirIndexesSay) {
  write({});
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(damage_indexes());
    const auto source = open_source({temp_.path()});
    const auto log = open_log(*source, "topic-3");
    expect_offsets(*log);
    expect_times(*log);
    EXPECT_THAT(source->problems().list(), testing::IsEmpty());
  }
}

TEST_P(RandomLogs, LoseTheRecordsOfDamagedBatchesAndNoOthers) {
  write({});
  if (random_() % 2 == 0) SCOPED_TRACE(damage_indexes());
  const int count = 1 + static_cast<int>(random_() % 5);
  for (int i = 0; i < count; ++i) {
    // Not the very last: a bad one there is the torn end of a living log.
    const std::size_t batch = random_() % (model_.batches.size() - 1);
    if (!model_.batches[batch].damaged) damage_batch(model_, batch, random_);
  }
  const auto source = open_source({temp_.path()});
  const auto log = open_log(*source, "topic-3");
  for (std::int64_t n = model_.start; n < model_.end; ++n) {
    const RecordLookup found = log->find(Offset{n}).value();
    const auto entry = model_.entries.find(n);
    if (entry == model_.entries.end()) {
      ASSERT_TRUE(found.outcome == Outcome::kCompacted || found.outcome == Outcome::kDamaged) << n;
    } else if (model_.batches[entry->second.batch].damaged) {
      const auto& batch = model_.batches[entry->second.batch];
      ASSERT_EQ(found.outcome, Outcome::kDamaged)
          << n << ": " << batch.file << " " << batch.position << " magic " << batch.magic;
      ASSERT_THAT(found.reason, testing::HasSubstr(".log: position "));
    } else {
      ASSERT_EQ(found.outcome, expected(n)) << n << ": " << found.reason;
      if (found.outcome == Outcome::kPresent) {
        ASSERT_EQ(found.record.value, entry->second.value);
      }
    }
  }
  for (const auto& problem : source->problems().list()) {
    EXPECT_TRUE(std::any_of(
        model_.batches.begin(), model_.batches.end(),
        [&](const auto& batch) { return batch.damaged && problem.position == batch.position; }))
        << problem.file << " " << problem.position << " " << problem.what;
  }
}

TEST_P(RandomLogs, HandOutEveryGoodBatchThroughACursor) {
  write({});
  for (int i = 0; i < 3; ++i) {
    const std::size_t batch = random_() % (model_.batches.size() - 1);
    if (!model_.batches[batch].damaged) damage_batch(model_, batch, random_);
  }
  const auto source = open_source({temp_.path()});
  const auto log = open_log(*source, "topic-3");
  const auto from = model_.start + static_cast<std::int64_t>(random_() % 50);
  const auto until = model_.end - static_cast<std::int64_t>(random_() % 50);
  std::map<std::int64_t, std::string> expected_values;
  for (const auto& [offset, entry] : model_.entries) {
    if (offset < from || offset >= until || model_.batches[entry.batch].damaged) continue;
    if (!entry.control) expected_values[offset] = entry.value;
  }
  std::map<std::int64_t, std::string> values;
  std::size_t damages = 0;
  storage::LogCursor cursor(log, Offset{from}, Offset{until}, {.piece_bytes = 8192});
  for (bool more = true; more;) {
    switch (cursor.next()) {
      case storage::LogCursor::Step::kBatch: {
        if (cursor.batch().header.is_control()) break;
        const auto batch = cursor.decode().value();
        auto reader = batch->records();
        storage::Record record;
        while (reader.next(record) == storage::RecordReader::Step::kRecord) {
          if (record.offset.value < from || record.offset.value >= until) continue;
          values[record.offset.value] = std::string(*record.value);
        }
        break;
      }
      case storage::LogCursor::Step::kDamaged: ++damages; break;
      case storage::LogCursor::Step::kEnd: more = false; break;
      case storage::LogCursor::Step::kIo: FAIL() << cursor.error().what;
    }
  }
  for (const auto& [offset, text] : expected_values) {
    ASSERT_TRUE(values.contains(offset)) << offset;
  }
  EXPECT_TRUE(values == expected_values);
  EXPECT_LE(damages, 3U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLogs, testing::Range<std::uint64_t>(1, 16));

}  // namespace
}  // namespace offsetfs::tests
