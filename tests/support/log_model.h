#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace offsetfs::tests {

// What a log should say, kept as plainly as can be beside the log itself.
struct LogModel {
  struct Entry {
    std::string value;
    std::int64_t timestamp = -1;
    bool control = false;
    std::size_t batch = 0;  // in batches
  };
  struct Batch {
    std::string file;  // of the `.log`
    std::int64_t position = 0;
    std::int64_t size_bytes = 0;
    std::int64_t segment_base_offset = 0;
    int magic = 2;
    std::int64_t max_timestamp = -1;
    bool damaged = false;
  };
  std::map<std::int64_t, Entry> entries;  // by offset; control records too
  std::vector<Batch> batches;             // in file order
  std::int64_t start = 0;
  std::int64_t end = 0;

  // The first visible record at or after `offset`.
  std::optional<std::int64_t> visible_from(std::int64_t offset) const;
  std::optional<std::int64_t> last_visible() const;
  // The first record or marker at or after the log start with a time at or after `time`.
  std::optional<std::int64_t> first_at_time(std::int64_t time) const;
};

struct RandomLog {
  int segments = 4;
  int batches_a_segment = 40;
  int value_bytes = 400;
  bool legacy = true;  // some segments are of magic 0 or 1
  bool ordered_times = false;
};

// Writes a partition directory of random batches: gaps, markers, emptied batches, codecs, magics,
// times out of order, and says what it holds.
LogModel write_random_log(const std::string& partition_dir, std::mt19937_64& random,
                          const RandomLog& shape);

// Does something to an index file that no index must do: removes, cuts, pads, fills with zeros or
// noise, or leaves plausible lies in it. Says what.
std::string damage_index(const std::string& path, int entry_bytes, std::int64_t log_bytes,
                         std::mt19937_64& random);

// Changes a byte that the batch's CRC covers, or one of its length.
void damage_batch(LogModel& model, std::size_t batch, std::mt19937_64& random);

}  // namespace offsetfs::tests
