#include "mount/background.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mount/options.h"

namespace offsetfs::mount {
namespace {

// The exit code of a command that a signal ended, as shells have it.
constexpr int kEndedBySignal = 128;

[[noreturn]] void leave_with_code_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : kEndedBySignal + WTERMSIG(status));
}

[[noreturn]] void wait_for(pid_t child, int from_child) {
  char ready = 0;
  ssize_t got = 0;
  while ((got = ::read(from_child, &ready, 1)) < 0 && errno == EINTR) continue;
  if (got == 1) ::_exit(kExitOk);
  leave_with_code_of(child);
}

[[noreturn]] void give_up(const char* call) {
  std::fprintf(stderr, "offsetfs: can't go to the background: %s: %s; try -f\n", call,
               std::strerror(errno));
  std::exit(kExitNotMounted);
}

}  // namespace

Background Background::enter() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) give_up("pipe");
  storage::UniqueFd from_child(ends[0]);
  Background background;
  background.to_parent_.reset(ends[1]);

  const pid_t child = ::fork();
  if (child < 0) give_up("fork");
  if (child > 0) {
    background.to_parent_.reset();
    wait_for(child, from_child.get());
  }
  return background;
}

bool Background::ready() {
  if (!to_parent_) return true;
  ::setsid();
  if (::chdir("/") != 0) return false;
  const storage::UniqueFd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (!nowhere || ::dup2(nowhere.get(), standard) < 0) return false;
  const char ready = 1;
  const bool told = ::write(to_parent_.get(), &ready, 1) == 1;
  to_parent_.reset();
  return told;
}

}  // namespace offsetfs::mount
