#pragma once

#include <stop_token>
#include <string>

#include "fs/partitions.h"
#include "storage/partition_log.h"
#include "storage/result.h"

namespace offsetfs::fs {

// damage.jsonl: an object for each stretch of the segment's `.log` that can't be read: position,
// end, bytes, first_offset, next_offset (null: up to the segment's end) and reason. Reads the whole
// segment; ends with EINTR at `stop`.
storage::Result<std::string> damage_lines(const PartitionView& view,
                                          const storage::SegmentEntry& entry,
                                          const std::stop_token& stop);

}  // namespace offsetfs::fs
