#include "storage/dir.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/beneath.h"
#include "storage/file_info.h"

namespace offsetfs::storage {
namespace {

// Opening a FIFO wakes its writer and opening a device may act, so what is no regular file must not
// even be opened: look first (O_PATH touches nothing), then open. Between the two a stranger may
// swap the file; O_NONBLOCK and the second look keep that harmless.
Result<UniqueFd> open_regular(int dir, const std::string& below, const std::string& name) {
  const auto require_regular = [&name](int fd) -> Result<void> {
    struct stat st {};
    if (::fstat(fd, &st) != 0) return fail_errno(errno, name);
    if (S_ISREG(st.st_mode)) return {};
    return fail(Errc::kInvalid, name + ": no regular file");
  };
  // A look by name would pass through a link on the way; the open behind it will not. Where it sees
  // anything but a plain file, the careful look says what that is.
  struct stat seen {};
  const bool plain =
      !below.empty() && below.front() != '/' &&
      ::fstatat(dir, below.c_str(), &seen, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 &&
      S_ISREG(seen.st_mode);
  if (!plain) {
    const UniqueFd look(open_beneath(dir, below, O_PATH));
    if (!look) return fail_errno(errno, name);
    RETURN_IF_ERROR(require_regular(look.get()));
  }

  // Reading must not move the source's access times, but only a file's owner may ask for that.
  UniqueFd fd(open_beneath(dir, below, O_RDONLY | O_NONBLOCK | O_NOATIME));
  if (!fd && errno == EPERM) fd.reset(open_beneath(dir, below, O_RDONLY | O_NONBLOCK));
  if (!fd) return fail_errno(errno, name);
  RETURN_IF_ERROR(require_regular(fd.get()));
  return fd;
}

SourceDir::Kind kind_of(unsigned char type) {
  switch (type) {
    case DT_REG: return SourceDir::Kind::kFile;
    case DT_DIR: return SourceDir::Kind::kDirectory;
    default: return SourceDir::Kind::kOther;
  }
}

// Some file systems leave the type out of their directories.
unsigned char type_by_stat(int dir, const char* name) {
  struct stat st {};
  if (::fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return DT_UNKNOWN;
  return static_cast<unsigned char>(IFTODT(st.st_mode));
}

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

bool is_dot_or_dot_dot(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? std::string(real.get()) : path;
}

}  // namespace

Result<std::shared_ptr<const SourceDir>> SourceDir::open(const std::string& path,
                                                         std::shared_ptr<const IoBackend> io) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd && errno == ENOTDIR) return fail(Errc::kInvalid, path + ": no directory");
  if (!fd) return fail_errno(errno, path);
  return std::shared_ptr<const SourceDir>(
      new SourceDir(std::move(fd), path, resolved(path), std::move(io)));
}

SourceDir::SourceDir(UniqueFd fd, std::string path, std::string real_path,
                     std::shared_ptr<const IoBackend> io)
    : fd_(std::move(fd)),
      path_(std::move(path)),
      real_path_(std::move(real_path)),
      io_(std::move(io)) {}

Result<void> SourceDir::list(const std::string& below,
                             const std::function<bool(const Entry&)>& visit) const {
  UniqueFd fd(open_beneath(fd_.get(), below, O_RDONLY | O_DIRECTORY));
  if (!fd) return fail_errno(errno, name_of(below));
  const std::unique_ptr<DIR, CloseDir> dir(::fdopendir(fd.get()));
  if (!dir) return fail_errno(errno, name_of(below));
  const int dir_fd = fd.release();  // `dir` closes it
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());  // NOLINT(concurrency-mt-unsafe): `dir` is ours
    if (entry == nullptr) break;
    if (is_dot_or_dot_dot(entry->d_name)) continue;
    const auto type =
        entry->d_type != DT_UNKNOWN ? entry->d_type : type_by_stat(dir_fd, entry->d_name);
    if (!visit({entry->d_name, kind_of(type), entry->d_ino})) return {};
  }
  if (errno != 0) return fail_errno(errno, name_of(below));
  return {};
}

Result<FileInfo> SourceDir::info(const std::string& below) const {
  struct stat st {};
  // A single name needs no walk: nothing lies between it and the directory we hold.
  if (is_single_name(below)) {
    if (::fstatat(fd_.get(), below.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
      return fail_errno(errno, name_of(below));
    }
    return to_file_info(st);
  }
  const UniqueFd fd(open_beneath(fd_.get(), below, O_PATH));
  if (!fd || ::fstat(fd.get(), &st) != 0) return fail_errno(errno, name_of(below));
  return to_file_info(st);
}

std::int64_t SourceDir::birth_ns(const std::string& below) const {
  const UniqueFd fd(open_beneath(fd_.get(), below, O_PATH));
  struct statx stx {};
  if (!fd || ::statx(fd.get(), "", AT_EMPTY_PATH, STATX_BTIME, &stx) != 0) return 0;
  if ((stx.stx_mask & STATX_BTIME) == 0) return 0;
  return stx.stx_btime.tv_sec * std::int64_t{1'000'000'000} + stx.stx_btime.tv_nsec;
}

Result<UniqueFd> SourceDir::handle_of_directory(const std::string& below) const {
  UniqueFd fd(open_beneath(fd_.get(), below, O_PATH | O_DIRECTORY));
  if (!fd) return fail_errno(errno, name_of(below));
  return fd;
}

Result<std::unique_ptr<File>> SourceDir::open_file(const std::string& below) const {
  ASSIGN_OR_RETURN(UniqueFd fd, open_regular(fd_.get(), below, name_of(below)));
  return io_->adopt(fd.release(), name_of(below));
}

Result<std::string> SourceDir::read_whole(const std::string& below, std::size_t limit_bytes) const {
  ASSIGN_OR_RETURN(const auto file, open_file(below));
  return storage::read_whole(*file, limit_bytes);
}

Result<std::string> read_whole(const File& file, std::size_t limit_bytes) {
  ASSIGN_OR_RETURN(const auto info, file.info());
  const auto too_large = [&] {
    return fail(Errc::kTooLarge,
                file.name() + ": more than " + std::to_string(limit_bytes) + " bytes");
  };
  if (static_cast<std::uint64_t>(info.size_bytes) > limit_bytes) return too_large();
  // One byte more than the file had: one that grew meanwhile shows itself by filling it.
  std::string text(static_cast<std::size_t>(info.size_bytes) + 1, '\0');
  std::size_t size = 0;
  for (;;) {
    ASSIGN_OR_RETURN(const std::size_t got, file.read_at(Position{static_cast<std::int64_t>(size)},
                                                         std::span(text).subspan(size)));
    size += got;
    if (size > limit_bytes) return too_large();
    if (size < text.size()) break;
    text.resize(std::min(text.size() * 2, limit_bytes + 1));
  }
  text.resize(size);
  return text;
}

std::string SourceDir::name_of(const std::string& below) const {
  if (below.empty()) return path_;
  return path_.ends_with('/') ? path_ + below : path_ + "/" + below;
}

}  // namespace offsetfs::storage
