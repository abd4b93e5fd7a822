#pragma once

#include <functional>
#include <string>
#include <vector>

#include "storage/result.h"

namespace offsetfs::mount {

// The place of the mount, checked: the kernel itself would mount over files, over another offsetfs,
// and inside the very source, and say nothing.

struct MountPointRequest {
  std::string path = {};                             // as the user typed it
  std::vector<std::string> sources = {};             // absolute, links resolved
  bool nonempty = false;                             // it may hold files
  std::function<void(const std::string&)> log = {};  // a line for each dead mount that was cleared
};

// The absolute path to mount on, links resolved. A mount that a killed offsetfs left there is
// detached first. Otherwise one line that says what is wrong and what to do.
storage::Result<std::string> prepare_mount_point(const MountPointRequest& request);

// True if `directory` is `ancestor` or lies anywhere below it, whatever the paths say: compares
// what each ".." leads to, so that bind mounts hide nothing.
storage::Result<bool> lies_within(const std::string& directory, const std::string& ancestor);

// Takes away the mount of ours at `path`, absolute, if nobody answers for it any more. True if
// there was one.
bool detach_dead_mount(const std::string& path);

}  // namespace offsetfs::mount
