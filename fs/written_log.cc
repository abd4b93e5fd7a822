#include "fs/written_log.h"

#include <utility>

namespace offsetfs::fs {

using storage::LogChanges;
using storage::LogCompaction;
using storage::LogRetention;
using storage::LogWriter;
using storage::MutexLock;
using storage::Offset;
using storage::Result;
using storage::TimestampMs;

Result<LogWriter::Appended> WrittenLog::append(std::span<char> batch) {
  auto appended = writer_->append(batch);
  if (!appended) return appended;
  if (reader_ != nullptr) reader_->count_as_replicated(appended->last_offset + 1);
  if (appended->rolled) publish(LogChanges::Change::Kind::kSegments);
  publish(LogChanges::Change::Kind::kAppended);
  return appended;
}

void WrittenLog::publish(LogChanges::Change::Kind kind) const {
  if (kind == LogChanges::Change::Kind::kSegments && reader_ != nullptr) reader_->refresh();
  if (changes_ != nullptr) changes_->publish({kind, partition_});
}

Result<void> WrittenLog::sync() {
  const Offset end = writer_->log_end_offset();
  const MutexLock lock(sync_mutex_);
  if (synced_ >= end) return {};
  const Offset covered = writer_->log_end_offset();
  RETURN_IF_ERROR(writer_->flush());
  synced_ = covered;
  return {};
}

Result<LogRetention::Run> WrittenLog::run_retention(TimestampMs now) {
  auto run = retention_.run(now);
  if (!run || run->segments > 0) publish(LogChanges::Change::Kind::kSegments);
  return run;
}

Result<LogCompaction::Run> WrittenLog::run_compaction(TimestampMs now) {
  auto run = compaction_.run(now);
  if (!run || run->cleaned) publish(LogChanges::Change::Kind::kSegments);
  return run;
}

Result<std::size_t> WrittenLog::unlink_due(TimestampMs now) {
  auto gone = retention_.unlink_due(now);
  if (gone) {
    const auto more = compaction_.unlink_due(now);
    if (!more) return storage::fail(more.error());
    *gone += *more;
  }
  if (gone && *gone > 0) publish(LogChanges::Change::Kind::kSegments);
  return gone;
}

Result<void> WrittenLog::checkpoint() {
  const std::pair range(writer_->log_start_offset(), writer_->log_end_offset());
  if (checkpointed_ == range) return {};
  RETURN_IF_ERROR(sync());
  RETURN_IF_ERROR(writer_->checkpoint_offsets());
  checkpointed_ = range;
  return {};
}

}  // namespace offsetfs::fs
