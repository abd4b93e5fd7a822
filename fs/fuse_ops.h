#pragma once

#include <fuse_lowlevel.h>

namespace offsetfs::fs {

// The callbacks of libfuse's low-level API. The session's userdata is a `FileSystem*` that lives
// longer than the session's loop:
//
//   FileSystem file_system(source, options, log);
//   fuse_session* session = fuse_session_new(&args, &fuse_ops(), sizeof(fuse_lowlevel_ops),
//                                            &file_system);
//   ... mount, daemonize, loop_mt, unmount ...
//   file_system.stop();  // what still waits is answered
//   fuse_session_destroy(session);
//
// Mount with `ro`, unless the file system appends; `default_permissions` wherever `allow_other` is
// given: the modes are the whole protection, and without it the kernel does not look at them.
const fuse_lowlevel_ops& fuse_ops();

}  // namespace offsetfs::fs
