#include "fs/follow_bounds.h"

namespace offsetfs::fs {

storage::Result<FollowBounds> follow_bounds(const storage::PartitionLog& log) {
  ASSIGN_OR_RETURN(const storage::LogOffsets offsets, log.offsets());
  return FollowBounds{offsets.log_start_offset, offsets.readable_end,
                      log.state() == storage::DirState::kDelete};
}

}  // namespace offsetfs::fs
