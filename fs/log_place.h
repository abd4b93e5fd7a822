#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "storage/batch_header.h"
#include "storage/partition_log.h"
#include "storage/result.h"
#include "storage/segment.h"
#include "storage/units.h"

namespace offsetfs::fs {

// A batch by where it lies and by what it is, so that it can be told later whether it still does.
struct PlacedBatch {
  storage::Offset segment_base_offset{};
  // The open file that it was read from. An inode's number tells less: it comes again soon.
  std::weak_ptr<const storage::Segment> segment;
  storage::Position position{};
  storage::BatchHeader header;

  storage::Position end() const { return position + header.size_bytes; }
};

enum class PlacedState {
  kThere,
  kPassed,    // retention or compaction took it: what follows it follows it still
  kReplaced,  // truncated away; other records may be at its offsets now
};
// Costs one small read as long as the segment was not replaced. kIo alone is an error.
storage::Result<PlacedState> state_of(const PlacedBatch& batch, const storage::PartitionLog& log,
                                      storage::Offset log_start_offset);

// Whether it lies in this file where it lay.
storage::Result<bool> lies_there(const PlacedBatch& batch, const storage::Segment& segment);

// How far a reader has come in a log that lives under it: the offset counts, whatever happens to
// segments and batches; the rest spares it a search, or guards it against records that took the
// place of others.
struct LogPlace {
  storage::Offset offset{};  // nothing below it is to be given any more

  // Where the batch with that offset begins, or the next one, and how far into it the reader is.
  struct Hint {
    storage::Offset segment_base_offset{};
    std::weak_ptr<const storage::Segment> segment;
    storage::Position position{};
    std::uint32_t record_position = 0;  // as RecordReader::seek() takes it
    std::int32_t ordinal = 0;
    std::uint32_t crc = 0;                         // of a batch that was begun
    std::optional<storage::Offset> expected = {};  // the next_offset of the batch before
  };
  std::optional<Hint> hint;

  // The last batch of which something was given.
  std::optional<PlacedBatch> given;

  // The last batch behind it that was passed since nothing in it is shown, and where that began.
  // Should others have taken its place, they are still to be given.
  std::optional<PlacedBatch> passed;
  storage::Offset passed_from{};

  // Whether the hint speaks of `segment`: it is the very file, or `given` lies in it where it lay
  // and the hint is of its end, or of a record in it.
  bool hint_holds_in(const std::shared_ptr<const storage::Segment>& segment) const;
};

}  // namespace offsetfs::fs
