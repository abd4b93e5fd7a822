#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace offsetfs::fs {

// A few threads that do what a wake-up brings. They are started by the first task, sleep when there
// is none, and take tasks in the order they came.
class WakePool {
 public:
  using Task = std::function<void()>;

  explicit WakePool(int threads) : most_threads_(threads) {}
  ~WakePool() { stop(); }
  WakePool(const WakePool&) = delete;
  WakePool& operator=(const WakePool&) = delete;

  // Tasks must not throw. Those that come after stop() are done by the caller, at once.
  void add(Task task);
  void add(std::vector<Task> tasks);
  // Does what has come so far, and ends the threads.
  void stop();

 private:
  void run();

  const int most_threads_;
  std::mutex mutex_;
  std::condition_variable more_;
  bool stopped_ = false;
  std::size_t idle_ = 0;
  std::deque<Task> tasks_;
  std::vector<std::thread> threads_;
};

}  // namespace offsetfs::fs
