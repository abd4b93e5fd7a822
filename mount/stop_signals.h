#pragma once

#include <csignal>
#include <functional>
#include <thread>
#include <vector>

#include "storage/unique_fd.h"

namespace offsetfs::mount {

// SIGPIPE and SIGXFSZ end nobody any more: the write that met a closed pipe, or the limit of a
// file's size, fails with EPIPE or EFBIG, and whoever wrote says so and closes what is open. For
// the whole process; main() begins with it.
void let_writes_fail();

// SIGINT, SIGTERM and SIGHUP, but for those that were ignored when the program started (a script's
// `&`, nohup): these stay ignored.
std::vector<int> stop_signals();

// The stop_signals() as an event, seen by one thread of their own. The constructor blocks
// them for the calling thread and for all that it starts from then on: make it first.
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
