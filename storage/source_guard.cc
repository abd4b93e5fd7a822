#include "storage/source_guard.h"

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include <pthread.h>
#include <signal.h>

namespace offsetfs::storage {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A call that takes longer is a sign of trouble.
constexpr milliseconds kSlow{200};
// Idle threads that are kept.
constexpr int kMostIdle = 8;
constexpr int kMostThreads = 128;

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

struct SourceGuard::Job {
  std::function<void()> call;
  bool asks_source = true;  // by itself: not through other jobs
  const Clock::time_point begun = Clock::now();
  bool done = false;
};

struct SourceGuard::Shared {
  std::string source;
  Options options;

  std::mutex mutex;  // a plain one: conditions wait with it
  std::condition_variable more;
  std::condition_variable done;
  std::deque<std::shared_ptr<Job>> queue;
  std::set<std::shared_ptr<Job>> under_way;
  Clock::time_point last_answer{};
  int threads = 0;
  int idle = 0;
  int waiting = 0;
  bool stalled = false;
  bool ended = false;

  void work(const std::shared_ptr<Shared>& self);
  int submit(const std::shared_ptr<Shared>& self, std::shared_ptr<Job> job);
  bool wait_for(const std::shared_ptr<Job>& job, milliseconds patience,
                std::unique_lock<std::mutex>& lock);
  // Under the lock: who hears it may be gone once the guard is.
  void say(const std::string& what) const {
    if (!ended && options.notice) options.notice(source + ": " + what);
  }
};

void SourceGuard::Shared::work(const std::shared_ptr<Shared>& self) {
  std::unique_lock lock(mutex);
  for (;;) {
    ++idle;
    more.wait(lock, [&] { return ended || !queue.empty(); });
    --idle;
    if (queue.empty()) break;
    const auto job = std::move(queue.front());
    queue.pop_front();
    if (job->asks_source) under_way.insert(job);
    lock.unlock();
    job->call();
    job->call = nullptr;  // what it used is given back here too: a close may hang as well
    lock.lock();
    under_way.erase(job);
    job->done = true;
    if (job->asks_source) last_answer = Clock::now();
    const bool answers_again = job->asks_source && std::exchange(stalled, false);
    done.notify_all();
    if (answers_again) say("the source answers again");
    if (idle >= kMostIdle) break;
  }
  --threads;
  (void)self;
}

// Under the lock. An errno if no thread could be made for it and there is none that comes to it: it
// stays in the queue for the next.
int SourceGuard::Shared::submit(const std::shared_ptr<Shared>& self, std::shared_ptr<Job> job) {
  queue.push_back(std::move(job));
  if (idle >= static_cast<int>(queue.size()) || threads >= kMostThreads) {
    more.notify_one();
    return 0;
  }
  try {
    const SignalsBlocked blocked;  // for who waits for them; the thread inherits it
    std::thread([self] { self->work(self); }).detach();
  } catch (const std::system_error& error) {
    return threads > 0 ? 0 : error.code().value();
  }
  ++threads;
  return 0;
}

// True: it is done. Else it has not begun, or goes on by itself.
bool SourceGuard::Shared::wait_for(const std::shared_ptr<Job>& job, milliseconds patience,
                                   std::unique_lock<std::mutex>& lock) {
  ++waiting;
  done.wait_for(lock, patience, [&] { return job->done || stalled; });
  --waiting;
  if (!job->done) std::erase(queue, job);
  return job->done;
}

SourceGuard::SourceGuard(std::string source, Options options)
    : shared_(std::make_shared<Shared>()) {
  shared_->source = std::move(source);
  shared_->options = std::move(options);
}

SourceGuard::~SourceGuard() {
  const std::lock_guard lock(shared_->mutex);
  shared_->ended = true;
  shared_->more.notify_all();
}

milliseconds SourceGuard::timeout() const { return shared_->options.timeout; }

bool SourceGuard::is_slow() const {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->stalled) return true;
  const auto now = Clock::now();
  if (now - shared_->last_answer <= kSlow) return false;
  for (const auto& job : shared_->under_way)
    if (now - job->begun >= kSlow) return true;
  return false;
}

Result<void> SourceGuard::run(std::function<void()> call, milliseconds patience) const {
  const auto stalled = [this] {
    return fail(Error{Errc::kIo, ETIMEDOUT, shared_->source + ": the source does not answer"});
  };
  const auto job = std::make_shared<Job>();
  job->call = std::move(call);
  std::unique_lock lock(shared_->mutex);
  if (shared_->stalled || shared_->waiting >= kMostWaiting) return stalled();
  if (const int failed = shared_->submit(shared_, job); failed != 0) {
    std::erase(shared_->queue, job);
    return fail(Error{Errc::kIo, failed, shared_->source + ": no thread to ask it with"});
  }
  if (shared_->wait_for(job, patience, lock)) return {};
  const bool is_first = patience == timeout() && !std::exchange(shared_->stalled, true);
  if (is_first) {
    shared_->done.notify_all();
    const auto ms = patience.count();
    shared_->say("the source has not answered for " +
                 (ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms") +
                 ": what needs it fails until it does (-o io_timeout)");
  }
  return stalled();
}

bool SourceGuard::run_together(std::function<void()> calls, milliseconds patience) const {
  const auto job = std::make_shared<Job>();
  job->call = std::move(calls);
  job->asks_source = false;
  std::unique_lock lock(shared_->mutex);
  if (shared_->stalled || shared_->waiting >= kMostWaiting) return false;
  if (shared_->submit(shared_, job) != 0) {
    std::erase(shared_->queue, job);
    return false;
  }
  return shared_->wait_for(job, patience, lock);
}

void SourceGuard::leave_to_itself(std::function<void()> call) const {
  const auto job = std::make_shared<Job>();
  job->call = std::move(call);
  const std::lock_guard lock(shared_->mutex);
  shared_->submit(shared_, job);
}

}  // namespace offsetfs::storage
