#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/leader_epochs.h"
#include "storage/log_config.h"
#include "storage/producer_state.h"
#include "storage/result.h"
#include "storage/segment_writer.h"
#include "storage/units.h"
#include "storage/write_dir.h"

namespace offsetfs::storage {

// What was done to a log when it was opened for writing: everything that was cut, removed or passed
// over. Producer snapshots that have been superseded go unsaid.
struct RecoveryReport {
  struct Cut {
    std::string file;
    Position position{};
    std::int64_t bytes = 0;
    std::string why;
  };
  bool was_clean = false;  // the clean mark held, and no segment had to be walked
  std::int64_t segments_walked = 0;
  std::int64_t batches_walked = 0;
  std::int64_t bytes_walked = 0;
  std::vector<Cut> cuts;
  std::vector<std::string> removed;  // .deleted, .cleaned, indexes without a .log, later snapshots
  std::vector<std::string> gaps;     // offsets that are in no segment, a sentence each
  std::vector<std::string> notes;    // what was wrong besides, a sentence each

  std::string to_string() const;  // a line each; empty if there is nothing to say
};

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
// With the clean mark nothing is scanned but what lies behind the last entry of a segment's index:
// of the active one the batches, of the others, if the log is not compacted, a few headers for the
// gaps. Without it every segment from the one that holds the recovery point on is
// walked, in bounded memory, and its three indexes are made anew, byte for byte as a broker's
// recovery makes them; so is, mark or not, a segment whose `.index` is missing. What a walk meets
// is one of three:
//
//   torn         the end of the active segment is no whole batch, and nothing valid lies behind it;
//                or, at or above the recovery point, a hole of zeros that was never written is the
//                reason: a power cut leaves such holes, sectors long, even with whole batches
//                behind them. It is cut away, and the report says so; unless the log would end
//                before its start, its recovery point or its high watermark then, which is
//                kCorrupt, and untouched.
//   damaged      anything else that is no batch: kCorrupt. Neither the `.log` nor an index was
//                touched. A broker cuts here, and drops all later segments.
//   unsupported  a magic or a codec that no Kafka has written yet: kUnsupported, untouched too.
//
// Where a hole is told from damage: only zeros from the bad batch's front to the next sector (512
// bytes), or a whole sector of zeros before the next valid batch. So damage above the recovery
// point to a batch that holds a sector of zeros itself is taken for a hole; what was flushed and
// checkpointed never is.
//
// Files of a compaction that was cut short are settled first, as segment_list.h says: what is
// complete takes the place of what it was made from, anything else goes. A `.log.swap` that is
// damaged is kCorrupt, and what it was made from stays, by whatever name.
//
// Source: Kafka's LogLoader, LogSegment.recover. Done twice it changes nothing the second time.
Result<RecoveredLog> recover_log(WriteDir& dir, const RecoveryOptions& options);

}  // namespace offsetfs::storage
