#pragma once

#include <memory>

#include "fs/kernel_caches.h"

struct fuse_session;

namespace offsetfs::fs {

// The kernel's caches of a mounted session, by libfuse's notifications. The session outlives them.
std::unique_ptr<KernelCaches> make_fuse_caches(fuse_session* session);

}  // namespace offsetfs::fs
