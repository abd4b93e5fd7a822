#include "fs/partitions.h"

#include <algorithm>
#include <set>
#include <utility>

#include "fs/coarse_clock.h"

namespace offsetfs::fs {

using storage::DirState;
using storage::LogSource;
using storage::Result;

bool PartitionView::is_final(storage::Offset offset) const {
  // Where no high watermark is known, a truncation may reach below what seemed to be final.
  const std::uint64_t losses = log->losses();
  if (losses_.load(std::memory_order_relaxed) != losses) {
    losses_.store(losses, std::memory_order_relaxed);
    final_below_.store(0, std::memory_order_relaxed);
    checked_ms_.store(INT64_MIN, std::memory_order_relaxed);
  }
  if (offset.value < final_below_.load(std::memory_order_relaxed)) return true;
  const std::int64_t now_ms = coarse_now_ms();
  const std::int64_t checked_ms = checked_ms_.load(std::memory_order_relaxed);
  if (checked_ms != INT64_MIN && now_ms < checked_ms + kRecheckMs) return false;
  checked_ms_.store(now_ms, std::memory_order_relaxed);
  const storage::Offset below = final_below();
  final_below_.store(below.value, std::memory_order_relaxed);
  return offset < below;
}

storage::Offset PartitionView::final_below() const {
  const auto offsets = log->offsets();
  if (!offsets) return {};
  if (offsets->high_watermark_known) return offsets->high_watermark;
  const auto active = active_segment();
  return active ? active->base_offset : storage::Offset{};
}

std::optional<storage::SegmentEntry> PartitionView::active_segment() const {
  const auto segments = log->segments();
  if (segments->empty()) return std::nullopt;
  return segments->back();
}

bool PartitionView::is_active(const storage::SegmentEntry& entry) const {
  const auto active = active_segment();
  return active && active->base_offset == entry.base_offset && active->suffix == entry.suffix;
}

Result<std::shared_ptr<const PartitionView>> Partitions::view(std::uint32_t id) const {
  auto log = source_->open(id);
  bool prompt = false;
  if (log) {
    {
      const storage::MutexLock lock(mutex_);
      const auto known = views_.find(id);
      if (known != views_.end() && known->second->log == *log) return known->second;
    }
    // Outside the lock: the watcher may be at work for somebody who begins to listen.
    prompt = taken_back_ && source_->changes().is_prompt(id);
  }
  std::shared_ptr<const PartitionView> replaced;  // closes its files after the lock is given back
  const storage::MutexLock lock(mutex_);
  if (!log) {
    const auto gone = views_.find(id);
    if (gone != views_.end()) {
      replaced = std::move(gone->second);
      views_.erase(gone);
    }
    return storage::fail(log.error());
  }
  std::shared_ptr<const PartitionView>& view = views_[id];
  if (view == nullptr || view->log != *log) {
    replaced = std::move(view);
    view = std::make_shared<const PartitionView>(id, std::move(*log), prompt);
  }
  return view;
}

std::optional<LogSource::Partition> Partitions::find(std::string_view name) const {
  const auto partitions = source_->partitions();
  const auto found =
      std::lower_bound(partitions->begin(), partitions->end(), name,
                       [](const LogSource::Partition& partition, std::string_view wanted) {
                         return partition.name < wanted;
                       });
  if (found == partitions->end() || found->name != name) return std::nullopt;
  return *found;
}

std::optional<LogSource::Partition> Partitions::find(std::string_view topic,
                                                     std::int64_t partition) const {
  auto found = find(std::string(topic) + "-" + std::to_string(partition));
  if (!found || found->state != DirState::kLive) return std::nullopt;
  return found;
}

std::vector<std::string> Partitions::topics() const {
  std::set<std::string> topics;
  for (const auto partitions = source_->partitions();
       const LogSource::Partition& partition : *partitions)
    if (partition.state == DirState::kLive) topics.insert(partition.topic_partition.topic);
  return {topics.begin(), topics.end()};
}

std::vector<std::int32_t> Partitions::partitions_of(std::string_view topic) const {
  std::set<std::int32_t> numbers;
  for (const auto partitions = source_->partitions();
       const LogSource::Partition& partition : *partitions) {
    if (partition.state == DirState::kLive && partition.topic_partition.topic == topic)
      numbers.insert(partition.topic_partition.partition);
  }
  return {numbers.begin(), numbers.end()};
}

}  // namespace offsetfs::fs
