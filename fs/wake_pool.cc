#include "fs/wake_pool.h"

#include <iterator>
#include <utility>

namespace offsetfs::fs {

void WakePool::add(Task task) {
  std::vector<Task> tasks;
  tasks.push_back(std::move(task));
  add(std::move(tasks));
}

void WakePool::add(std::vector<Task> tasks) {
  if (tasks.empty()) return;
  std::unique_lock lock(mutex_);
  if (stopped_) {
    lock.unlock();
    for (const Task& task : tasks) task();
    return;
  }
  const bool several = tasks.size() > 1;
  tasks_.insert(tasks_.end(), std::make_move_iterator(tasks.begin()),
                std::make_move_iterator(tasks.end()));
  while (wants_thread()) {
    ++idle_;  // it will be
    threads_.emplace_back([this] { run(); });
  }
  lock.unlock();
  several ? more_.notify_all() : more_.notify_one();
}

bool WakePool::wants_thread() const {
  if (idle_ >= tasks_.size()) return false;
  if (threads_.size() < most_threads_) return true;
  return idle_ == 0 && threads_.size() < kMostWhenStuck && Clock::now() - last_taken_ > kStuckAfter;
}

void WakePool::run() {
  std::unique_lock lock(mutex_);  // counted as idle by who started it
  for (;;) {
    more_.wait(lock, [&] { return stopped_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    --idle_;
    last_taken_ = Clock::now();
    lock.unlock();
    task();
    task = nullptr;  // what it holds may take locks to go
    lock.lock();
    ++idle_;
  }
}

void WakePool::stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    threads.swap(threads_);
  }
  more_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace offsetfs::fs
