#pragma once

#include <string>

namespace offsetfs::storage {

// Opens `below` under the directory `dir` ("" is `dir` itself) without following a symbolic link at
// any depth, and without ever leaving it. `flags` are open(2)'s; O_CLOEXEC and O_NOFOLLOW are
// added. With O_PATH a last component that is a link is opened itself. -1 and errno otherwise:
// ELOOP for a link on the way, EINVAL for a path that is absolute or has an empty, "." or ".."
// part.
int open_beneath(int dir, const std::string& below, int flags);

// The same without openat2: step by step, each step O_NOFOLLOW. open_beneath uses it where a
// seccomp profile or an old kernel refuses openat2.
int open_beneath_by_steps(int dir, const std::string& below, int flags);

// One component, none of "", "." and "..".
bool is_single_name(const std::string& below);

}  // namespace offsetfs::storage
