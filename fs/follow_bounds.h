#pragma once

#include "storage/partition_log.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// The offsets that a follower may read now: [log_start_offset, end). It waits at `end`, unless that
// is the last one: of a topic that was deleted.
struct FollowBounds {
  storage::Offset log_start_offset{};
  storage::Offset end{};
  bool is_last = false;
};

// Asked of the log afresh. The one place that says how far a follower may read: whatever ends the
// log before its last batch (`until=`) ends it here.
storage::Result<FollowBounds> follow_bounds(const storage::PartitionLog& log);

}  // namespace offsetfs::fs
