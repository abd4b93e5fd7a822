#include "mount/mount_point.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mount/mount_table.h"
#include "storage/unique_fd.h"

namespace offsetfs::mount {
namespace {

using storage::Errc;
using storage::fail;
using storage::Result;
using storage::UniqueFd;

// Mounts of several killed daemons may be stacked; more than this is no accident.
constexpr int kMostDeadMounts = 100;

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? real.get() : "";
}

// Absolute, links resolved, without asking the last component anything: it may be a dead mount.
std::string resolved_but_last(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const auto slash = path.rfind('/');
  const auto name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  const auto parent = resolved(slash == std::string::npos ? "." : path.substr(0, slash + 1));
  return parent == "/" ? parent + name : parent + "/" + name;
}

// As root by the system call; a user's mount goes the way it came.
bool detach(const std::string& path) {
  if (::umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) return true;
  const char* argv[] = {"fusermount3", "-u", "-q", "-z", "--", path.c_str(), nullptr};
  pid_t child = 0;
  if (::posix_spawnp(&child, argv[0], nullptr, nullptr, const_cast<char**>(argv), environ) != 0)
    return false;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Result<void> clear_dead_mount(const std::string& typed, const MountPointRequest& request) {
  const auto path = resolved_but_last(typed);
  ASSIGN_OR_RETURN(const auto table, read_mount_table());
  const auto* dead = mount_at(table, path);
  if (dead == nullptr || !dead->is_offsetfs())
    return fail(Errc::kBusy, typed + ": the file system mounted there is dead" +
                                 (dead ? " (" + dead->type + ")" : "") + "; unmount it: umount " +
                                 path);
  if (!detach(path))
    return fail(Errc::kBusy, typed + ": a killed offsetfs left its mount there, and it can't be " +
                                 "detached; as root: umount -l " + path);
  if (request.log) request.log(typed + ": cleared the mount that a killed offsetfs left there");
  return {};
}

Result<void> clear_dead_mounts(const MountPointRequest& request) {
  struct stat status {};
  for (int i = 0; i < kMostDeadMounts; ++i) {
    if (::stat(request.path.c_str(), &status) == 0 || errno != ENOTCONN) return {};
    RETURN_IF_ERROR(clear_dead_mount(request.path, request));
  }
  return fail(Errc::kBusy, request.path + ": too many dead mounts are stacked there; umount them");
}

Result<void> check_is_directory(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return {};
    return fail(Errc::kInvalid, path + ": the mount point is no directory; give one: mkdir");
  }
  switch (errno) {
    case ENOENT:
      return fail(Errc::kNotFound,
                  path + ": the mount point does not exist; make it: mkdir -p " + path);
    case EACCES:
      return fail(Errc::kIo, path + ": the mount point can't be reached: Permission denied; " +
                                 "choose one that you own");
    default: return storage::fail_errno(errno, path + ": the mount point can't be used");
  }
}

Result<void> check_is_not_offsetfs(const std::string& path) {
  ASSIGN_OR_RETURN(const auto table, read_mount_table());
  const auto* there = mount_at(table, path);
  if (there == nullptr || !there->is_offsetfs()) return {};
  return fail(Errc::kBusy, path + ": offsetfs already shows " + there->source +
                               " there; unmount it first: fusermount3 -u " + path);
}

Result<void> check_is_empty(const std::string& path) {
  const std::unique_ptr<DIR, CloseDir> dir(::opendir(path.c_str()));
  if (!dir)
    return fail(Errc::kIo, path + ": the mount point can't be listed: " + std::strerror(errno) +
                               "; choose one that you own");
  while (const auto* entry = ::readdir(dir.get()))
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
      return fail(Errc::kBusy, path +
                                   ": the mount point is not empty; choose an empty directory, " +
                                   "or give -o nonempty to hide what it holds");
  return {};
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

Result<bool> lies_within(const std::string& directory, const std::string& ancestor) {
  struct stat wanted {};
  if (::stat(ancestor.c_str(), &wanted) != 0) return storage::fail_errno(errno, ancestor);
  UniqueFd here(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat current {};
  if (!here || ::fstat(here.get(), &current) != 0) return storage::fail_errno(errno, directory);
  for (;;) {
    if (is_same(current, wanted)) return true;
    UniqueFd above(::openat(here.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat parent {};
    if (!above || ::fstat(above.get(), &parent) != 0) return storage::fail_errno(errno, directory);
    if (is_same(parent, current)) return false;  // the root is its own parent
    here = std::move(above);
    current = parent;
  }
}

Result<std::string> prepare_mount_point(const MountPointRequest& request) {
  RETURN_IF_ERROR(clear_dead_mounts(request));
  RETURN_IF_ERROR(check_is_directory(request.path));
  const auto path = resolved(request.path);
  RETURN_IF_ERROR(check_is_not_offsetfs(path));
  for (const auto& source : request.sources) {
    ASSIGN_OR_RETURN(const bool within, lies_within(path, source));
    if (within)
      return fail(Errc::kInvalid, request.path + ": the mount point lies inside the source " +
                                      source + "; choose one outside");
  }
  if (!request.nonempty) RETURN_IF_ERROR(check_is_empty(path));
  return path;
}

bool detach_dead_mount(const std::string& path) {
  // The kernel may know the attributes still: it is to ask.
  struct statx status {};
  if (::statx(AT_FDCWD, path.c_str(), AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &status) == 0 ||
      errno != ENOTCONN)
    return false;
  const auto table = read_mount_table();
  const auto* dead = table ? mount_at(*table, path) : nullptr;
  return dead != nullptr && dead->is_offsetfs() && detach(path);
}

}  // namespace offsetfs::mount
