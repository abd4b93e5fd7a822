#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "storage/leader_epochs.h"
#include "storage/producer_state.h"
#include "storage/recovery_report.h"
#include "storage/result.h"
#include "storage/segment_writer.h"
#include "storage/units.h"
#include "storage/write_dir.h"

namespace offsetfs::storage {

struct WalkOptions {
  std::int64_t index_interval_bytes = 0;
  // Of the segment behind this one, which every batch has to lie below. Absent: this is the active
  // one, whose end may be torn.
  std::optional<Offset> next_base_offset;
  Offset recovery_point{};  // everything below was flushed
  // Whether the log may end there; asked before a torn tail is cut.
  std::function<Result<void>(Offset end)> may_end_at;
};

// What the walks bring forward, from segment to segment. Borrowed.
struct WalkedLog {
  ProducerState& producers;
  LeaderEpochs& leader_epochs;
  RecoveryReport& report;
};

// Walks a segment from its front to its end, in bounded memory, and makes its three indexes anew,
// byte for byte as a broker's recovery makes them. They grow beside the old ones, as `.tmp`, and
// take their place when the walk has ended well; the `.log` is durable then. Of `segment`
// base_offset and size_bytes are to be known; all of it is in what is returned, next_offset as its
// own last batch has it. What a walk meets is one of three:
//
//   torn         the end of the active segment is no whole batch, and nothing valid lies behind it;
//                or, at or above the recovery point, a hole of zeros that was never written is the
//                reason: a power cut leaves such holes, sectors long, even with whole batches
//                behind them. It is cut away, and the report says so; unless the log may not end
//                there, which is the error of may_end_at, and untouched.
//   damaged      anything else that is no batch: kCorrupt. Neither the `.log` nor an index was
//                touched. A broker cuts here, and drops all later segments.
//   unsupported  a magic or a codec that no Kafka has written yet: kUnsupported, untouched too.
//
// Where a hole is told from damage: only zeros from the bad batch's front to the next sector (512
// bytes), or a whole sector of zeros before the next valid batch. So damage above the recovery
// point to a batch that holds a sector of zeros itself is taken for a hole; what was flushed and
// checkpointed never is.
//
// Source: Kafka's LogSegment.recover.
Result<WrittenSegment> walk_segment(WriteDir& dir, const WrittenSegment& segment,
                                    const WalkOptions& options, const WalkedLog& log);

}  // namespace offsetfs::storage
