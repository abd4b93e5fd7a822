#pragma once

struct fuse_session;

namespace offsetfs::mount {

// Tells the kernel that names of one directory may be looked up at the same time, as the callbacks
// allow; else it holds a lock on the directory across each LOOKUP and READDIR, and readers of
// offsets/ wait for each other. libfuse before 3.17 takes FUSE_CAP_PARALLEL_DIROPS and never passes
// it on (https://github.com/libfuse/libfuse/pull/861), so the reply to INIT is completed on its
// way out, where the kernel has the capability.
//
// For a session that is mounted and not served yet. One session in a process.
void allow_parallel_lookups(fuse_session* session);

}  // namespace offsetfs::mount
