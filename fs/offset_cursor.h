#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "storage/batch_header.h"
#include "storage/log_cursor.h"
#include "storage/partition_log.h"
#include "storage/record_batch.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// Walks the offsets of a partition that bear a visible record, a batch at a time: by headers alone
// where a header tells all (its count is its range), by the records where compaction left gaps.
//
// It survives what happens to the log meanwhile: segments that were deleted are passed over, what
// is appended is met. Damage is passed over too and remembered. One thread.
class OffsetCursor {
 public:
  struct Batch {
    storage::BatchHeader header;
    storage::Offset segment_base_offset{};
    // The visible offsets, ascending; not filled in where `dense`: then they are all of the
    // header's range.
    std::vector<storage::Offset> offsets;
    bool dense = false;
  };

  OffsetCursor(std::shared_ptr<const storage::PartitionLog> log, bool show_control);

  // The first batch with a visible offset at or after `from`; null at the log's end. Cheap when
  // `from` lies in what was returned last or follows it. Valid until the next call.
  storage::Result<const Batch*> at_or_after(storage::Offset from);
  // That batch with its records.
  storage::Result<std::shared_ptr<const storage::DecodedBatch>> decode() const {
    return cursor_->decode();
  }

  // Damage was met: what was walked over is not all there is.
  bool met_damage() const { return met_damage_; }

 private:
  bool take(const storage::BatchScanner::Batch& batch);
  bool take_decoded();

  const std::shared_ptr<const storage::PartitionLog> log_;
  const bool show_control_;
  std::optional<storage::LogCursor> cursor_;
  Batch batch_;
  // batch_ is the answer to every `from` in [answers_from_, batch_.header.last_offset].
  bool has_batch_ = false;
  storage::Offset end_{INT64_MAX};  // of what is shown
  storage::Offset answers_from_{};
  bool met_damage_ = false;
};

}  // namespace offsetfs::fs
