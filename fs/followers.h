#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <unordered_map>

#include "fs/followed_log.h"
#include "fs/follower.h"
#include "fs/partitions.h"
#include "storage/mutex.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// All followers of a mount. Any thread.
class Followers {
 public:
  struct Options {
    bool show_control = false;
    // Lines that several followers want, all together; beyond it the longest unused go.
    std::size_t chunks_bytes = 8U << 20;
    int threads = 2;  // that serve those who were woken
  };

  // `resources` must outlive this.
  Followers(std::shared_ptr<const storage::LogSource> source, StreamResources& resources,
            LogSink log, const Options& options);
  ~Followers();
  Followers(const Followers&) = delete;
  Followers& operator=(const Followers&) = delete;

  // `follow/START.FORM`: the follower stands where START means as of now.
  storage::Result<std::shared_ptr<Follower>> open(std::shared_ptr<const PartitionView> view,
                                                  Form form, const FollowStart& start,
                                                  storage::TimestampMs now,
                                                  std::stop_token stop = {});
  // Who may read what is followed.
  static Access access(const PartitionView& view);

  // Wakes all: they find the end of their files.
  void stop();

  // For `stats`.
  struct Counters {
    std::int64_t followers = 0;
    std::int64_t waiting = 0;
    std::uint64_t missed_offsets = 0;
    std::size_t chunks_bytes = 0;
  };
  Counters counters() const;

 private:
  std::shared_ptr<FollowedLog> followed(const std::shared_ptr<const PartitionView>& view);

  const std::shared_ptr<FollowShared> shared_;
  storage::Mutex mutex_;
  std::unordered_map<std::uint32_t, std::weak_ptr<FollowedLog>> logs_ GUARDED_BY(mutex_);
};

}  // namespace offsetfs::fs
