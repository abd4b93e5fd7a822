#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "storage/result.h"

namespace offsetfs::storage {

// Calls into a file system that may never answer: one of another machine or of a daemon. Each is
// made in a thread of its own, and waited for so long and no longer; what does not come back by
// itself stays behind, and with it all it uses.
//
// When a call has waited the whole time out, the source has stalled: then all others fail at once
// until that one, or another that still hangs, comes back. Who waits is bounded too: the threads
// that serve a mount must not all wait for one source. Any thread.
class SourceGuard {
 public:
  struct Options {
    std::chrono::milliseconds timeout{30'000};
    // One line when the source has stalled, and one when it answers again. Any thread.
    std::function<void(const std::string&)> notice;
  };
  static constexpr int kMostWaiting = 32;

  SourceGuard(std::string source, Options options);
  ~SourceGuard();
  SourceGuard(const SourceGuard&) = delete;
  SourceGuard& operator=(const SourceGuard&) = delete;

  // `call` owns what it uses. kIo with ETIMEDOUT: it is not over; EAGAIN: no thread can be made.
  Result<void> run(std::function<void()> call) const { return run(std::move(call), timeout()); }
  Result<void> run(std::function<void()> call, std::chrono::milliseconds patience) const;
  // What a call returns.
  template <class T>
  Result<T> get(std::function<Result<T>()> call) const {
    return get<T>(std::move(call), timeout());
  }
  template <class T>
  Result<T> get(std::function<Result<T>()> call, std::chrono::milliseconds patience) const {
    const auto answer = std::make_shared<std::unique_ptr<Result<T>>>();
    RETURN_IF_ERROR(
        run([answer, call = std::move(call)] { *answer = std::make_unique<Result<T>>(call()); },
            patience));
    return std::move(**answer);
  }
  // For what makes calls of its own through this guard, each with its own patience. True: it is
  // over. False: it goes on by itself. How long it takes says nothing of the source.
  bool run_together(std::function<void()> calls, std::chrono::milliseconds patience) const;
  // For what nobody waits for: the end of a file.
  void leave_to_itself(std::function<void()> call) const;

  // Whether the source is waited for right now, longer than it should take, and has answered nobody
  // for as long: one call that hangs says nothing of the others.
  bool is_slow() const;
  std::chrono::milliseconds timeout() const;

 private:
  struct Job;
  struct Shared;
  const std::shared_ptr<Shared> shared_;  // threads that hang outlive us
};

}  // namespace offsetfs::storage
