#include "fs/linger_timer.h"

#include <utility>

namespace offsetfs::fs {

void LingerTimer::call_later(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  waiting_.push_back({std::chrono::steady_clock::now() + linger_, std::move(call)});
  if (!thread_.joinable())
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  if (waiting_.size() == 1) changed_.notify_one();  // else an earlier one is waited for already
}

void LingerTimer::stop() {
  std::jthread ended;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    waiting_.clear();
    ended = std::move(thread_);
  }
  // Here the thread is asked to stop, and waited for.
}

void LingerTimer::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (waiting_.empty()) {
      changed_.wait(lock, stop, [&] { return !waiting_.empty(); });
      continue;
    }
    const auto due = waiting_.front().due;
    if (std::chrono::steady_clock::now() < due) {
      changed_.wait_until(lock, stop, due, [] { return false; });
      continue;
    }
    const auto call = std::move(waiting_.front().call);
    waiting_.pop_front();
    lock.unlock();
    call();
    lock.lock();
  }
}

}  // namespace offsetfs::fs
