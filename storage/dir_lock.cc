#include "storage/dir_lock.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/new_file.h"

namespace offsetfs::storage {
namespace {

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::string holder_of(int fd) {
  struct flock lock = whole_file();
  if (::fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
    return "somebody who let go of it just now";
  if (lock.l_pid > 0) return "process " + std::to_string(lock.l_pid);
  return "another offsetfs";  // locks like ours have no process
}

// Whoever held it may have removed the file between our open and our lock: then the lock is on a
// file that nobody will find any more.
bool still_there(int fd, const std::string& path) {
  struct stat held {
  }, named{};
  return ::fstat(fd, &held) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

}  // namespace

Result<DirLock> DirLock::acquire(const std::string& log_dir) {
  const std::string path = log_dir + "/.lock";
  const UniqueFd dir(::open(log_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!dir) return fail_errno(errno, path);
  for (int attempt = 0; attempt < 10; ++attempt) {
    // After a kill the file stays, and the broker that comes then is to be able to open it.
    ASSIGN_OR_RETURN(UniqueFd fd, open_or_make_file(dir.get(), ".lock", path));
    struct flock lock = whole_file();
    if (::fcntl(fd.get(), F_OFD_SETLK, &lock) != 0) {
      if (errno != EAGAIN && errno != EACCES) return fail_errno(errno, path + ": locking");
      return fail(Errc::kBusy, path + ": held by " + holder_of(fd.get()) +
                                   "; a directory has one writer: stop that one, or write "
                                   "through its mount");
    }
    if (still_there(fd.get(), path)) return DirLock(std::move(fd), path);
  }
  return fail(Errc::kBusy, path + ": removed again and again while it was being locked");
}

void DirLock::release() {
  if (!fd_) return;
  (void)::unlink(path_.c_str());
  fd_.reset();
}

}  // namespace offsetfs::storage
