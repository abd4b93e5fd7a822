#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace offsetfs::fs {

// The threads that scan. Work comes in parts, and the jobs take turns by the part: a short scan
// that comes while ten long ones run is done after ten parts, not after ten scans; one alone has
// all the threads. Threads are started by the first job.
class ScanPool {
 public:
  class Job {
   public:
    virtual ~Job() = default;
    // Does one part, several threads at once. False: no part is left to be begun.
    virtual bool work() = 0;
    virtual void cancel() = 0;
  };

  // `is_idle`: whether the disk is left to others; asked before each part. May be null.
  explicit ScanPool(int threads, std::function<bool()> is_idle = nullptr)
      : most_threads_(threads), is_idle_(std::move(is_idle)) {}
  ~ScanPool() { stop(); }
  ScanPool(const ScanPool&) = delete;
  ScanPool& operator=(const ScanPool&) = delete;

  // Cancels the job at once if the pool was stopped.
  void add(std::shared_ptr<Job> job);
  // Cancels every job and ends the threads.
  void stop();

 private:
  void run();

  const int most_threads_;
  const std::function<bool()> is_idle_;
  std::mutex mutex_;
  std::condition_variable more_;
  bool stopped_ = false;
  std::list<std::shared_ptr<Job>> jobs_;       // with parts to be begun; whose turn it is first
  std::list<std::shared_ptr<Job>> under_way_;  // one entry a thread at work
  std::vector<std::thread> threads_;
};

}  // namespace offsetfs::fs
