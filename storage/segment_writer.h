#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "storage/batch_header.h"
#include "storage/index_writer.h"
#include "storage/log_config.h"
#include "storage/result.h"
#include "storage/transaction_index.h"
#include "storage/units.h"
#include "storage/write_dir.h"

namespace offsetfs::storage {

// A segment of a log that is written, as its writer remembers it.
struct WrittenSegment {
  Offset base_offset{};
  Offset next_offset{};  // of the segment's last batch, or base_offset if it has none
  std::int64_t size_bytes = 0;
  // Of the first batch, which the time to roll counts from; nothing: none yet.
  std::optional<TimestampMs> first_timestamp;
  SegmentIndexes::State indexes;  // bytes_since_entry counts from 0 when a segment is opened
};

// The active segment: its `.log`, both sparse indexes, preallocated, and its transaction index. One
// thread at a time.
class SegmentWriter {
 public:
  // A new one, which must not be there; only its `.log` is made (with `preallocate`, segment.bytes
  // of zeros that take no room), the indexes come with the first append, as a broker's do.
  static Result<std::unique_ptr<SegmentWriter>> create(WriteDir& dir, Offset base_offset,
                                                       const LogConfig& config);
  // One that recovery has found whole.
  static Result<std::unique_ptr<SegmentWriter>> open(WriteDir& dir, const WrittenSegment& segment,
                                                     const LogConfig& config);

  const WrittenSegment& segment() const { return segment_; }
  bool indexes_are_full() const { return indexes_ && indexes_->is_full(); }

  // The batch is whole, fits, and bears its offsets. After an error it is cut away again, indexes
  // included; if even that failed, is_broken().
  Result<void> append(const BatchHeader& header, Bytes batch,
                      const std::optional<AbortedTransaction>& aborted);
  // Nothing can be appended any more, nor be called durable: half an append could not be cut away,
  // or a sync failed. The kernel tells of lost pages once; a later success would speak of others.
  bool is_broken() const { return broken_; }
  // Whether its `.log` is still there for others: somebody may have removed it.
  bool has_name() const { return log_->has_name(); }

  Result<void> sync_log();
  // The last time entry, all files trimmed and durable. The last call.
  Result<void> seal();

 private:
  SegmentWriter(WriteDir& dir, const WrittenSegment& segment, const LogConfig& config,
                std::unique_ptr<WriteFile> log)
      : dir_(dir), config_(config), segment_(segment), log_(std::move(log)) {}
  Result<void> open_indexes();
  Result<void> add_aborted(const AbortedTransaction& aborted);
  void cut_away(const WrittenSegment& before);
  Result<void> synced(Result<void> done);

  WriteDir& dir_;
  const LogConfig config_;
  WrittenSegment segment_;
  const std::unique_ptr<WriteFile> log_;
  std::optional<SegmentIndexes> indexes_;
  std::unique_ptr<WriteFile> transaction_index_;
  std::int64_t transaction_index_bytes_ = 0;
  bool broken_ = false;
};

std::string render_aborted_transaction(const AbortedTransaction& aborted);

}  // namespace offsetfs::storage
