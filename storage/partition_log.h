#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/record_batch.h"
#include "storage/result.h"
#include "storage/segment.h"
#include "storage/segment_list.h"
#include "storage/topic_partition.h"
#include "storage/units.h"

namespace offsetfs::storage {

// The offsets of a partition, as far as a directory tells without its broker:
//   log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset
struct LogOffsets {
  Offset log_start_offset{};
  Offset log_end_offset{};   // the next offset to be written
  Offset high_watermark{};   // checkpointed: a lower bound; clamped into [start, end]
  std::optional<Offset> recovery_point;
  std::optional<Offset> cleaner_offset;
};

// What is at an offset, and how that was found: the content of `offsets/N` and `offsets/N.lookup`.
struct RecordLookup {
  enum class Outcome {
    kPresent,
    kControl,        // a transaction marker or another control record
    kCompacted,      // a gap: no record bears this offset any more
    kBelowLogStart,
    kPastLogEnd,     // at or past the log end offset
    kDamaged,        // its batch can't be read; `reason` says why
  };
  Outcome outcome = Outcome::kPastLogEnd;
  std::shared_ptr<const DecodedBatch> batch;  // kPresent, kControl: owns what `record` views
  Record record;
  std::optional<BatchPlace> place;            // of the batch that holds N, or the first after it
  std::optional<Offset> next;                 // the offset a consumer that seeks to N reads next
  std::string reason;                         // one sentence
};

// What a time leads to.
struct TimeLookup {
  std::optional<Offset> kafka;   // offsetsForTimes' answer: may be a marker, or none
  std::optional<Offset> record;  // the first visible record at or after X (namespace.md, "Times")
  std::optional<BatchPlace> place;
};

// The log of one topic partition: its segments in base-offset order, and lookups across them.
//
// Readers work on a snapshot: replaced as a whole when the directory changed, never edited. A
// segment in use stays readable after retention has unlinked it. Any thread; no lock is held across
// I/O.
class PartitionLog {
 public:
  struct Options {
    DecodeLimits limits;
    bool show_control = false;  // control records are visible (-o control)
  };

  const TopicPartition& topic_partition() const;

  // Live segments by base offset, start-up resolution (.swap, .cleaned, .deleted) already applied in
  // memory; and the others, which are part of no view but their own directory.
  std::shared_ptr<const std::vector<SegmentEntry>> segments() const;
  std::shared_ptr<const std::vector<SegmentEntry>> set_aside() const;
  // Opens a segment, or finds it among the open ones (a bounded number stays open).
  Result<std::shared_ptr<const Segment>> segment(const SegmentEntry& entry) const;
  // The end of the whole, CRC-checked batches of a segment: its file size where sealed and sound.
  Result<Position> valid_end(const SegmentEntry& entry) const;

  Result<LogOffsets> offsets() const;

  // Floor search over segment names, binary search in the sparse index, short scan. An Error is an
  // I/O failure; everything else is an outcome.
  Result<RecordLookup> find(Offset offset) const;
  // The first visible record at or after `offset`: none at the log end.
  Result<std::optional<Offset>> seek(Offset offset) const;
  Result<std::optional<Offset>> first_record() const;
  Result<std::optional<Offset>> last_record() const;
  Result<TimeLookup> find_time(TimestampMs target) const;
};

}  // namespace offsetfs::storage
