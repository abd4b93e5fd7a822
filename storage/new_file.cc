#include "storage/new_file.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace offsetfs::storage {
namespace {

constexpr int kAttempts = 10;
constexpr int kWriting = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

Result<void> give_to_owner_of(int dir, int made, const std::string& shown) {
  struct stat owner {
  }, own{};
  if (::geteuid() != 0 || ::fstat(dir, &owner) != 0 || ::fstat(made, &own) != 0) return {};
  if (own.st_uid != 0 || owner.st_uid == 0) return {};
  if (::fchown(made, owner.st_uid, owner.st_gid) == 0) return {};
  return fail_errno(errno, shown + ": giving it to its directory's owner");
}

}  // namespace

Result<UniqueFd> make_file(int dir, const std::string& name, const std::string& shown) {
  UniqueFd fd(::openat(dir, name.c_str(), kWriting | O_CREAT | O_EXCL, 0644));
  if (!fd) return fail_errno(errno, shown);
  RETURN_IF_ERROR(give_to_owner_of(dir, fd.get(), shown));
  return fd;
}

Result<UniqueFd> open_or_make_file(int dir, const std::string& name, const std::string& shown) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    UniqueFd fd(::openat(dir, name.c_str(), kWriting));
    if (fd) return fd;
    if (errno != ENOENT) return fail_errno(errno, shown);
    auto made = make_file(dir, name, shown);
    if (made || made.error().sys_errno != EEXIST) return made;
  }
  return fail(Errc::kBusy, shown + ": made and removed again and again while it was being opened");
}

Result<UniqueFd> open_directory(int dir, const std::string& name, const std::string& shown) {
  UniqueFd fd(::openat(dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd) return fd;
  if (errno == ENOTDIR || errno == ELOOP)
    return fail(Errc::kInvalid,
                shown +
                    ": no directory; logs lie in real ones only, and a symbolic link is not "
                    "followed");
  return fail_errno(errno, shown);
}

Result<UniqueFd> open_or_make_directory(int dir, const std::string& name,
                                        const std::string& shown) {
  const bool made = ::mkdirat(dir, name.c_str(), 0755) == 0;
  if (!made && errno != EEXIST) return fail_errno(errno, shown + ": making the directory");
  ASSIGN_OR_RETURN(UniqueFd fd, open_directory(dir, name, shown));
  if (made) RETURN_IF_ERROR(give_to_owner_of(dir, fd.get(), shown));
  return fd;
}

}  // namespace offsetfs::storage
