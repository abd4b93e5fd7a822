#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/batch_builder.h"
#include "storage/batch_header.h"
#include "storage/units.h"

namespace offsetfs::tests {

// A record as a test writes it down. A text alone is a value with a null key.
struct TestRecord {
  TestRecord(const char* text) : value(text) {}             // NOLINT(google-explicit-constructor)
  TestRecord(std::string text) : value(std::move(text)) {}  // NOLINT(google-explicit-constructor)
  TestRecord(std::optional<std::string> with_key, std::optional<std::string> with_value)
      : key(std::move(with_key)), value(std::move(with_value)) {}

  TestRecord at_time(std::int64_t ms) && {
    timestamp_ms = ms;
    return std::move(*this);
  }
  TestRecord at_offset(std::int64_t wanted) && {
    offset = wanted;
    return std::move(*this);
  }
  TestRecord with_header(std::string name, std::optional<std::string> content) && {
    headers.emplace_back(std::move(name), std::move(content));
    return std::move(*this);
  }

  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  std::optional<std::int64_t> timestamp_ms;  // else the builder's clock, 1 ms a record
  std::optional<std::int64_t> offset;        // else the next one
};
TestRecord keyed(std::string key, std::string value);
TestRecord tombstone(std::string key);

// Writes a partition directory as a broker (4.3.1) would leave it: segments with their `.log`,
// `.index`, `.timeindex` and, where transactions were aborted, `.txnindex`, entries by the exact
// rules of LogSegment.append. And damages it. Everything happens in memory until build().
//
//   const auto dir = LogBuilder(temp / "orders-3")
//                        .batch({"a", "b"}).roll()
//                        .batch({keyed("k", "c"), tombstone("k")}).chop_bytes(5).build();
//
// Offsets count from 0 and times from kFirstTime, a millisecond a record.
class LogBuilder {
 public:
  static constexpr std::int64_t kFirstTime = 1700000000000;

  explicit LogBuilder(std::string partition_dir);

  // --- Of what follows
  // -----------------------------------------------------------------------------
  LogBuilder& codec(storage::Codec codec);
  LogBuilder& leader_epoch(std::int32_t epoch);
  LogBuilder& offset(std::int64_t next);  // leaves a gap; first of all: the log's base offset
  LogBuilder& clock(std::int64_t next_ms);
  LogBuilder& append_time(bool on = true);  // LogAppendTime: the clock after a batch counts
  // Batches get this producer and sequences that count from 0; -1: none.
  LogBuilder& producer(std::int64_t id, std::int16_t epoch = 0);
  LogBuilder& index_interval_bytes(std::int64_t bytes);  // default 4096

  // --- Content
  // -------------------------------------------------------------------------------------
  LogBuilder& batch(const std::vector<TestRecord>& records);
  LogBuilder& batch(std::initializer_list<TestRecord> records);
  // As a transaction of the producer set; its first data batch opens it, a marker ends it.
  LogBuilder& transactional_batch(const std::vector<TestRecord>& records);
  LogBuilder& commit(std::int64_t producer_id);
  LogBuilder& abort(std::int64_t producer_id);  // adds the `.txnindex` entry
  // What compaction leaves of a batch whose records are all gone.
  LogBuilder& emptied_batch(std::int64_t offsets);
  // Messages of magic 0 or 1: one wrapper if a codec is set, else one entry each.
  LogBuilder& legacy_batch(int magic, const std::vector<TestRecord>& records);
  // `batches` batches of `records` records each, values of `value_bytes` bytes: "record N ......".
  LogBuilder& fill(int batches, int records, std::size_t value_bytes);
  // An entry that the test made itself. Indexed by its header, if it has one that can be parsed.
  LogBuilder& raw(const std::string& entry);

  // Seals the active segment and begins another at the next offset.
  LogBuilder& roll();
  // What retention does: the oldest sealed segment is gone, and its files are removed.
  LogBuilder& drop_oldest();

  // --- How the directory is left
  // ------------------------------------------------------------------- A running (or killed)
  // broker's: the active segment's indexes preallocated with zeros, and without the time entry that
  // a clean stop adds. Default: a clean stop.
  LogBuilder& living(std::int64_t preallocated_index_bytes = 10485760);
  // No such file for the active segment (".index", ".timeindex", ".txnindex").
  LogBuilder& without(const std::string& extension);
  LogBuilder& with_leader_epoch_checkpoint();

  // --- Damage to the active segment's `.log`; what is appended later lies behind it
  // -------------------
  LogBuilder& chop_bytes(std::size_t count);  // off the end
  LogBuilder& zero_tail(std::size_t count);   // zeros behind the end, as preallocation leaves them
  LogBuilder& garbage_tail(const std::string& bytes);
  // Position from the front; negative: from the end (-1 is the last byte).
  LogBuilder& flip_byte(std::int64_t position, int mask = 0xff);

  // Writes all files, or what was added since the last build(): in place, so that who has a file
  // open sees it grow. Returns the directory.
  std::string build();

  // --- What there is now
  // ---------------------------------------------------------------------------
  const std::string& dir() const { return dir_; }
  std::int64_t next_offset() const { return next_offset_; }
  std::int64_t base_offset() const {
    return segments_.back().base_offset;
  }  // of the active segment
  std::int64_t log_bytes() const { return static_cast<std::int64_t>(log().size()); }
  const std::string& log() const { return segments_.back().log; }
  std::string log_path() const;                          // of the active segment
  std::string path(const std::string& extension) const;  // ".index" of the active segment
  // Position of each entry of the active segment's `.log`.
  const std::vector<std::int64_t>& positions() const { return segments_.back().positions; }

 private:
  struct Segment {
    std::int64_t base_offset = 0;
    std::string log;
    std::string index;
    std::string timeindex;
    std::string txnindex;
    std::vector<std::int64_t> positions;
    std::vector<std::string> without;
    std::int64_t since_index_entry = 0;
    std::int64_t max_timestamp = -1;
    std::int64_t max_timestamp_offset = -1;
    std::int64_t last_time_entry = -1;
  };
  struct LeaderEpochStart {
    std::int32_t epoch;
    std::int64_t start_offset;
  };

  storage::BatchBuilder::Options options() const;
  LogBuilder& append_batch(const std::vector<TestRecord>& records, bool transactional);
  LogBuilder& append_marker(std::int64_t producer_id, bool is_commit);
  void append_entry(const std::string& entry, const storage::BatchHeader& header);
  void note_aborted(std::int64_t producer_id, std::int64_t marker_offset);
  static void add_time_entry(const Segment& segment, std::string& timeindex);
  void write(const Segment& segment, bool active) const;
  std::int64_t tick() { return clock_ms_++; }

  const std::string dir_;
  std::vector<Segment> segments_{1};
  std::int64_t next_offset_ = 0;
  std::int64_t clock_ms_ = kFirstTime;
  storage::Codec codec_ = storage::Codec::kNone;
  std::int32_t leader_epoch_ = 0;
  bool append_time_ = false;
  std::int64_t producer_id_ = -1;
  std::int16_t producer_epoch_ = 0;
  std::map<std::int64_t, std::int32_t> next_sequence_;      // by producer id
  std::map<std::int64_t, std::int64_t> open_transactions_;  // producer id -> first offset
  std::int64_t index_interval_bytes_ = 4096;
  std::optional<std::int64_t> preallocated_index_bytes_;
  bool leader_epoch_checkpoint_ = false;
  std::vector<LeaderEpochStart> leader_epochs_;
};

// The builder's own damage for files that exist already.
void flip_byte_of_file(const std::string& path, std::int64_t position, int mask = 0xff);
void chop_file(const std::string& path, std::int64_t bytes);
std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& content);

}  // namespace offsetfs::tests
