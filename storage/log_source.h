#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/dir.h"
#include "storage/log_changes.h"
#include "storage/partition_log.h"
#include "storage/problems.h"
#include "storage/result.h"
#include "storage/topic_partition.h"

namespace offsetfs::storage {

// Where logs come from. One kind stands here now, directories (log_dir.h); a remote cluster will
// stand beside it. What a source shows of itself is partitions by name; all else is asked of their
// PartitionLog. Any thread.
class LogSource {
 public:
  // One incarnation of a partition: a topic deleted and created anew has another id. Ids count from
  // 0, are never used again, and a partition keeps its id as long as its directory lives.
  struct Partition {
    std::uint32_t id = 0;
    std::string name;  // as the mount shows it: "orders-3", "orders-3~1", "orders-3.<hex>-delete"
    TopicPartition topic_partition;
    DirState state = DirState::kLive;
  };

  virtual ~LogSource() = default;

  // In name order. A snapshot; cheap after the first call.
  virtual std::shared_ptr<const std::vector<Partition>> partitions() const = 0;
  // Opened at the first call, kept while in use. kNotFound: gone.
  virtual Result<std::shared_ptr<const PartitionLog>> open(std::uint32_t id) const = 0;
  // A source that is one partition's directory: it is shown at the root of the mount.
  virtual bool is_single_partition() const = 0;
  // Damaged, alien or unreadable things met so far; who reads the source adds what they meet.
  virtual Problems& problems() const = 0;
  // The directories the logs lie in, in the order the user gave them: whose modes, and those of the
  // directories above them, say who may look at all.
  virtual const std::vector<std::shared_ptr<const SourceDir>>& dirs() const = 0;
  // Whether a broker is at work on these logs: what takes long then leaves it the disk.
  virtual bool is_broker_at_work() const { return false; }
  // Where changes of the logs are told.
  virtual LogChanges& changes() const = 0;
};

}  // namespace offsetfs::storage
