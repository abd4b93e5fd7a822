#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fs/node_facts.h"
#include "fs/renderer.h"
#include "fs/source_access.h"
#include "storage/log_source.h"
#include "storage/mutex.h"
#include "storage/result.h"

namespace offsetfs::fs {

// A partition as the tree shows it: its log, and what every view of it needs beside that.
struct PartitionView {
  // `prompt`: whoever was told of its segments is told when they change.
  PartitionView(std::uint32_t partition_id,
                std::shared_ptr<const storage::PartitionLog> partition_log, bool prompt = false)
      : id(partition_id),
        log(std::move(partition_log)),
        context{log->topic_partition().topic, log->topic_partition().partition, log->node_id()},
        access(log),
        is_prompt(prompt) {}

  // Whether the record there will never be another one: not by a new leader's log, not by a
  // recovery. (It may be deleted.) That is so below the high watermark; where none is known,
  // because the directory is alone, below the active segment. Asked for every lookup, so an answer
  // "not yet" may be kRecheckMs old.
  bool is_final(storage::Offset offset) const;

  // Nothing in a partition without segments.
  std::optional<storage::SegmentEntry> active_segment() const;
  bool is_active(const storage::SegmentEntry& entry) const;

  const std::uint32_t id;
  const std::shared_ptr<const storage::PartitionLog> log;
  const RenderContext context;
  const SourceAccess access;
  const bool is_prompt;

  // How long the kernel may believe what only a change of the segments can make untrue.
  double keep() const { return is_prompt ? kWhileWatched : kBriefly; }

 private:
  static constexpr std::int64_t kRecheckMs = 100;

  storage::Offset final_below() const;

  // What is below was found to be final.
  mutable std::atomic<std::int64_t> final_below_ = 0;
  mutable std::atomic<std::int64_t> checked_ms_ = INT64_MIN;
  mutable std::atomic<std::uint64_t> losses_ = 0;  // of the log, when that was found
};

// The partitions of a source by id and by name. Any thread.
class Partitions {
 public:
  explicit Partitions(std::shared_ptr<const storage::LogSource> source)
      : source_(std::move(source)) {}

  // From now on what the kernel was told is taken back when it changes. Before the first view().
  void set_taken_back() { taken_back_ = true; }

  // kNotFound: that incarnation is gone.
  storage::Result<std::shared_ptr<const PartitionView>> view(std::uint32_t id) const;

  std::shared_ptr<const std::vector<storage::LogSource::Partition>> all() const {
    return source_->partitions();
  }
  std::optional<storage::LogSource::Partition> find(std::string_view name) const;
  // The one that bears the plain name TOPIC-PARTITION.
  std::optional<storage::LogSource::Partition> find(std::string_view topic,
                                                    std::int64_t partition) const;
  // In order, each once; of the live ones.
  std::vector<std::string> topics() const;
  std::vector<std::int32_t> partitions_of(std::string_view topic) const;

 private:
  const std::shared_ptr<const storage::LogSource> source_;
  std::atomic<bool> taken_back_ = false;
  mutable storage::Mutex mutex_;
  mutable std::unordered_map<std::uint32_t, std::shared_ptr<const PartitionView>> views_
      GUARDED_BY(mutex_);
};

}  // namespace offsetfs::fs
