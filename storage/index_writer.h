#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "storage/batch_header.h"
#include "storage/result.h"
#include "storage/units.h"
#include "storage/write_dir.h"

namespace offsetfs::storage {

// A `.index` or `.timeindex` being written: entries from the front, zeros up to the preallocated
// size behind them. Written, not mapped (write_dir.h says why). One thread.
class IndexWriter {
 public:
  // Takes a file that holds `entries` genuine entries and preallocates it for floor(bytes / entry)
  // of them; 0: none, it grows.
  static Result<IndexWriter> open(std::unique_ptr<WriteFile> file, std::int64_t entry_bytes,
                                  std::int64_t preallocated_bytes, std::int64_t entries);

  std::int64_t entries() const { return entries_; }
  std::int64_t slots() const { return slots_; }  // 0: no bound
  // Nothing has changed after an error: the next entry is written in the same place.
  Result<void> append(Bytes entry);
  void set_entries(std::int64_t entries) { entries_ = entries; }  // takes the last ones back
  Result<void> trim();                                            // to exactly the entries
  Result<void> sync() { return file_->sync(); }
  WriteFile& file() { return *file_; }
  // Entries are collected and written in pieces until trim(): for rebuilding.
  void collect() { collecting_ = true; }

 private:
  Result<void> write_collected();

  std::unique_ptr<WriteFile> file_;
  std::int64_t entry_bytes_ = 8;
  std::int64_t slots_ = 0;
  std::int64_t entries_ = 0;
  bool collecting_ = false;
  std::string collected_;
};

// Both sparse indexes of a segment, entries by the exact rules of Kafka's LogSegment.append:
//
// For each batch of s bytes at position p, with c the bytes since the last entry (0 when the
// segment is created or opened): if c > index.interval.bytes then (last_offset, p) goes into the
// offset index and the largest timestamp so far, with the last offset of the earliest batch that
// has it, into the time index if it is larger than that one's last; c = 0. Then c += s. Sealing
// adds the time entry once more, for which one slot is kept.
class SegmentIndexes {
 public:
  // What both hold and what the next entries depend on.
  struct State {
    std::int64_t offset_entries = 0;
    std::int64_t time_entries = 0;
    TimestampMs last_time_entry = kNoTimestamp;
    TimestampMs max_timestamp = kNoTimestamp;  // of the segment
    Offset offset_of_max_timestamp{};
    std::int64_t bytes_since_entry = 0;
  };

  SegmentIndexes(Offset base_offset, std::int64_t interval_bytes, IndexWriter offset_index,
                 IndexWriter time_index, State state);

  bool is_full() const;  // the next append rolls
  // After an error nothing has changed.
  Result<void> add(const BatchHeader& header, Position position);
  Result<void> seal();  // the last time entry, both files trimmed
  Result<void> sync();
  const State& state() const { return state_; }
  IndexWriter& offset_index() { return offset_index_; }
  IndexWriter& time_index() { return time_index_; }
  // Back to how it was: for a batch that was taken away again.
  void take_back(const State& state);

 private:
  Result<void> add_time_entry(std::int64_t slots_kept);

  const Offset base_offset_;
  const std::int64_t interval_bytes_;
  IndexWriter offset_index_;
  IndexWriter time_index_;
  State state_;
};

}  // namespace offsetfs::storage
