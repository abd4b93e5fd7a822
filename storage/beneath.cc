#include "storage/beneath.h"

#include <atomic>
#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "storage/unique_fd.h"

namespace offsetfs::storage {
namespace {

bool is_name(std::string_view part) {
  return !part.empty() && part != "." && part != ".." && part.find('\0') == part.npos;
}

bool is_plain_path(std::string_view below) {
  for (;;) {
    const auto slash = below.find('/');
    if (!is_name(below.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    below.remove_prefix(slash + 1);
  }
}

int openat2(int dir, const char* below, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  return static_cast<int>(::syscall(SYS_openat2, dir, below, &how, sizeof how));
}

// One directory further down; O_PATH because passing through takes no more than search permission.
int step_into(int dir, const std::string& part) {
  UniqueFd fd(::openat(dir, part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat st {};
  if (!fd || ::fstat(fd.get(), &st) != 0) return -1;
  if (S_ISDIR(st.st_mode)) return fd.release();
  fd.reset();
  errno = S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
  return -1;
}

}  // namespace

bool is_single_name(const std::string& below) {
  return is_name(below) && below.find('/') == std::string::npos;
}

int open_beneath_by_steps(int dir, const std::string& below, int flags) {
  UniqueFd held;
  std::string rest = below;
  for (auto slash = rest.find('/'); slash != std::string::npos; slash = rest.find('/')) {
    const int next = step_into(dir, rest.substr(0, slash));
    if (next < 0) return -1;
    held.reset(next);
    dir = next;
    rest.erase(0, slash + 1);
  }
  return ::openat(dir, rest.c_str(), flags | O_CLOEXEC | O_NOFOLLOW);
}

int open_beneath(int dir, const std::string& below, int flags) {
  flags |= O_CLOEXEC | O_NOFOLLOW;
  if (below.empty()) return ::openat(dir, ".", flags);
  if (!is_plain_path(below)) {
    errno = EINVAL;
    return -1;
  }
  static std::atomic<bool> refused{false};
  if (!refused.load(std::memory_order_relaxed)) {
    const int fd = openat2(dir, below.c_str(), flags);
    // EPERM may also be this file's own answer (to O_NOATIME): then the steps meet it again.
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return fd;
    if (errno == ENOSYS) refused.store(true, std::memory_order_relaxed);
  }
  return open_beneath_by_steps(dir, below, flags);
}

}  // namespace offsetfs::storage
