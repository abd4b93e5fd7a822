#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "storage/log_changes.h"
#include "storage/log_compaction.h"
#include "storage/log_retention.h"
#include "storage/log_writer.h"
#include "storage/mutex.h"
#include "storage/partition_log.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// One log that is written, as its writers (record_appender.h) and the housekeeping of
// written_logs.h share it. Any thread.
class WrittenLog {
 public:
  // `reader`: the same log as it is shown, which is told of new and removed segments; may be null.
  WrittenLog(std::unique_ptr<storage::LogWriter> writer,
             std::shared_ptr<const storage::PartitionLog> reader)
      : writer_(std::move(writer)),
        reader_(std::move(reader)),
        retention_(*writer_),
        compaction_(*writer_, storage::LogCompaction::Options{
                                  .must_stop = [this] { return closing_.load(); }}) {}
  // Who is told of changes, and as which partition. Once, before anybody writes.
  void tell(storage::LogChanges* changes, std::uint32_t partition) {
    changes_ = changes;
    partition_ = partition;
  }

  // As LogWriter::append. What is in the log is shown at once.
  storage::Result<storage::LogWriter::Appended> append(std::span<char> batch);
  // Everything appended before this call is durable after it. Who comes while another waits for the
  // disk waits too, and shares the next round with all that came meanwhile. A failure is for good,
  // as LogWriter::flush's.
  storage::Result<void> sync();

  storage::LogWriter& writer() { return *writer_; }
  const storage::LogWriter& writer() const { return *writer_; }

  // --- For the housekeeping: one thread
  // -----------------------------------------------------------

  storage::Result<storage::LogRetention::Run> run_retention(storage::TimestampMs now);
  storage::Result<std::size_t> unlink_due(storage::TimestampMs now);
  // Where cleanup.policy asks for it and enough is dirty.
  storage::Result<storage::LogCompaction::Run> run_compaction(storage::TimestampMs now);
  // A compaction that is under way ends early, and none begins any more. Any thread.
  void stop_compaction() { closing_ = true; }
  storage::TimestampMs next_unlink() const {
    return std::min(retention_.next_due(), compaction_.next_due());
  }
  // Flushes, and writes the checkpoints, if there is something new.
  storage::Result<void> checkpoint();

 private:
  void publish(storage::LogChanges::Change::Kind kind) const;

  const std::unique_ptr<storage::LogWriter> writer_;
  storage::LogChanges* changes_ = nullptr;  // may be null
  std::uint32_t partition_ = 0;
  const std::shared_ptr<const storage::PartitionLog> reader_;
  storage::LogRetention retention_;
  std::atomic<bool> closing_ = false;
  storage::LogCompaction compaction_;
  std::optional<std::pair<storage::Offset, storage::Offset>> checkpointed_;  // start and end

  storage::Mutex sync_mutex_;  // held while the disk is waited for
  storage::Offset synced_ GUARDED_BY(sync_mutex_){-1};
};

}  // namespace offsetfs::fs
