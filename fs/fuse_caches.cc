#include "fs/fuse_caches.h"

#include <fuse_lowlevel.h>

namespace offsetfs::fs {
namespace {

class FuseCaches final : public KernelCaches {
 public:
  explicit FuseCaches(fuse_session* session) : session_(session) {}

  void forget_name(std::uint64_t directory, const std::string& name) override {
    ::fuse_lowlevel_notify_inval_entry(session_, directory, name.c_str(), name.size());
  }
  void forget_attributes(std::uint64_t ino) override {
    ::fuse_lowlevel_notify_inval_inode(session_, ino, -1, 0);
  }
  void forget_content(std::uint64_t ino) override {
    ::fuse_lowlevel_notify_inval_inode(session_, ino, 0, 0);
  }

 private:
  fuse_session* const session_;
};

}  // namespace

std::unique_ptr<KernelCaches> make_fuse_caches(fuse_session* session) {
  return std::make_unique<FuseCaches>(session);
}

}  // namespace offsetfs::fs
