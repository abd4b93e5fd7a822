#include "storage/write_dir.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/new_file.h"

namespace offsetfs::storage {
namespace {

class PosixWriteFile final : public WriteFile {
 public:
  PosixWriteFile(UniqueFd fd, std::string name) : WriteFile(std::move(name)), fd_(std::move(fd)) {}

  Result<void> write_at(Position position, Bytes bytes) override {
    while (!bytes.empty()) {
      const auto written = ::pwrite(fd_.get(), bytes.data(), bytes.size(), position.value);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0)
        return fail_errno(errno,
                          name() + ": writing at position " + std::to_string(position.value));
      bytes.remove_prefix(static_cast<std::size_t>(written));
      position = position + written;
    }
    return {};
  }
  Result<void> truncate(std::int64_t size_bytes) override {
    if (::ftruncate(fd_.get(), size_bytes) == 0) return {};
    return fail_errno(errno, name() + ": setting the size to " + std::to_string(size_bytes));
  }
  Result<void> sync() override {
    if (::fsync(fd_.get()) == 0) return {};
    return fail_errno(errno, name() + ": fsync");
  }
  bool has_name() const override {
    struct stat st {};
    return ::fstat(fd_.get(), &st) != 0 || st.st_nlink > 0;
  }

 private:
  const UniqueFd fd_;
};

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Result<std::string> WriteDir::read_whole(const std::string& name, std::size_t limit_bytes) const {
  ASSIGN_OR_RETURN(const auto file, open_for_reading(name));
  ASSIGN_OR_RETURN(const FileInfo info, file->info());
  const auto size = static_cast<std::size_t>(info.size_bytes);
  if (size > limit_bytes)
    return fail(Errc::kTooLarge, file->name() + ": " + std::to_string(size) + " bytes, at most " +
                                     std::to_string(limit_bytes) + " are read");
  std::string content(size, '\0');
  ASSIGN_OR_RETURN(const std::size_t read, file->read_at({0}, content));
  content.resize(read);
  return content;
}

Result<void> WriteDir::replace(const std::string& name, Bytes content) {
  ASSIGN_OR_RETURN(const auto temporary, open(name + ".tmp", Open::kFresh));
  auto written = temporary->write_at({0}, content);
  if (written) written = adopt_temporary(name, *temporary);
  if (!written) (void)unlink_if_there(name + ".tmp").has_value();
  return written;
}

Result<void> WriteDir::adopt_temporary(const std::string& name, WriteFile& temporary) {
  RETURN_IF_ERROR(temporary.sync());
  RETURN_IF_ERROR(rename(name + ".tmp", name));
  return sync_dir();
}

Result<void> WriteDir::unlink_if_there(const std::string& name) {
  auto gone = unlink(name);
  if (!gone && gone.error().code == Errc::kNotFound) return {};
  return gone;
}

Result<std::shared_ptr<PosixWriteDir>> PosixWriteDir::open(const std::string& path,
                                                           std::shared_ptr<const IoBackend> io) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd && errno == ENOTDIR) return fail(Errc::kInvalid, path + ": no directory");
  if (!fd) return fail_errno(errno, path);
  return std::shared_ptr<PosixWriteDir>(new PosixWriteDir(std::move(fd), path, std::move(io)));
}

Result<std::shared_ptr<PosixWriteDir>> PosixWriteDir::open_below(const std::string& name) const {
  ASSIGN_OR_RETURN(UniqueFd fd, open_directory(fd_.get(), name, name_of(name)));
  return std::shared_ptr<PosixWriteDir>(new PosixWriteDir(std::move(fd), name_of(name), io_));
}

Result<std::shared_ptr<PosixWriteDir>> PosixWriteDir::open_or_make_below(const std::string& name) {
  ASSIGN_OR_RETURN(UniqueFd fd, open_or_make_directory(fd_.get(), name, name_of(name)));
  return std::shared_ptr<PosixWriteDir>(new PosixWriteDir(std::move(fd), name_of(name), io_));
}

Result<std::unique_ptr<WriteFile>> PosixWriteDir::open(const std::string& name, Open how) {
  ASSIGN_OR_RETURN(UniqueFd fd, open_to_write(name, how));
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return fail_errno(errno, name_of(name));
  if (!S_ISREG(st.st_mode)) return fail(Errc::kInvalid, name_of(name) + ": no regular file");
  return std::make_unique<PosixWriteFile>(std::move(fd), name_of(name));
}

Result<UniqueFd> PosixWriteDir::open_to_write(const std::string& name, Open how) {
  if (how == Open::kOrCreate) return open_or_make_file(fd_.get(), name, name_of(name));
  if (how == Open::kFresh) return make_anew(name);
  UniqueFd fd(::openat(fd_.get(), name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail_errno(errno, name_of(name));
  return fd;
}

// What bore the name is let go, not emptied: it may be a file that has other names.
Result<UniqueFd> PosixWriteDir::make_anew(const std::string& name) {
  constexpr int kAttempts = 10;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto made = make_file(fd_.get(), name, name_of(name));
    if (made || made.error().sys_errno != EEXIST) return made;
    const auto there = info(name);
    if (there && !S_ISREG(there->mode))
      return fail(Errc::kInvalid, name_of(name) + ": no regular file");
    RETURN_IF_ERROR(unlink_if_there(name));
  }
  return fail(Errc::kBusy, name_of(name) + ": made by others again and again");
}

Result<std::unique_ptr<File>> PosixWriteDir::open_for_reading(const std::string& name) const {
  UniqueFd fd(::openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail_errno(errno, name_of(name));
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return fail_errno(errno, name_of(name));
  if (!S_ISREG(st.st_mode)) return fail(Errc::kInvalid, name_of(name) + ": no regular file");
  return io_->adopt(fd.release(), name_of(name));
}

Result<FileInfo> PosixWriteDir::info(const std::string& name) const {
  struct stat st {};
  if (::fstatat(fd_.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0)
    return fail_errno(errno, name_of(name));
  FileInfo info;
  info.dev = st.st_dev;
  info.ino = st.st_ino;
  info.size_bytes = st.st_size;
  info.mtime_ns = nanoseconds(st.st_mtim);
  info.ctime_ns = nanoseconds(st.st_ctim);
  info.mode = st.st_mode;
  info.uid = st.st_uid;
  info.gid = st.st_gid;
  info.allocated_bytes = std::int64_t{st.st_blocks} * 512;
  return info;
}

Result<std::vector<std::string>> PosixWriteDir::list_files() const { return list(S_IFREG); }
Result<std::vector<std::string>> PosixWriteDir::list_directories() const { return list(S_IFDIR); }

Result<std::vector<std::string>> PosixWriteDir::list(mode_t type) const {
  // An open file description of its own: the position in a listing belongs to that.
  UniqueFd fd(::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, path_);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(fd.get()), &::closedir);
  if (listing == nullptr) return fail_errno(errno, path_);
  (void)fd.release();
  std::vector<std::string> names;
  errno = 0;
  while (const auto* entry = ::readdir(listing.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat st {};
    if (::fstatat(fd_.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        (st.st_mode & S_IFMT) == type)
      names.push_back(name);
    errno = 0;
  }
  if (errno != 0) return fail_errno(errno, path_ + ": listing");
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> PosixWriteDir::rename(const std::string& from, const std::string& to) {
  if (::renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()) == 0) return {};
  return fail_errno(errno, name_of(from) + ": renaming to " + to);
}

Result<void> PosixWriteDir::unlink(const std::string& name) {
  if (::unlinkat(fd_.get(), name.c_str(), 0) == 0) return {};
  return fail_errno(errno, name_of(name));
}

Result<void> PosixWriteDir::set_mtime(const std::string& name, std::int64_t mtime_ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const timespec mtime{mtime_ns / kSecond, mtime_ns % kSecond};
  const timespec times[] = {{0, UTIME_OMIT}, mtime};
  if (::utimensat(fd_.get(), name.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0) return {};
  return fail_errno(errno, name_of(name) + ": setting its time");
}

Result<void> PosixWriteDir::sync_dir() {
  if (::fsync(fd_.get()) == 0) return {};
  return fail_errno(errno, path_ + ": fsync");
}

}  // namespace offsetfs::storage
