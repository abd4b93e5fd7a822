#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/dir.h"
#include "storage/mutex.h"
#include "storage/problems.h"
#include "storage/topic_partition.h"
#include "storage/units.h"

namespace offsetfs::storage {

// What a broker keeps in a log directory beside its partitions: the four offset checkpoints and
// meta.properties. A partition mount looks into the parent directory for them, and for nothing else
// there. Absent files say nothing; bad ones are named in problems and say nothing either. One that
// can't be read for a while is named too, and what it said stands.
//
// Read again when a file has changed, which is looked at once in kRecheckMs at most; where the
// source may never answer by refresh() alone, which a LogWatcher calls, so that nobody else waits
// for it. Any thread.
class LogDirFiles {
 public:
  static constexpr std::int64_t kRecheckMs = 250;
  static constexpr std::int64_t kLockMs = 1000;

  // What the checkpoints say of one partition.
  struct Checkpointed {
    std::optional<Offset> log_start_offset;
    std::optional<Offset> high_watermark;
    std::optional<Offset> recovery_point;
    std::optional<Offset> cleaner_offset;
    friend bool operator==(const Checkpointed&, const Checkpointed&) = default;
  };

  // `dir` null: there is no such directory, or it can't be read.
  LogDirFiles(std::shared_ptr<const SourceDir> dir, std::shared_ptr<Problems> problems);
  ~LogDirFiles();

  Checkpointed checkpointed(const TopicPartition& topic_partition) const;
  // The same of the one that every lookup needs.
  std::optional<Offset> log_start_offset(const TopicPartition& topic_partition) const;
  // meta.properties' node.id, or the broker.id of older ones.
  std::optional<std::int32_t> node_id() const;
  // Whether a broker is at work here: it holds `.lock`. Looked at once in kLockMs at most.
  bool is_broker_at_work() const;
  // Looks at the files now.
  void refresh() const;
  // Where they lie; may be null.
  const std::shared_ptr<const SourceDir>& dir() const { return dir_; }
  // Whether this is one of them, by its name.
  static bool is_one(std::string_view name);

 private:
  // Long ago on any clock, yet a time that can be subtracted.
  static constexpr std::int64_t kNeverChecked = INT64_MIN / 2;

  struct Contents;
  std::shared_ptr<const Contents> contents(bool look_now) const;
  void look_at(std::size_t which, Contents& contents) const;

  const std::shared_ptr<const SourceDir> dir_;
  const std::shared_ptr<Problems> problems_;
  mutable Mutex mutex_;
  mutable std::shared_ptr<const Contents> contents_ GUARDED_BY(mutex_);
  mutable std::int64_t checked_ms_ GUARDED_BY(mutex_) = kNeverChecked;
  mutable std::atomic<std::int64_t> lock_checked_ms_ = kNeverChecked;
  mutable std::atomic<bool> locked_ = false;
};

}  // namespace offsetfs::storage
