#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "storage/leader_epochs.h"
#include "storage/log_config.h"
#include "storage/producer_state.h"
#include "storage/recovery_report.h"
#include "storage/result.h"
#include "storage/segment_writer.h"
#include "storage/units.h"
#include "storage/write_dir.h"

namespace offsetfs::storage {

struct RecoveredLog {
  std::vector<WrittenSegment> segments;  // by base offset, at least one; the last is active
  Offset log_start_offset{};
  Offset log_end_offset{};
  Offset recovery_point{};
  LeaderEpochs leader_epochs;
  ProducerState producers;     // at the log's end
  Offset snapshot_offset{-1};  // of the newest producer snapshot; -1: there is none
  RecoveryReport report;
};

struct RecoveryOptions {
  LogConfig config;
  bool clean = false;       // the directory bore the clean mark
  Offset recovery_point{};  // everything below was flushed
  // As checkpointed:
  Offset high_watermark{};  // everything below was acknowledged
  std::optional<Offset> log_start_offset;
  std::optional<Offset> first_dirty_offset;  // everything below was compacted
};

// Makes the directory of a partition fit to be appended to. An empty one gets a first segment.
//
// A log that ends before one of these three is kCorrupt in any case: offsets that were given once
// are not given again. Segments that are missing elsewhere are no reason to refuse, but said: the
// report has the gaps. A log that is or was compacted has none.
//
// Files of a compaction that was cut short are settled first (interrupted_compaction.h).
//
// With the clean mark nothing is scanned but what lies behind the last entry of a segment's index
// (segment_end.h): of the active one the batches, of the others, if the log is not compacted, a few
// headers for the gaps. Without it every segment from the one that holds the recovery point on is
// walked (segment_walk.h), and its three indexes are made anew; so is, mark or not, a segment whose
// `.index` is missing. A walk cuts away a torn tail of the active segment, and the report says so.
// Damage anywhere else is kCorrupt, a magic or a codec that no Kafka has written yet kUnsupported:
// neither that segment's `.log` nor its indexes are touched.
//
// Source: Kafka's LogLoader. Done twice it changes nothing the second time.
Result<RecoveredLog> recover_log(WriteDir& dir, const RecoveryOptions& options);

}  // namespace offsetfs::storage
