#pragma once

#include <cstdint>
#include <string_view>

#include "fs/node.h"
#include "fs/node_facts.h"
#include "fs/partitions.h"
#include "storage/result.h"
#include "storage/units.h"

// Symbolic links. All are relative and stay inside the mount, and all are asked for each time: what
// they lead to moves with the log.

namespace offsetfs::fs {

// kSeekLink, kFirstLink, kLastLink, kTimeLink, kActiveLink. `content` is the target. `now` is what
// the word means in a time.
storage::Result<NodeFacts> link_facts(const PartitionView& view, const Node& node,
                                      storage::TimestampMs now);

// kTopicPartition: a link to the directory `name` of the root.
NodeFacts topic_link_facts(const PartitionView& view, std::string_view name);

}  // namespace offsetfs::fs
