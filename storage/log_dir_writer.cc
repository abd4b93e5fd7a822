#include "storage/log_dir_writer.h"

#include <algorithm>
#include <utility>

namespace offsetfs::storage {
namespace {

constexpr const char* kCleanMark = ".kafka_cleanshutdown";
constexpr std::size_t kMostCheckpointBytes = 64 << 20;

Result<OffsetCheckpoint> read_checkpoint(const WriteDir& dir, const std::string& name) {
  auto text = dir.read_whole(name, kMostCheckpointBytes);
  if (!text && text.error().code == Errc::kNotFound) return OffsetCheckpoint{};
  if (!text) return fail(std::move(text.error()));
  return parse_offset_checkpoint(*text, dir.name_of(name));
}

}  // namespace

Result<std::shared_ptr<LogDirWriter>> LogDirWriter::open(std::shared_ptr<WriteDir> dir,
                                                         std::optional<DirLock> lock) {
  ASSIGN_OR_RETURN(auto recovery_points, read_checkpoint(*dir, kRecoveryPointCheckpoint));
  ASSIGN_OR_RETURN(auto log_start_offsets, read_checkpoint(*dir, kLogStartOffsetCheckpoint));
  ASSIGN_OR_RETURN(auto high_watermarks, read_checkpoint(*dir, kHighWatermarkCheckpoint));
  ASSIGN_OR_RETURN(auto first_dirty_offsets, read_checkpoint(*dir, kCleanerOffsetCheckpoint));
  const bool was_clean = dir->info(kCleanMark).has_value();
  if (was_clean) {
    RETURN_IF_ERROR(dir->unlink_if_there(kCleanMark));
    RETURN_IF_ERROR(dir->sync_dir());
  }
  std::shared_ptr<LogDirWriter> writer(
      new LogDirWriter(std::move(dir), std::move(lock), was_clean));
  const MutexLock guard(writer->mutex_);
  writer->recovery_points_ = std::move(recovery_points);
  writer->log_start_offsets_ = std::move(log_start_offsets);
  writer->high_watermarks_ = std::move(high_watermarks);
  writer->first_dirty_offsets_ = std::move(first_dirty_offsets);
  return writer;
}

LogDirWriter::Checkpointed LogDirWriter::checkpointed(const TopicPartition& topic_partition) const {
  const MutexLock guard(mutex_);
  Checkpointed found;
  if (const auto point = recovery_points_.find(topic_partition); point != recovery_points_.end())
    found.recovery_point = point->second;
  if (const auto mark = high_watermarks_.find(topic_partition); mark != high_watermarks_.end())
    found.high_watermark = mark->second;
  if (const auto start = log_start_offsets_.find(topic_partition);
      start != log_start_offsets_.end())
    found.log_start_offset = start->second;
  if (const auto dirty = first_dirty_offsets_.find(topic_partition);
      dirty != first_dirty_offsets_.end())
    found.first_dirty_offset = dirty->second;
  return found;
}

bool LogDirWriter::opened(const TopicPartition& topic_partition) {
  const MutexLock guard(mutex_);
  const bool closed_by_us = clean_.erase(topic_partition) != 0;
  const bool first_time = open_.insert(topic_partition).second;
  return closed_by_us || (was_clean_ && first_time);
}

Result<void> LogDirWriter::checkpoint(const TopicPartition& topic_partition, Offset recovery_point,
                                      std::optional<Offset> log_start_offset) {
  const MutexLock guard(mutex_);
  recovery_points_[topic_partition] = recovery_point;
  Offset& high_watermark = high_watermarks_[topic_partition];
  high_watermark = std::max(high_watermark, recovery_point);
  log_start_offsets_.erase(topic_partition);
  if (log_start_offset) log_start_offsets_[topic_partition] = *log_start_offset;
  RETURN_IF_ERROR(
      dir_->replace(kRecoveryPointCheckpoint, render_offset_checkpoint(recovery_points_)));
  RETURN_IF_ERROR(
      dir_->replace(kLogStartOffsetCheckpoint, render_offset_checkpoint(log_start_offsets_)));
  return dir_->replace(kHighWatermarkCheckpoint, render_offset_checkpoint(high_watermarks_));
}

Result<void> LogDirWriter::checkpoint_cleaner(const TopicPartition& topic_partition,
                                              Offset first_dirty_offset) {
  const MutexLock guard(mutex_);
  first_dirty_offsets_[topic_partition] = first_dirty_offset;
  return dir_->replace(kCleanerOffsetCheckpoint, render_offset_checkpoint(first_dirty_offsets_));
}

Result<void> LogDirWriter::forget(const TopicPartition& topic_partition) {
  const MutexLock guard(mutex_);
  const std::pair<const char*, OffsetCheckpoint*> checkpoints[] = {
      {kRecoveryPointCheckpoint, &recovery_points_},
      {kLogStartOffsetCheckpoint, &log_start_offsets_},
      {kHighWatermarkCheckpoint, &high_watermarks_},
      {kCleanerOffsetCheckpoint, &first_dirty_offsets_}};
  for (const auto& [name, entries] : checkpoints)
    if (entries->erase(topic_partition) != 0)
      RETURN_IF_ERROR(dir_->replace(name, render_offset_checkpoint(*entries)));
  return {};
}

void LogDirWriter::closed_cleanly(const TopicPartition& topic_partition) {
  const MutexLock guard(mutex_);
  open_.erase(topic_partition);
  clean_.insert(topic_partition);
}

Result<bool> LogDirWriter::is_clean_now() const {
  if (!open_.empty()) return false;
  if (was_clean_) return true;
  ASSIGN_OR_RETURN(const auto directories, dir_->list_directories());
  for (const auto& name : directories) {
    const auto partition = parse_partition_dir(name);
    // A broker recovers all but those that wait for their removal.
    if (!partition || partition->state == DirState::kDelete) continue;
    if (partition->state != DirState::kLive || !clean_.contains(partition->topic_partition))
      return false;
  }
  return true;
}

Result<bool> LogDirWriter::close() {
  const MutexLock guard(mutex_);
  ASSIGN_OR_RETURN(const bool clean, is_clean_now());
  if (clean) RETURN_IF_ERROR(dir_->replace(kCleanMark, R"({"version":0,"brokerEpoch":-1})"));
  if (lock_) lock_->release();
  return clean;
}

}  // namespace offsetfs::storage
