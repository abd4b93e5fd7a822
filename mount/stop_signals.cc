#include "mount/stop_signals.h"

#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include "storage/check.h"

namespace offsetfs::mount {
namespace {

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void let_writes_fail() {
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
}

std::vector<int> stop_signals() {
  std::vector<int> signals = {SIGINT, SIGTERM, SIGHUP};
  std::erase_if(signals, is_ignored);
  return signals;
}

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  for (const int signal : stop_signals()) sigaddset(&signals_, signal);
  CHECK(::pthread_sigmask(SIG_BLOCK, &signals_, nullptr) == 0);
  arrived_.reset(::signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK));
  unwatched_.reset(::eventfd(0, EFD_CLOEXEC));
  CHECK(arrived_ && unwatched_);
}

StopSignals::~StopSignals() { unwatch(); }

void StopSignals::watch(std::function<void(int)> on_stop) {
  watcher_ = std::thread([this, on_stop = std::move(on_stop)] { wait_and_call(on_stop); });
}

void StopSignals::unwatch() {
  if (!watcher_.joinable()) return;
  CHECK(::eventfd_write(unwatched_.get(), 1) == 0);
  watcher_.join();
}

void StopSignals::wait_and_call(const std::function<void(int)>& on_stop) {
  for (;;) {
    pollfd events[] = {{arrived_.get(), POLLIN, 0}, {unwatched_.get(), POLLIN, 0}};
    if (::poll(events, 2, -1) < 0) {
      CHECK(errno == EINTR);
      continue;
    }
    if (events[1].revents != 0) return;
    signalfd_siginfo info{};
    if (::read(arrived_.get(), &info, sizeof info) == sizeof info)
      return on_stop(static_cast<int>(info.ssi_signo));
  }
}

}  // namespace offsetfs::mount
