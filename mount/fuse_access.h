#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "storage/result.h"

namespace offsetfs::mount {

// May this process mount at all? Asked before libfuse is, whose own answers say what failed and not
// what to do about it.
struct FuseAccess {
  std::string device = "/dev/fuse";
  std::string config = "/etc/fuse.conf";
  std::vector<std::string> helpers;  // where fusermount3 may lie: /usr/bin and PATH
  uid_t user = 0;                    // effective
  bool allow_other = false;

  static FuseAccess of_this_process(bool allow_other);
};

// One line that says what is missing and how to get it.
storage::Result<void> check_fuse_access(const FuseAccess& access);

// What to do about what libfuse or the kernel said when the mount itself failed; empty: no idea.
std::string cure_for_mount_failure(const std::string& said);

}  // namespace offsetfs::mount
