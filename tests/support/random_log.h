#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "storage/units.h"

namespace offsetfs::tests {

// A record as it was put into a log.
struct PlainRecord {
  storage::Offset offset{};
  storage::TimestampMs timestamp{};
  std::optional<std::string> key;
  std::optional<std::string> value;
  bool control = false;
};

// The content of a `.log`, and what it is made of.
struct RandomLog {
  struct Entry {
    storage::Position position{};  // of the batch or message
    std::size_t size_bytes = 0;
    std::size_t first_record = 0;  // in records
    storage::Offset last_offset{};
  };
  std::string bytes;
  std::vector<Entry> entries;
  std::vector<PlainRecord> records;
  storage::Offset next_offset{};
};

// Batches of every magic and codec, markers, gaps, emptied batches, null keys and values, values of
// no bytes and of many.
RandomLog make_random_log(std::mt19937_64& random, std::size_t entries,
                          storage::Offset first_offset = {});
// Goes on where `log` ends.
void append_random(RandomLog& log, std::mt19937_64& random, std::size_t entries);

// One message of magic 0 or 1, or a wrapper around several.
void append_message(RandomLog& log, int magic, const PlainRecord& record);

}  // namespace offsetfs::tests
