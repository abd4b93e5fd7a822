#pragma once

#include <memory>
#include <string>

#include "fs/file_system.h"
#include "storage/result.h"

struct fuse_session;

namespace offsetfs::mount {

struct MountRequest {
  std::string mount_point;   // absolute
  std::string shown_source;  // what /proc/mounts and df say is mounted
  bool writable = false;     // to the kernel; what may be written is the file system's to say
  bool allow_other = false;
  bool default_permissions = false;
  bool debug = false;  // libfuse prints every request to stderr
};

// A file system as it hangs in the tree of files: there from mount() on, gone with the object.
class Mounted {
 public:
  // `file_system` outlives the result. Requests wait until serve() answers them.
  static storage::Result<std::unique_ptr<Mounted>> mount(fs::FileSystem& file_system,
                                                         const MountRequest& request);
  ~Mounted();
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;

  // Answers requests, `threads` at once, until stop() is called or somebody unmounts. Requests that
  // are being answered then are waited for. An error: the connection broke, and the mount is gone
  // that nobody answers for any more.
  storage::Result<void> serve(int threads);
  // Ends serve(), from another thread: it returns soon after. Before serve(): it returns at once.
  void stop();

 private:
  class Loop;
  Mounted(fs::FileSystem& file_system, fuse_session* session, std::string mount_point);

  fs::FileSystem& file_system_;
  fuse_session* const session_;
  const std::string mount_point_;
  const std::unique_ptr<Loop> loop_;
};

}  // namespace offsetfs::mount
