#pragma once

#include <cstdint>
#include <optional>

#include "fs/node.h"
#include "storage/batch_header.h"

namespace offsetfs::fs {

// What is cheaply known of a stream's log.
struct LogMeasures {
  std::int64_t log_bytes = 0;
  std::int64_t most_records = 0;                    // no more than this many offsets are covered
  std::size_t topic_bytes = 0;                      // every JSON line bears the topic
  std::optional<storage::BatchHeader> first_batch;  // its codec stands for all
};

// What stat says of a stream that was not opened yet: at or above the truth where the record's own
// overhead in the log bounds that of its line (`.values`, `.keys`, uncompressed), a guess on the
// high side elsewhere. 0 only for no log at all.
std::int64_t estimate_stream_size(Form form, const LogMeasures& measures);
// The same for batches.jsonl.
std::int64_t estimate_batches_size(const LogMeasures& measures);

}  // namespace offsetfs::fs
