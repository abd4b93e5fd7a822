#include "fs/followers.h"

#include <utility>
#include <vector>

namespace offsetfs::fs {

using storage::MutexLock;
using storage::Offset;
using storage::Result;

Followers::Followers(std::shared_ptr<const storage::LogSource> source, StreamResources& resources,
                     LogSink log, const Options& options)
    : shared_(std::make_shared<FollowShared>(std::move(source), resources, options.show_control,
                                             std::move(log), options.chunks_bytes,
                                             options.threads)) {}

Followers::~Followers() { stop(); }

std::shared_ptr<FollowedLog> Followers::followed(const std::shared_ptr<const PartitionView>& view) {
  const MutexLock lock(mutex_);
  std::erase_if(logs_, [](const auto& known) { return known.second.expired(); });
  auto& known = logs_[view->id];
  auto log = known.lock();
  if (log == nullptr) known = log = std::make_shared<FollowedLog>(view, shared_);
  return log;
}

Result<std::shared_ptr<Follower>> Followers::open(std::shared_ptr<const PartitionView> view,
                                                  Form form, const FollowStart& start,
                                                  storage::TimestampMs now, std::stop_token stop) {
  const auto log = followed(view);
  log->listen();  // first, and look second: so nothing is missed
  ASSIGN_OR_RETURN(const FollowBounds bounds, log->look());
  ASSIGN_OR_RETURN(
      const FollowFrom from,
      resolve_follow_start(*view, start, bounds, now, shared_->show_control, std::move(stop)));
  return std::make_shared<Follower>(log, form, from, access(*view));
}

Access Followers::access(const PartitionView& view) {
  return view.access.of_range(Offset{0}, Offset{INT64_MAX});
}

void Followers::stop() {
  shared_->stopped = true;  // nobody begins to wait from here on
  std::vector<std::shared_ptr<FollowedLog>> logs;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, known] : logs_)
      if (auto log = known.lock()) logs.push_back(std::move(log));
  }
  for (const auto& log : logs) log->stop();
  shared_->pool.stop();
}

Followers::Counters Followers::counters() const {
  return {shared_->followers, shared_->waiting, shared_->missed_offsets,
          shared_->chunks.memory_bytes()};
}

}  // namespace offsetfs::fs
