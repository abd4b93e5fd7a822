#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "storage/batch_scanner.h"
#include "storage/dir.h"
#include "storage/file.h"
#include "storage/offset_index.h"
#include "storage/record_batch.h"
#include "storage/result.h"
#include "storage/segment_files.h"
#include "storage/time_index.h"
#include "storage/units.h"

namespace offsetfs::storage {

// Where a batch was found, and what it took to find it.
struct BatchPlace {
  BatchHeader header;
  Position position{};
  Offset segment_base_offset{};
  std::optional<OffsetPosition> index_entry;  // where the scan began; none: at the file's front
  std::int32_t batches_scanned = 0;
};

// One `.log` with its indexes, opened: batches lie back to back from position 0, their offsets
// ascend, with gaps after compaction. Immutable but for the living end of an active segment's file,
// which every call takes as a parameter (`valid_end`, a batch boundary that the partition log keeps).
// Any thread.
//
// Indexes are hints. An entry is believed only if a plausible batch header stands at its position
// and the target cannot lie before it; else the scan begins at an earlier entry, at last at 0. So a
// missing, stale, padded or wrong index costs time and never changes an answer.
class Segment {
 public:
  // `stem`: path below `dir` up to the 20 digits, with a slash where needed ("orders-3/");
  // `suffix`: for `.deleted`, `.swap`, `.cleaned` files. Indexes are opened when first asked.
  static Result<std::shared_ptr<const Segment>> open(std::shared_ptr<const SourceDir> dir,
                                                     std::string stem, SegmentFileName name);

  Offset base_offset() const { return base_offset_; }
  const File& log() const { return *log_; }
  const FileInfo& opened_info() const { return opened_info_; }

  // The first batch with last_offset >= target, at a position below valid_end. kNotFound: none (the
  // caller goes on in the next segment). kCorrupt: damage lies where the batch would have to be.
  Result<BatchPlace> find_batch(Offset target, Position valid_end) const;
  // The first batch at or after `from` (offsets) with max_timestamp >= target, by the time index.
  Result<BatchPlace> find_batch_by_time(TimestampMs target, Offset from, Position valid_end) const;
  // Reads and checks the whole batch at a place.
  Result<std::shared_ptr<const DecodedBatch>> read_batch(const BatchPlace& place,
                                                         const DecodeLimits& limits) const;

  // Null where the file is absent or is no index at all.
  const OffsetIndex* offset_index() const;
  const TimeIndex* time_index() const;

 private:
  // Private parts are the implementer's.
  const Offset base_offset_{};
  const std::unique_ptr<const File> log_;
  const FileInfo opened_info_;
};

}  // namespace offsetfs::storage
