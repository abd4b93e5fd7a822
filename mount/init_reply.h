#pragma once

#include <functional>

struct fuse_session;

namespace offsetfs::mount {

// Completes the reply to INIT by what libfuse does not pass on to the kernel, on its way out and
// where the kernel has it:
// - FUSE_PARALLEL_DIROPS: names of one directory may be looked up at the same time, as the
// callbacks
//   allow. Else the kernel holds a lock on the directory across each LOOKUP and READDIR, and
//   readers of offsets/ wait for each other. libfuse before 3.17 takes FUSE_CAP_PARALLEL_DIROPS and
//   drops it (https://github.com/libfuse/libfuse/pull/861).
// - FUSE_DIRECT_IO_ALLOW_MMAP (Linux 6.6): what is read past the kernel's cache, as the stream of a
//   segment that grows, may be mapped MAP_SHARED all the same.
//
// `then` is called once the kernel has taken the reply, in the thread that sent it.
//
// For a session that is mounted and not served yet. One session in a process.
void complete_init_reply(fuse_session* session, std::function<void()> then);

}  // namespace offsetfs::mount
