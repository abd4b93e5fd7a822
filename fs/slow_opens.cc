#include "fs/slow_opens.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <thread>
#include <utility>

namespace offsetfs::fs {
namespace {

storage::Error interrupted() { return {storage::Errc::kIo, EINTR, "the open was interrupted"}; }

}  // namespace

SlowOpens::~SlowOpens() { stop(); }

SlowOpens::Ticket SlowOpens::submit(std::uint64_t key, Work work, Done done) {
  std::unique_lock lock(mutex_);
  const Ticket ticket = ++last_ticket_;
  if (stopped_) {
    lock.unlock();
    done(storage::fail(interrupted()));
    return ticket;
  }
  std::shared_ptr<Job>& job = jobs_[key];
  if (job == nullptr) {
    job = std::make_shared<Job>(Job{key, std::move(work), {}, {}});
    queue_.push_back(job);
  }
  job->waiters.push_back({ticket, std::move(done)});
  keys_.emplace(ticket, key);
  start_threads();
  return ticket;
}

void SlowOpens::start_threads() {
  while (!queue_.empty() && threads_ < kMostThreads) {
    std::shared_ptr<Job> job = std::move(queue_.front());
    queue_.pop_front();
    ++threads_;
    // Counted instead of joined: stop() waits until none is left.
    std::thread([this, job = std::move(job)] { run(job); }).detach();
  }
}

void SlowOpens::run(const std::shared_ptr<Job>& job) {
  while (deliver(*job, attempt(*job))) {
  }
  const std::lock_guard lock(mutex_);
  --threads_;
  start_threads();
  ended_.notify_all();
}

SlowOpens::Result SlowOpens::attempt(Job& job) {
  if (job.stop.stop_requested()) return storage::fail(interrupted());
  try {
    return job.work(job.stop.get_token());
  } catch (const std::bad_alloc&) {
    return storage::fail_errno(ENOMEM, "opening a file");
  }
}

// Hands the result to the first who waits, a failure to all. False: nobody is left, the job is
// over.
bool SlowOpens::deliver(Job& job, Result result) {
  std::vector<Waiter> served;
  bool more = false;
  {
    const std::lock_guard lock(mutex_);
    while (!job.waiters.empty() && (served.empty() || !result)) {
      served.push_back(std::move(job.waiters.front()));
      job.waiters.pop_front();
      keys_.erase(served.back().ticket);
    }
    more = !job.waiters.empty();
    // Whoever comes now begins a job of their own; cancel() may have put one there already.
    const auto current = jobs_.find(job.key);
    if (!more && current != jobs_.end() && current->second.get() == &job) jobs_.erase(current);
  }
  if (result) {
    if (!served.empty()) served.front().done(std::move(result));
  } else {
    for (const Waiter& waiter : served) waiter.done(storage::fail(result.error()));
  }
  return more;
}

void SlowOpens::cancel(Ticket ticket) {
  Done done;
  std::stop_source stop(std::nostopstate);
  {
    const std::lock_guard lock(mutex_);
    const auto key = keys_.find(ticket);
    if (key == keys_.end()) return;
    const auto found = jobs_.find(key->second);
    keys_.erase(key);
    Job& job = *found->second;
    const auto waiter = std::find_if(job.waiters.begin(), job.waiters.end(),
                                     [&](const Waiter& w) { return w.ticket == ticket; });
    done = std::move(waiter->done);
    job.waiters.erase(waiter);
    if (job.waiters.empty()) {
      // A stopped job may not be joined: who comes now must not get its EINTR.
      stop = job.stop;
      jobs_.erase(found);
    }
  }
  stop.request_stop();
  done(storage::fail(interrupted()));
}

void SlowOpens::stop() {
  std::vector<Ticket> waiting;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (const auto& [ticket, key] : keys_) waiting.push_back(ticket);
  }
  for (const Ticket ticket : waiting) cancel(ticket);
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return threads_ == 0 && queue_.empty(); });
}

}  // namespace offsetfs::fs
