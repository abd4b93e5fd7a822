#pragma once

#include <string>

#include "fs/partitions.h"
#include "storage/partition_log.h"
#include "storage/result.h"

namespace offsetfs::fs {

// info.json: one object with what can be told of a segment without reading it through. Fields are
// only ever added.
storage::Result<std::string> segment_info(const PartitionView& view,
                                          const storage::SegmentEntry& entry);

}  // namespace offsetfs::fs
