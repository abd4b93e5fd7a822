#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/batch_header.h"
#include "storage/units.h"

// Entries of magic 0 and 1, which no Kafka writes any more: for tests only.

namespace offsetfs::tests {

struct LegacyRecord {
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::int64_t timestamp = 0;  // not in magic 0
};

// One plain message. `attributes`: 8 is LogAppendTime.
std::string legacy_message(int magic, std::int64_t offset, const LegacyRecord& record,
                           std::uint8_t attributes = 0);

struct LegacyWrapper {
  int magic = 1;
  storage::Codec codec = storage::Codec::kGzip;
  std::int64_t first_offset = 0;
  bool append_time = false;  // the wrapper's time, the largest of the records, counts for all
  int inner_magic = -1;      // -1: the wrapper's (KAFKA-4298: it may differ)
  std::int64_t wrapper_offset = -1;  // -1: the last record's
};

// The records compressed into one message: inner offsets are absolute in magic 0, count from 0 in
// magic 1.
std::string legacy_batch(const LegacyWrapper& wrapper, const std::vector<LegacyRecord>& records);
// The same around inner messages that the test made itself.
std::string legacy_wrapper(const LegacyWrapper& wrapper, std::int64_t offset,
                           std::int64_t timestamp, const std::string& inner);

}  // namespace offsetfs::tests
