#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/batch_builder.h"
#include "storage/batch_header.h"
#include "storage/cleaned_transactions.h"
#include "storage/key_offsets.h"
#include "storage/producer_snapshot.h"
#include "storage/record.h"
#include "storage/record_batch.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::storage {

// What a compaction leaves of a batch. A record stays if it lies above what was mapped, or if it is
// the latest of its key and is a value, or a tombstone whose time has not come; a record without a
// key goes. A batch that keeps all its records stays byte for byte, but for the delete horizon,
// which the first pass that keeps a tombstone (or the marker of a transaction of which nothing is
// left) puts into it. One that keeps none goes, unless it is its producer's last or ends the pass:
// then its header stays. Aborted data goes. One thread.
// Source: Kafka 4.3.1, Cleaner.cleanInto and shouldRetainRecord, MemoryRecords.filterTo.
class CompactionFilter {
 public:
  struct Options {
    Offset last_mapped{};  // all keys of the dirty part up to here are in the map
    TimestampMs now{};
    std::int64_t delete_retention_ms = 0;
    std::int64_t decompressed_limit_bytes = 256LL << 20;
  };
  struct Kept {
    Bytes batch;                                // empty: nothing; valid until the next call
    std::optional<AbortedTransaction> aborted;  // for the transaction index
  };

  // All must outlive this. `producers`: the log's active ones.
  CompactionFilter(const Options& options, const KeyOffsets& keys,
                   std::span<const ProducerSnapshotEntry> producers,
                   CleanedTransactions& transactions);

  // `entry`: the whole batch, its CRC checked. kCorrupt, kTooLarge; kUnsupported: a codec, or a
  // message of magic 0 or 1. Messages say what, not where.
  Result<Kept> filter(const BatchHeader& header, Bytes entry);

  // The control type of a marker; nothing for an emptied batch.
  static Result<std::optional<std::int16_t>> control_type(const BatchHeader& header, Bytes entry,
                                                          std::string& scratch);

 private:
  struct LastOfProducer {
    Offset last_offset;
    std::int16_t epoch;
  };

  bool is_last_of_producer(const BatchHeader& header) const;
  bool stays(const BatchHeader& header, const Record& record) const;
  Result<void> read(const BatchHeader& header, Bytes entry, bool drop_all);
  Bytes rebuild(const BatchHeader& header, std::optional<TimestampMs> delete_horizon);
  Bytes emptied(const BatchHeader& header);

  const Options options_;
  const KeyOffsets& keys_;
  CleanedTransactions& transactions_;
  std::map<std::int64_t, LastOfProducer> producers_;

  // Of the batch at hand.
  std::string scratch_;
  RecordReader records_;    // at the first, over `scratch_` where that is compressed
  std::vector<bool> kept_;  // by ordinal: a bit a record, as a batch may hold a great many
  bool kept_any_ = false;
  bool dropped_any_ = false;
  bool keeps_tombstone_ = false;
  BatchBuilder builder_;
};

}  // namespace offsetfs::storage
