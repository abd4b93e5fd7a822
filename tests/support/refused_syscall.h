#pragma once

#include <functional>

namespace offsetfs::tests {

// Runs `story` in a process where the kernel answers one system call with an errno, as an older
// kernel (ENOSYS) or a container's seccomp profile (EPERM) does. What the story returns comes back;
// false too if it died.
bool holds_where_refused(long syscall_number, int sys_errno, const std::function<bool()>& story);

}  // namespace offsetfs::tests
