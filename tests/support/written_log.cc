#include "tests/support/written_log.h"

#include <gtest/gtest.h>

#include "storage/batch_builder.h"
#include "storage/batch_scanner.h"
#include "tests/support/memory_file.h"

namespace offsetfs::tests {

using storage::BatchScanner;

std::string make_batch(const std::vector<std::string>& values, std::int64_t time_ms,
                       std::int64_t producer_id) {
  storage::BatchBuilder::Options options;
  options.producer_id = producer_id;
  options.producer_epoch = producer_id < 0 ? -1 : 0;
  options.base_sequence = producer_id < 0 ? -1 : 0;
  storage::BatchBuilder builder(options);
  for (const auto& value : values) builder.add({time_ms}, std::nullopt, value);
  return builder.build();
}

std::vector<std::string> split_batches(const std::string& log) {
  const MemoryFile file(log);
  BatchScanner scanner(file, {0}, {static_cast<std::int64_t>(log.size())});
  std::vector<std::string> batches;
  for (;;) {
    const auto step = scanner.next();
    if (step == BatchScanner::Step::kBatch) {
      batches.emplace_back(scanner.batch().entry);
      continue;
    }
    EXPECT_EQ(step, BatchScanner::Step::kEnd) << scanner.position().value;
    return batches;
  }
}

std::string stripped(std::string batch) {
  storage::assign_offsets(batch, {0}, storage::kNoLeaderEpoch);
  return batch;
}

storage::LogWriter::Options writer_options(std::int64_t index_bytes) {
  storage::LogWriter::Options options;
  options.config.segment_bytes = 1 << 20;
  options.config.segment_index_bytes = index_bytes;
  options.config.index_interval_bytes = 256;
  options.now = [] { return storage::TimestampMs{1700000000000}; };
  return options;
}

std::unique_ptr<storage::LogWriter> open_log(const std::shared_ptr<storage::WriteDir>& dir,
                                             const storage::LogWriter::Options& options,
                                             storage::RecoveryReport* report) {
  auto log = storage::LogWriter::open(dir, nullptr, {"orders", 0}, options, report);
  EXPECT_TRUE(log) << (log ? "" : log.error().what);
  return log ? std::move(*log) : nullptr;
}

}  // namespace offsetfs::tests
