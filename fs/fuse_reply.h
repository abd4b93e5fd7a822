#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include <fuse_lowlevel.h>

#include "fs/attributes.h"
#include "fs/file_system.h"
#include "fs/to_errno.h"

// What every callback does around its call of the file system.

namespace offsetfs::fs {

// Runs the body of a callback, which replies as its last act. What it throws becomes a reply: the
// only exceptions there are come from an allocation.
template <class Body>
void answer(fuse_req_t req, Body&& body) noexcept {
  int sys_errno = EIO;
  try {
    std::forward<Body>(body)(*static_cast<FileSystem*>(fuse_req_userdata(req)));
    return;
  } catch (const std::bad_alloc&) {
    sys_errno = ENOMEM;
  } catch (...) {  // NOLINT(bugprone-empty-catch): EIO says it
  }
  fuse_reply_err(req, sys_errno);
}

inline void reply_error(fuse_req_t req, const storage::Error& error) {
  fuse_reply_err(req, to_errno(error));
}

inline fuse_entry_param to_fuse(const FileSystem::Entry& entry) {
  fuse_entry_param param{};
  param.ino = entry.ino;
  param.attr = entry.attributes.stat;
  param.attr_timeout = entry.attributes.timeout;
  param.entry_timeout = entry.entry_timeout;
  return param;  // generation 0 always: a number never names another node
}

// The handle that OPEN gave for a regular file.
inline OpenFile* file_of(const fuse_file_info* info) {
  return reinterpret_cast<OpenFile*>(static_cast<std::uintptr_t>(info->fh));
}

// Hands an opened file to the kernel, which gives it back at RELEASE.
void reply_open(fuse_req_t req, fuse_file_info info,
                storage::Result<std::unique_ptr<OpenFile>> file);

// Callbacks that have a file of their own.
void on_open(fuse_req_t req, fuse_ino_t ino, fuse_file_info* info);  // fuse_open.cc
void on_read(fuse_req_t req, fuse_ino_t ino, std::size_t size, off_t position,
             fuse_file_info* info);
void on_release(fuse_req_t req, fuse_ino_t ino, fuse_file_info* info);
// `wait`: reply when there is something. (fuse_follow.cc)
void read_follower(fuse_req_t req, std::shared_ptr<Follower> follower, std::size_t size, bool wait);
void on_poll(fuse_req_t req, fuse_ino_t ino, fuse_file_info* info, fuse_pollhandle* handle);
void on_open_to_write(fuse_req_t req, fuse_ino_t ino, fuse_file_info* info);  // fuse_write.cc
void add_write_ops(fuse_lowlevel_ops& ops);
void on_opendir(fuse_req_t req, fuse_ino_t ino, fuse_file_info* info);  // fuse_directory.cc
void on_readdir(fuse_req_t req, fuse_ino_t ino, std::size_t size, off_t cookie,
                fuse_file_info* info);
void on_readdirplus(fuse_req_t req, fuse_ino_t ino, std::size_t size, off_t cookie,
                    fuse_file_info* info);
void on_releasedir(fuse_req_t req, fuse_ino_t ino, fuse_file_info* info);

}  // namespace offsetfs::fs
