#pragma once

#include "fs/node.h"
#include "fs/node_facts.h"
#include "fs/partitions.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// `offsets/N.lookup` (kRecord of form kLookup) and `time/TS.lookup` (kTimeLookup): they exist for
// every number and every time. `now` is what the word means in a time. Who may read the segment it
// speaks of may read such a file.
storage::Result<NodeFacts> lookup_facts(const PartitionView& view, const Node& node,
                                        storage::TimestampMs now);

}  // namespace offsetfs::fs
