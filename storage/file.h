#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "storage/result.h"
#include "storage/units.h"

// The seam to the kernel: everything that reads a source's bytes does it through a File, and files
// come from a SourceDir (dir.h). Two backends stand behind it, io_uring (ring_file.h) and plain
// pread (pread_file.h); the same tests run over both.

namespace offsetfs::storage {

struct FileInfo {
  dev_t dev = 0;
  ino_t ino = 0;
  std::int64_t size_bytes = 0;
  std::int64_t mtime_ns = 0;  // since 1970
  std::int64_t ctime_ns = 0;  // when name, mode or content last changed: a rename leaves it behind
  mode_t mode = 0;            // type and permission bits
  uid_t uid = 0;
  gid_t gid = 0;
  std::int64_t allocated_bytes = 0;  // st_blocks * 512
};

// One open regular file, read only. Any thread, at once. Ends with the object; renames and unlinks
// of its name change nothing.
//
// Reads leave the page cache of the source as they found it: pages that were not resident are
// dropped behind (RWF_DONTCACHE, else POSIX_FADV_DONTNEED), pages that were stay.
class File {
 public:
  struct Read {
    Position position;
    std::span<char> buffer;
    std::size_t bytes_read = 0;  // out; less than the buffer only at the end of the file
  };

  virtual ~File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Fills `buffer` from `position`; what comes back is shorter only where the file ends. kIo with
  // the kernel's errno; the message names file and position.
  virtual Result<std::size_t> read_at(Position position, std::span<char> buffer) const = 0;
  // The same for several ranges, in flight together where the backend can.
  virtual Result<void> read_many(std::span<Read> reads) const = 0;
  // As the file is now (fstat): a living file grows, a follower's may shrink.
  virtual Result<FileInfo> info() const = 0;

  // For messages: the path as the user gave the source, then what lies below it.
  const std::string& name() const { return name_; }

 protected:
  explicit File(std::string name) : name_(std::move(name)) {}

 private:
  const std::string name_;
};

// Opens files over descriptors; one for the life of the mount.
class IoBackend {
 public:
  virtual ~IoBackend() = default;
  // Takes the descriptor of a regular file.
  virtual std::unique_ptr<File> adopt(int fd, std::string name) const = 0;
  virtual const char* kind() const = 0;  // "io_uring" or "pread": for the log and `stats`
};

enum class IoChoice { kAuto, kRing, kPread };
// kAuto takes a ring where the kernel grants one, else pread. `refusal` (may be null) gets why the
// ring was refused, empty if it was not: the caller logs it once. Call it after daemonizing: a ring
// belongs to the process that made it.
std::shared_ptr<const IoBackend> make_io_backend(IoChoice choice, std::string* refusal);

}  // namespace offsetfs::storage
