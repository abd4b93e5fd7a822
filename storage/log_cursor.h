#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "storage/batch_scanner.h"
#include "storage/partition_log.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::storage {

// Hands out the batches of a partition one after another, from an offset on, over however many
// segments: for listings, ranges and streams. Memory: the scanner's piece. A segment that vanishes
// in between is read to its end, as it is open; the next one is looked for in a fresh listing, so
// that a cursor passes over what retention took and goes on with the next offset there is. One
// thread.
class LogCursor {
 public:
  enum class Step {
    kBatch,    // batch() holds it
    kEnd,      // `until`, or the log end as it is now: next() may be called again later
    kDamaged,  // error() says what. The next call goes on behind the damage
    kIo,       // error() says what; the next call tries again
  };
  struct Options {
    bool headers_only = false;  // batch().entry is empty, and no CRC is checked
    std::size_t piece_bytes = 1U << 20;
  };

  // Batches that end at or after `from`, until one begins at or after `until`. The first may begin
  // before `from`: batches are never split.
  LogCursor(std::shared_ptr<const PartitionLog> log, Offset from, Offset until, Options options);
  LogCursor(std::shared_ptr<const PartitionLog> log, Offset from, Offset until)
      : LogCursor(std::move(log), from, until, Options{}) {}
  ~LogCursor();

  Step next();
  // Valid until the next call.
  const BatchScanner::Batch& batch() const { return scanner_->batch(); }
  Offset segment_base_offset() const { return segment_->base_offset(); }
  // Of the batch's offsets, those at or above this lie in the next segment too, and count there:
  // only where segments overlap is this not above the batch.
  Offset records_end() const { return segment_end_; }
  // Checks and decodes the batch that next() gave; reads its body where that was left out.
  Result<std::shared_ptr<const DecodedBatch>> decode() const;
  // Every batch that ends below this was handed out, or was damaged: where to go on.
  Offset next_offset() const { return next_offset_; }
  const Error& error() const { return error_; }
  // After kDamaged: what it took.
  const Damage& damage() const { return damage_; }

 private:
  Result<bool> enter_segment();
  Result<bool> try_to_enter();
  void leave_segment();
  bool stepped_over();
  bool damaged();
  bool lost_behind();

  const std::shared_ptr<const PartitionLog> log_;
  const Offset until_;
  const Options options_;
  Offset next_offset_;
  std::shared_ptr<const Segment> segment_;  // what scanner_ reads
  SegmentEntry entry_;                      // of it
  Position limit_{};
  Offset segment_end_ = PartitionLog::kNoNextSegment;  // the next segment's base offset
  std::optional<BatchScanner> scanner_;                // none: a segment is to be looked for
  Position stepped_to_{-1};
  std::optional<Offset> left_;  // base offset of the segment that was left last
  Error error_;
  Damage damage_;
};

}  // namespace offsetfs::storage
