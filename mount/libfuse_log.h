#pragma once

#include <functional>
#include <string>

#include "storage/unique_fd.h"

namespace offsetfs::mount {

// libfuse tells what failed to stderr, and so does its helper fusermount3, whose stderr is ours.
// While this object lives both are caught, so that they become part of one line of our own. One at
// a time, and no other thread may write to stderr meanwhile.
class CaughtStderr {
 public:
  CaughtStderr();
  ~CaughtStderr();
  CaughtStderr(const CaughtStderr&) = delete;
  CaughtStderr& operator=(const CaughtStderr&) = delete;

  // What was said so far, its lines joined by "; ".
  std::string said() const;

 private:
  storage::UniqueFd real_stderr_;
  storage::UniqueFd memory_;
};

// From here on libfuse's messages are lines of our log.
void log_libfuse_messages();

}  // namespace offsetfs::mount
