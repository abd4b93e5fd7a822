#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/file.h"
#include "storage/result.h"
#include "storage/source_guard.h"
#include "storage/unique_fd.h"

namespace offsetfs::storage {

struct DirCalls;   // dir.cc
struct SeenInfos;  // dir.cc

// A source directory (a log directory, or a partition directory that was given alone) and what lies
// below it. Paths are relative to it and never leave it: no symbolic link is followed at any depth
// (openat2 RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, or step by step with O_NOFOLLOW where a seccomp
// profile forbids openat2), and only regular files are opened (O_NONBLOCK, then fstat), so that a
// FIFO or a device can neither block nor act. Holds one descriptor. Any thread.
class SourceDir {
 public:
  enum class Kind { kFile, kDirectory, kOther };  // kOther: symbolic link, FIFO, socket, device
  struct Entry {
    std::string_view name;  // valid during the call
    Kind kind;
    ino_t ino = 0;  // as the listing has it: a change of it says that this is another file
  };

  struct Lock {
    enum class Holder {
      kNobody,   // also where there is no such file
      kProcess,  // of a lock as brokers take it
      kWriter,   // of one as our own writers take it (dir_lock.h)
      kUnknown,  // the file may not be opened, or nobody is known to hold it where its file system
                 // tells of this machine's locks at most
    };
    Holder holder = Holder::kUnknown;
    std::int64_t process = -1;  // kProcess: its id, where that can be told
  };

  // `path` itself may be a symbolic link: the user typed it. kNotFound, kIo; kInvalid if it is no
  // directory.
  // With `guard`, and on a file system that may never answer (another machine's, a daemon's), calls
  // are given up after its time; info() of what was seen before then tells what was seen. An answer
  // that comes too late for who asked is what is told next time.
  static Result<std::shared_ptr<const SourceDir>> open(
      const std::string& path, std::shared_ptr<const IoBackend> io,
      std::optional<SourceGuard::Options> guard = std::nullopt);

  // Calls `visit` for each entry of `below` ("" is the directory itself), in no order, without "."
  // and "..", until it returns false.
  Result<void> list(const std::string& below, const std::function<bool(const Entry&)>& visit) const;
  // lstat. kNotFound if absent.
  Result<FileInfo> info(const std::string& below) const;
  // When it was made, in ns since 1970: with its inode number this names one file or directory for
  // good. 0 where the file system doesn't tell. kNotFound if absent, kIo.
  Result<std::int64_t> birth_ns(const std::string& below) const;
  // Whether more may read it than its mode says. True also where that can't be told.
  bool has_acl(const std::string& below) const;
  // Who holds the file's lock, as a broker holds `.lock` (an fcntl record lock). Takes nothing.
  Lock lock_of(const std::string& below) const;
  // A directory to be watched: O_PATH, no read access is asked for.
  Result<UniqueFd> handle_of_directory(const std::string& below) const;
  // kNotFound if absent, kInvalid if no regular file, kIo otherwise (EACCES, EMFILE, ...).
  Result<std::unique_ptr<File>> open_file(const std::string& below) const;
  // The whole of a small file. kTooLarge beyond `limit_bytes`.
  Result<std::string> read_whole(const std::string& below, std::size_t limit_bytes) const;

  // As the user gave it, and absolute with links resolved (to compare with a mount point).
  const std::string& path() const;
  const std::string& real_path() const;
  std::string name_of(const std::string& below) const;  // for messages
  const std::shared_ptr<const IoBackend>& io() const;
  // Whether calls may be given up.
  bool is_guarded() const { return guard_ != nullptr; }
  // Whether it has not answered for a while. False: it does, or nobody asks.
  bool is_slow() const { return guard_ != nullptr && guard_->is_slow(); }
  // What `ask` comes to, which makes several calls, for who must not wait long for it. Nothing: it
  // would take longer; it may go on by itself, and owns what it uses.
  template <class T>
  std::optional<T> ask_briefly(std::function<T()> ask) const {
    if (guard_ == nullptr) return ask();
    const auto answer = std::make_shared<std::optional<T>>();
    if (guard_->is_slow() ||
        !guard_->run_together([answer, ask = std::move(ask)] { answer->emplace(ask()); },
                              kPatience))
      return std::nullopt;
    return std::move(*answer);
  }

 private:
  // How long who asks of what was seen before waits for news of it.
  static constexpr std::chrono::milliseconds kPatience{200};

  SourceDir(std::shared_ptr<const DirCalls> calls, std::shared_ptr<const SourceGuard> guard);

  const std::shared_ptr<const DirCalls> calls_;
  const std::shared_ptr<const SourceGuard> guard_;  // null: calls are just made
  const std::shared_ptr<SeenInfos> seen_;           // of a guarded one
};

// The whole of a small file. kTooLarge beyond `limit_bytes`.
Result<std::string> read_whole(const File& file, std::size_t limit_bytes);

}  // namespace offsetfs::storage
