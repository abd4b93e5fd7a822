#pragma once

#include <csignal>
#include <functional>
#include <thread>

#include "storage/unique_fd.h"

namespace offsetfs::mount {

// SIGINT, SIGTERM and SIGHUP as an event, seen by one thread of their own. The constructor blocks
// them for the calling thread and for all that it starts from then on: make it first. A signal that
// was ignored when the program started (a script's `&`, nohup) stays ignored. SIGPIPE is ignored: a
// log line into a closed pipe is no reason to leave a dead mount.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Calls `on_stop` with the signal's number, in another thread, at the first of them; one that
  // came since the constructor counts. Once.
  void watch(std::function<void(int)> on_stop);
  // `on_stop` has returned or will not be called any more.
  void unwatch();

 private:
  void wait_and_call(const std::function<void(int)>& on_stop);

  sigset_t signals_;
  storage::UniqueFd arrived_;    // signalfd
  storage::UniqueFd unwatched_;  // eventfd
  std::thread watcher_;
};

}  // namespace offsetfs::mount
