#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace offsetfs::fs {

// A few threads that do what a wake-up brings. They are started by the first tasks, sleep when
// there are none, and take tasks in the order they came. Where all are stuck, because the source
// under them is, more are started for the tasks that come then, up to kMostWhenStuck.
class WakePool {
 public:
  using Task = std::function<void()>;

  static constexpr std::size_t kMostWhenStuck = 16;
  static constexpr std::chrono::milliseconds kStuckAfter{100};

  explicit WakePool(int threads) : most_threads_(static_cast<std::size_t>(threads)) {}
  ~WakePool() { stop(); }
  WakePool(const WakePool&) = delete;
  WakePool& operator=(const WakePool&) = delete;

  // Tasks must not throw. Those that come after stop() are done by the caller, at once.
  void add(Task task);
  void add(std::vector<Task> tasks);
  // Does what has come so far, and ends the threads.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  bool wants_thread() const;  // mutex_ held

  const std::size_t most_threads_;
  std::mutex mutex_;
  std::condition_variable more_;
  bool stopped_ = false;
  std::size_t idle_ = 0;
  Clock::time_point last_taken_{};  // when a task was begun
  std::deque<Task> tasks_;
  std::vector<std::thread> threads_;
};

}  // namespace offsetfs::fs
