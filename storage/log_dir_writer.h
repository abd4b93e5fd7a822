#pragma once

#include <memory>
#include <optional>
#include <set>

#include "storage/dir_lock.h"
#include "storage/mutex.h"
#include "storage/offset_checkpoint.h"
#include "storage/result.h"
#include "storage/topic_partition.h"
#include "storage/units.h"
#include "storage/write_dir.h"

namespace offsetfs::storage {

// What the logs of one log directory that are written by us share: its lock, its checkpoints and
// its clean mark (`.kafka_cleanshutdown`, {"version":0,"brokerEpoch":-1}). Any thread.
//
// The mark speaks of every partition of the directory. It is taken away, durably, before anything
// is written, and comes back at the end only where that is true: every log that was opened here was
// closed cleanly, and the others were clean before or are none.
class LogDirWriter {
 public:
  struct Checkpointed {
    Offset recovery_point{};  // 0: unknown
    Offset high_watermark{};  // 0: unknown
    std::optional<Offset> log_start_offset;
    std::optional<Offset> first_dirty_offset;  // compaction has cleaned everything below
  };

  // `lock` null: somebody else sees to it. A checkpoint that can't be read is kCorrupt.
  static Result<std::shared_ptr<LogDirWriter>> open(std::shared_ptr<WriteDir> dir,
                                                    std::optional<DirLock> lock);

  // The directory was marked clean when it was opened.
  bool was_clean() const { return was_clean_; }
  Checkpointed checkpointed(const TopicPartition& topic_partition) const;

  // A writer begins with the log. True if it was left clean: by whoever had the directory before,
  // or by us since; not if it was opened here and never closed.
  bool opened(const TopicPartition& topic_partition);
  // Writes the checkpoints; entries of other partitions stay. `log_start_offset`: only where it
  // lies behind the first segment's base, otherwise the entry goes. The high watermark of a log
  // without replicas is its end, but only what was flushed is written as that: a power cut must not
  // take back what it covers.
  Result<void> checkpoint(const TopicPartition& topic_partition, Offset recovery_point,
                          std::optional<Offset> log_start_offset);
  // Writes the cleaner's checkpoint.
  Result<void> checkpoint_cleaner(const TopicPartition& topic_partition, Offset first_dirty_offset);
  // The log was removed, and one that is made anew inherits nothing: its entries go, durably.
  Result<void> forget(const TopicPartition& topic_partition);
  void closed_cleanly(const TopicPartition& topic_partition);
  // The mark, if it is true, and the lock is let go. True if the mark was written.
  Result<bool> close();

 private:
  LogDirWriter(std::shared_ptr<WriteDir> dir, std::optional<DirLock> lock, bool was_clean)
      : dir_(std::move(dir)), was_clean_(was_clean), lock_(std::move(lock)) {}
  Result<bool> is_clean_now() const REQUIRES(mutex_);

  const std::shared_ptr<WriteDir> dir_;
  const bool was_clean_;
  mutable Mutex mutex_;
  std::optional<DirLock> lock_ GUARDED_BY(mutex_);
  OffsetCheckpoint recovery_points_ GUARDED_BY(mutex_);
  OffsetCheckpoint log_start_offsets_ GUARDED_BY(mutex_);
  OffsetCheckpoint high_watermarks_ GUARDED_BY(mutex_);
  OffsetCheckpoint first_dirty_offsets_ GUARDED_BY(mutex_);
  std::set<TopicPartition> open_ GUARDED_BY(mutex_);
  std::set<TopicPartition> clean_ GUARDED_BY(mutex_);
};

}  // namespace offsetfs::storage
