#include "storage/dir.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "storage/beneath.h"
#include "storage/file_info.h"
#include "storage/guarded_file.h"
#include "storage/inotify.h"
#include "storage/mutex.h"

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

// The calls themselves, made where the caller is. They share what they use, since a call that hangs
// may outlive who made it.
struct DirCalls {
  int dir_fd() const { return directory.get(); }
  std::string name_of(const std::string& below) const;
  Result<void> list(const std::string& below,
                    const std::function<bool(const SourceDir::Entry&)>& visit) const;
  Result<FileInfo> info(const std::string& below) const;
  Result<std::int64_t> birth_ns(const std::string& below) const;
  Result<UniqueFd> handle_of_directory(const std::string& below) const;
  Result<std::unique_ptr<File>> open_file(const std::string& below) const;
  bool has_acl(const std::string& below) const;
  SourceDir::Lock lock_of(const std::string& below) const;

  UniqueFd directory;
  std::string path;
  std::string real_path;
  std::shared_ptr<const IoBackend> io;
};

// What a source that may not answer said of its directories and files last. Calls share it: they
// note their answers themselves, however late these come.
struct SeenInfos {
  static constexpr std::size_t kMost = 1U << 16;
  static constexpr std::size_t kMostAsked = 8;

  std::optional<FileInfo> find(const std::string& below) const {
    const MutexLock lock(mutex);
    const auto found = infos.find(below);
    return found == infos.end() ? std::nullopt : std::optional(found->second);
  }
  void note(const std::string& below, const Result<FileInfo>& info) {
    const MutexLock lock(mutex);
    if (info) {
      if (infos.size() >= kMost) infos.clear();
      infos.insert_or_assign(below, *info);
    } else if (info.error().code == Errc::kNotFound) {
      infos.erase(below);
    }
  }
  // Whether to ask for who comes later. Few at a time: each may hang.
  bool begin_asking(const std::string& below) {
    const MutexLock lock(mutex);
    return asked.size() < kMostAsked && asked.insert(below).second;
  }
  void end_asking(const std::string& below) {
    const MutexLock lock(mutex);
    asked.erase(below);
  }

  mutable Mutex mutex;
  std::unordered_map<std::string, FileInfo> infos GUARDED_BY(mutex);
  std::unordered_set<std::string> asked GUARDED_BY(mutex);
};

Result<void> DirCalls::list(const std::string& below,
                            const std::function<bool(const SourceDir::Entry&)>& visit) const {
  UniqueFd fd(open_beneath(dir_fd(), below, O_RDONLY | O_DIRECTORY));
  if (!fd) return fail_errno(errno, name_of(below));
  const std::unique_ptr<DIR, CloseDir> dir(::fdopendir(fd.get()));
  if (!dir) return fail_errno(errno, name_of(below));
  const int listed = fd.release();  // `dir` closes it
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());  // NOLINT(concurrency-mt-unsafe): `dir` is ours
    if (entry == nullptr) break;
    if (is_dot_or_dot_dot(entry->d_name)) continue;
    const auto type =
        entry->d_type != DT_UNKNOWN ? entry->d_type : type_by_stat(listed, entry->d_name);
    if (!visit({entry->d_name, kind_of(type), entry->d_ino})) return {};
  }
  if (errno != 0) return fail_errno(errno, name_of(below));
  return {};
}

Result<FileInfo> DirCalls::info(const std::string& below) const {
  struct stat st {};
  // A single name needs no walk: nothing lies between it and the directory we hold.
  if (is_single_name(below)) {
    if (::fstatat(dir_fd(), below.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
      return fail_errno(errno, name_of(below));
    }
    return to_file_info(st);
  }
  const UniqueFd fd(open_beneath(dir_fd(), below, O_PATH));
  if (!fd || ::fstat(fd.get(), &st) != 0) return fail_errno(errno, name_of(below));
  return to_file_info(st);
}

Result<std::int64_t> DirCalls::birth_ns(const std::string& below) const {
  const UniqueFd fd(open_beneath(dir_fd(), below, O_PATH));
  if (!fd) return fail_errno(errno, name_of(below));
  struct statx stx {};
  if (::statx(fd.get(), "", AT_EMPTY_PATH, STATX_BTIME, &stx) != 0) {
    // There is no such call, or it may not be made here.
    if (errno == ENOSYS || errno == EPERM || errno == EINVAL) return 0;
    return fail_errno(errno, name_of(below));
  }
  if ((stx.stx_mask & STATX_BTIME) == 0) return 0;
  return stx.stx_btime.tv_sec * std::int64_t{1'000'000'000} + stx.stx_btime.tv_nsec;
}

Result<UniqueFd> DirCalls::handle_of_directory(const std::string& below) const {
  UniqueFd fd(open_beneath(dir_fd(), below, O_PATH | O_DIRECTORY));
  if (!fd) return fail_errno(errno, name_of(below));
  return fd;
}

Result<std::unique_ptr<File>> DirCalls::open_file(const std::string& below) const {
  ASSIGN_OR_RETURN(UniqueFd opened, open_regular(dir_fd(), below, name_of(below)));
  return io->adopt(opened.release(), name_of(below));
}

// True also where it can't be told: then the group loses what it may have had.
bool DirCalls::has_acl(const std::string& below) const {
  const std::string absolute = below.empty() ? real_path : real_path + "/" + below;
  if (::lgetxattr(absolute.c_str(), "system.posix_acl_access", nullptr, 0) >= 0) return true;
  return errno != ENODATA && errno != ENOTSUP;
}

SourceDir::Lock DirCalls::lock_of(const std::string& below) const {
  using Holder = SourceDir::Lock::Holder;
  const auto file = open_regular(dir_fd(), below, name_of(below));
  if (!file) return {file.error().code == Errc::kNotFound ? Holder::kNobody : Holder::kUnknown};
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(file->get(), F_OFD_GETLK, &lock) != 0) return {Holder::kUnknown};
  if (lock.l_type == F_UNLCK) return {Holder::kNobody};
  // That of an open file description has no process.
  if (lock.l_pid == -1) return {Holder::kWriter};
  return {Holder::kProcess, lock.l_pid > 0 ? lock.l_pid : -1};
}

std::string DirCalls::name_of(const std::string& below) const {
  if (below.empty()) return path;
  return path.ends_with('/') ? path + below : path + "/" + below;
}

Result<std::shared_ptr<const SourceDir>> SourceDir::open(
    const std::string& path, std::shared_ptr<const IoBackend> io,
    std::optional<SourceGuard::Options> guard) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd && errno == ENOTDIR) return fail(Errc::kInvalid, path + ": no directory");
  if (!fd) return fail_errno(errno, path);
  const bool may_hang = guard && untold_changes(fd.get());
  auto calls = std::make_shared<const DirCalls>(
      DirCalls{std::move(fd), path, resolved(path), std::move(io)});
  std::shared_ptr<const SourceGuard> guarding;
  if (may_hang) guarding = std::make_shared<const SourceGuard>(path, std::move(*guard));
  return std::shared_ptr<const SourceDir>(new SourceDir(std::move(calls), std::move(guarding)));
}

SourceDir::SourceDir(std::shared_ptr<const DirCalls> calls,
                     std::shared_ptr<const SourceGuard> guard)
    : calls_(std::move(calls)), guard_(std::move(guard)), seen_(std::make_shared<SeenInfos>()) {}

const std::string& SourceDir::path() const { return calls_->path; }
const std::string& SourceDir::real_path() const { return calls_->real_path; }
const std::shared_ptr<const IoBackend>& SourceDir::io() const { return calls_->io; }
std::string SourceDir::name_of(const std::string& below) const { return calls_->name_of(below); }

Result<void> SourceDir::list(const std::string& below,
                             const std::function<bool(const Entry&)>& visit) const {
  if (guard_ == nullptr) return calls_->list(below, visit);
  struct Listed {
    std::string name;
    Kind kind;
    ino_t ino;
  };
  // `visit` is the caller's, and the caller may be gone before the listing comes to its end.
  ASSIGN_OR_RETURN(
      const std::vector<Listed> all,
      guard_->get<std::vector<Listed>>([calls = calls_, below]() -> Result<std::vector<Listed>> {
        std::vector<Listed> listed;
        RETURN_IF_ERROR(calls->list(below, [&](const Entry& entry) {
          listed.push_back({std::string(entry.name), entry.kind, entry.ino});
          return true;
        }));
        return listed;
      }));
  for (const Listed& entry : all)
    if (!visit({entry.name, entry.kind, entry.ino})) break;
  return {};
}

Result<FileInfo> SourceDir::info(const std::string& below) const {
  if (guard_ == nullptr) return calls_->info(below);
  const auto ask = [calls = calls_, seen = seen_, below] {
    auto info = calls->info(below);
    seen->note(below, info);
    return info;
  };
  const auto remembered = seen_->find(below);
  if (remembered && guard_->is_slow()) {
    if (seen_->begin_asking(below)) {
      guard_->leave_to_itself([calls = calls_, seen = seen_, below] {
        seen->note(below, calls->info(below));
        seen->end_asking(below);
      });
    }
    return *remembered;
  }
  auto info = guard_->get<FileInfo>(ask, remembered ? kPatience : guard_->timeout());
  if (!info && info.error().sys_errno == ETIMEDOUT && remembered) return *remembered;
  return info;
}

Result<std::int64_t> SourceDir::birth_ns(const std::string& below) const {
  if (guard_ == nullptr) return calls_->birth_ns(below);
  return guard_->get<std::int64_t>([calls = calls_, below] { return calls->birth_ns(below); });
}

bool SourceDir::has_acl(const std::string& below) const {
  if (guard_ == nullptr) return calls_->has_acl(below);
  if (guard_->is_slow()) return true;
  return guard_
      ->get<bool>([calls = calls_, below]() -> Result<bool> { return calls->has_acl(below); },
                  kPatience)
      .value_or(true);
}

SourceDir::Lock SourceDir::lock_of(const std::string& below) const {
  if (guard_ == nullptr) return calls_->lock_of(below);
  const auto info = guard_->get<FileInfo>([calls = calls_, below] { return calls->info(below); });
  if (!info && info.error().code == Errc::kNotFound) return {Lock::Holder::kNobody};
  const auto lock = guard_->get<Lock>(
      [calls = calls_, below]() -> Result<Lock> { return calls->lock_of(below); });
  // Locks of another machine's processes are not told for sure.
  if (!lock || lock->holder == Lock::Holder::kNobody) return {Lock::Holder::kUnknown};
  return *lock;
}

Result<UniqueFd> SourceDir::handle_of_directory(const std::string& below) const {
  if (guard_ == nullptr) return calls_->handle_of_directory(below);
  return guard_->get<UniqueFd>(
      [calls = calls_, below] { return calls->handle_of_directory(below); });
}

Result<std::unique_ptr<File>> SourceDir::open_file(const std::string& below) const {
  if (guard_ == nullptr) return calls_->open_file(below);
  ASSIGN_OR_RETURN(auto file, guard_->get<std::unique_ptr<File>>(
                                  [calls = calls_, below] { return calls->open_file(below); }));
  return guarded(std::move(file), guard_);
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

}  // namespace offsetfs::storage
