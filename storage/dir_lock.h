#pragma once

#include <string>

#include "storage/result.h"
#include "storage/unique_fd.h"

namespace offsetfs::storage {

// A log directory's `.lock`, taken as a broker takes it: an exclusive fcntl record lock over the
// whole of an empty file, so that we shut brokers out and they us. Ours belongs to the open file
// description (F_OFD_SETLK): a POSIX one would be dropped as soon as this process closed any other
// descriptor of the file. Source: Kafka's FileLock.
//
// Held as long as the object lives. The file stays, as after a kill, unless release() took it away.
class DirLock {
 public:
  // kBusy with the id of the process that holds it, where the kernel tells; kIo.
  static Result<DirLock> acquire(const std::string& log_dir);

  DirLock(DirLock&&) = default;
  DirLock& operator=(DirLock&&) = default;

  // Removes the file and lets go, as a broker does at a clean stop.
  void release();

 private:
  DirLock(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
};

}  // namespace offsetfs::storage
