#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "storage/log_cursor.h"
#include "storage/partition_log.h"
#include "tests/support/log_builder.h"
#include "tests/support/open_logs.h"
#include "tests/support/temp_dir.h"

// Many readers beside a writer that appends, rolls and deletes: what the thread sanitizer looks at.

namespace offsetfs::tests {
namespace {

using storage::LogCursor;
using storage::Offset;
using storage::RecordLookup;
using Outcome = RecordLookup::Outcome;

TEST(PartitionLogThreads, ReadersNeverSeeAWrongRecordBesideAWriter) {
  constexpr int kRounds = 60;
  const TempDir temp;
  LogBuilder builder(temp / "orders-3");
  builder.living(1 << 14);
  const auto append = [&] {
    for (int i = 0; i < 4; ++i) {
      const std::int64_t n = builder.next_offset();
      const std::string filler(700, 'x');
      builder.batch({std::to_string(n) + filler, std::to_string(n + 1) + filler});
    }
    builder.build();
  };
  append();
  storage::LogDir::Options options;
  options.cached_batches_bytes = 20000;
  options.descriptors = 120;
  const auto source = open_source({temp.path()}, options);
  const auto log = open_log(*source, "orders-3");
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;

  const auto look_up = [&](unsigned seed) {
    while (!done) {
      const auto offsets = log->offsets();
      if (!offsets) continue;
      const std::int64_t start = offsets->log_start_offset.value;
      const std::int64_t end = offsets->log_end_offset.value;
      if (end <= start) continue;
      seed = seed * 1103515245U + 12345U;
      const std::int64_t n = start + seed % static_cast<unsigned>(end - start);
      const auto found = log->find(Offset{n});
      if (!found) continue;  // retention was faster than every retry
      if (found->outcome == Outcome::kPresent &&
          !found->record.value->starts_with(std::to_string(n) + "x")) {
        ++wrong;
      }
      if (found->outcome == Outcome::kCompacted || found->outcome == Outcome::kDamaged ||
          found->outcome == Outcome::kPastLogEnd) {
        ++wrong;
      }
      static_cast<void>(log->find_time(storage::TimestampMs{LogBuilder::kFirstTime + n}));
      static_cast<void>(log->last_record());
    }
  };
  const auto stream = [&] {
    while (!done) {
      LogCursor cursor(log, Offset{0}, Offset{INT64_MAX}, {.piece_bytes = 4096});
      std::int64_t last = -1;
      while (true) {
        const LogCursor::Step step = cursor.next();
        if (step != LogCursor::Step::kBatch) {
          if (step == LogCursor::Step::kDamaged) ++wrong;
          break;
        }
        if (cursor.batch().header.base_offset.value <= last) ++wrong;
        last = cursor.batch().header.last_offset.value;
      }
    }
  };
  std::vector<std::thread> readers;
  for (unsigned i = 0; i < 3; ++i) readers.emplace_back(look_up, i);
  readers.emplace_back(stream);
  for (int round = 0; round < kRounds; ++round) {
    append();
    if (round % 5 == 4) builder.roll().build();
    if (round >= 20 && round % 5 == 0) builder.drop_oldest();
    if (round % 7 == 0) source->refresh();
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(log->offsets()->log_end_offset.value, builder.next_offset());
}

}  // namespace
}  // namespace offsetfs::tests
