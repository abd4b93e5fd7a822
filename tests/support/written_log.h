#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/log_writer.h"

namespace offsetfs::tests {

// One batch of one record a value, at this time; a producer if `producer_id` is 0 or more.
std::string make_batch(const std::vector<std::string>& values, std::int64_t time_ms,
                       std::int64_t producer_id = -1);

// The batches of a `.log`, in order; fails the test where it is not whole.
std::vector<std::string> split_batches(const std::string& log);

// As a producer sends it: offset 0, no leader epoch. What the CRC covers is the same.
std::string stripped(std::string batch);

// Small segments, for tests that roll.
storage::LogWriter::Options writer_options(std::int64_t index_bytes = 1200);

// Opened with no log directory: everything is walked. Fails the test if that is refused.
std::unique_ptr<storage::LogWriter> open_log(const std::shared_ptr<storage::WriteDir>& dir,
                                             const storage::LogWriter::Options& options,
                                             storage::RecoveryReport* report = nullptr);

}  // namespace offsetfs::tests
