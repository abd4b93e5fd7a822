#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "fs/open_file.h"
#include "storage/result.h"

namespace offsetfs::fs {

// Opens that take their time, each file's in a thread of its own, so that they hold up nobody else:
// the request loop has ten threads, and ten scans in them would stop the mount. Any thread.
class SlowOpens {
 public:
  using Result = storage::Result<std::unique_ptr<OpenFile>>;
  using Work = std::function<Result(std::stop_token)>;
  using Done = std::function<void(Result)>;
  using Ticket = std::uint64_t;

  // Beyond this many files at once the rest wait for their turn.
  static constexpr std::size_t kMostThreads = 64;

  SlowOpens() = default;
  ~SlowOpens();
  SlowOpens(const SlowOpens&) = delete;
  SlowOpens& operator=(const SlowOpens&) = delete;

  // Does `work` and hands `done` what it gave; works of one `key` are done one after another, the
  // first of them being the one that takes its time. `done` is called exactly once, from another
  // thread, from cancel() or from stop(), and with no lock held.
  Ticket submit(std::uint64_t key, Work work, Done done);
  // `done` gets kIo and EINTR, unless it was called already. A work that nobody waits for is
  // stopped.
  void cancel(Ticket ticket);
  // Cancels all and waits for the threads. What is submitted afterwards is cancelled at once.
  void stop();

 private:
  struct Waiter {
    Ticket ticket;
    Done done;
  };
  struct Job {
    std::uint64_t key;
    Work work;
    std::stop_source stop;
    std::deque<Waiter> waiters;
  };

  void start_threads();  // mutex_ held
  void run(const std::shared_ptr<Job>& job);
  static Result attempt(Job& job);
  bool deliver(Job& job, Result result);

  // A plain mutex: a condition waits with it.
  std::mutex mutex_;
  std::condition_variable ended_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Job>> jobs_;  // by key; not over yet
  std::unordered_map<Ticket, std::uint64_t> keys_;                // of those who wait
  std::deque<std::shared_ptr<Job>> queue_;                        // no thread yet
  std::size_t threads_ = 0;
  Ticket last_ticket_ = 0;
  bool stopped_ = false;
};

}  // namespace offsetfs::fs
