#pragma once

#include <cerrno>

#include <sys/wait.h>
#include <unistd.h>

namespace offsetfs::tests {

// Runs `body` in a process of its own, which ends with what it returns: for code that changes the
// whole process. Gives that exit code, or minus the signal that ended it.
template <class Body>
int exit_code_of(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace offsetfs::tests
