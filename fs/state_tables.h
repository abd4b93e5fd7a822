#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "fs/partitions.h"
#include "storage/result.h"

// The tables of state/ that are gathered from all segments.

namespace offsetfs::fs {

// transactions.tsv: those that were aborted, as the transaction indexes have them, and those that
// are open at the log's end (last_offset and last_stable_offset -1).
//
//   producer_id first_offset last_offset last_stable_offset state
storage::Result<std::string> transaction_table(const PartitionView& view,
                                               const std::stop_token& stop);

// compaction.tsv: what the log cleaner has done with each segment: "clean" up to the cleaner's
// offset, "dirty" behind it, and the active one, which it never touches.
//
//   base_offset next_offset bytes state
storage::Result<std::string> compaction_table(const PartitionView& view,
                                              const std::stop_token& stop);

}  // namespace offsetfs::fs
