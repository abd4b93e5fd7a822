#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace offsetfs::fs {

// Calls what it is given once linger.ms later, in the order it was given, from a thread of its own.
// The thread begins with the first call and ends with the object; what still waits then is not
// called any more. Any thread.
class LingerTimer {
 public:
  explicit LingerTimer(std::int64_t linger_ms) : linger_(linger_ms) {}
  ~LingerTimer() { stop(); }
  LingerTimer(const LingerTimer&) = delete;
  LingerTimer& operator=(const LingerTimer&) = delete;

  void call_later(std::function<void()> call);
  void stop();

 private:
  struct Waiting {
    std::chrono::steady_clock::time_point due;
    std::function<void()> call;
  };

  void run(const std::stop_token& stop);

  const std::chrono::milliseconds linger_;
  std::mutex mutex_;  // guards waiting_ and stopped_
  std::condition_variable_any changed_;
  std::deque<Waiting> waiting_;
  bool stopped_ = false;
  std::jthread thread_;
};

}  // namespace offsetfs::fs
