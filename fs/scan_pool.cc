#include "fs/scan_pool.h"

#include <utility>

#include "storage/io_priority.h"

namespace offsetfs::fs {

void ScanPool::add(std::shared_ptr<Job> job) {
  std::unique_lock lock(mutex_);
  if (stopped_) {
    lock.unlock();
    job->cancel();
    return;
  }
  jobs_.push_back(std::move(job));
  while (static_cast<int>(threads_.size()) < most_threads_)
    threads_.emplace_back([this] { run(); });
  lock.unlock();
  more_.notify_all();
}

void ScanPool::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [this] { return stopped_ || !jobs_.empty(); });
    if (stopped_) return;
    const std::shared_ptr<Job> job = jobs_.front();
    jobs_.splice(jobs_.end(), jobs_, jobs_.begin());
    const auto mine = under_way_.insert(under_way_.end(), job);
    lock.unlock();
    const bool more = [&] {
      const storage::IdleIo idle(is_idle_ && is_idle_());
      return job->work();
    }();
    lock.lock();
    under_way_.erase(mine);
    if (!more) jobs_.remove(job);
  }
}

void ScanPool::stop() {
  std::unique_lock lock(mutex_);
  stopped_ = true;
  auto jobs = std::exchange(jobs_, {});
  jobs.insert(jobs.end(), under_way_.begin(), under_way_.end());
  auto threads = std::exchange(threads_, {});
  lock.unlock();
  for (const auto& job : jobs) job->cancel();
  more_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace offsetfs::fs
