#include <fcntl.h>

#include "fs/fuse_reply.h"

// WRITE, FLUSH and FSYNC of the files that are written, and the refusal of every other change. In a
// mount that does not append the kernel refuses all of these itself, and none of them comes.

namespace offsetfs::fs {

void on_open_to_write(fuse_req_t req, fuse_ino_t ino, fuse_file_info* info) {
  answer(req, [&](FileSystem& file_system) {
    if ((info->flags & O_ACCMODE) != O_WRONLY) {
      // Nothing but `append` is written, and that is never read.
      fuse_reply_err(req, file_system.refusal() == EROFS ? EROFS : EACCES);
      return;
    }
    // O_SYNC has O_DSYNC's bit. O_TRUNC needs nothing done: there is nothing to be cut off.
    const bool is_durable = (info->flags & O_DSYNC) != 0;
    reply_open(req, *info, file_system.open_to_write(ino, is_durable));
  });
}

void on_write(fuse_req_t req, fuse_ino_t, const char* bytes, std::size_t size, off_t,
              fuse_file_info* info) {
  answer(req, [&](FileSystem& file_system) {
    const auto written = file_of(info)->write({bytes, size}, fuse_req_ctx(req)->pid);
    if (!written) return reply_error(req, written.error());
    file_system.note_write(*written);
    fuse_reply_write(req, *written);
  });
}

void on_flush(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  answer(req, [&](FileSystem&) {
    const auto flushed = file_of(info)->flush(fuse_req_ctx(req)->pid);
    if (!flushed) return reply_error(req, flushed.error());
    fuse_reply_err(req, 0);
  });
}

void on_fsync(fuse_req_t req, fuse_ino_t, int, fuse_file_info* info) {
  answer(req, [&](FileSystem&) {
    const auto synced = file_of(info)->sync();
    if (!synced) return reply_error(req, synced.error());
    fuse_reply_err(req, 0);
  });
}

namespace {

void refuse(fuse_req_t req) {
  answer(req, [&](FileSystem& file_system) { fuse_reply_err(req, file_system.refusal()); });
}

void on_setattr(fuse_req_t req, fuse_ino_t ino, struct stat* wanted, int what, fuse_file_info*) {
  // The clock goes along with a size where the kernel sets both.
  constexpr int kOfTruncation =
      FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW | FUSE_SET_ATTR_CTIME;
  if ((what & FUSE_SET_ATTR_SIZE) == 0 || (what & ~kOfTruncation) != 0) return refuse(req);
  answer(req, [&](FileSystem& file_system) {
    const auto attributes = file_system.truncate(ino, wanted->st_size);
    if (!attributes) return reply_error(req, attributes.error());
    fuse_reply_attr(req, &attributes->stat, attributes->timeout);
  });
}

}  // namespace

void add_write_ops(fuse_lowlevel_ops& ops) {
  ops.write = on_write;
  ops.flush = on_flush;
  ops.fsync = on_fsync;
  ops.setattr = on_setattr;
  ops.mknod = [](fuse_req_t req, fuse_ino_t, const char*, mode_t, dev_t) { refuse(req); };
  ops.mkdir = [](fuse_req_t req, fuse_ino_t, const char*, mode_t) { refuse(req); };
  ops.unlink = [](fuse_req_t req, fuse_ino_t, const char*) { refuse(req); };
  ops.rmdir = [](fuse_req_t req, fuse_ino_t, const char*) { refuse(req); };
  ops.symlink = [](fuse_req_t req, const char*, fuse_ino_t, const char*) { refuse(req); };
  ops.rename = [](fuse_req_t req, fuse_ino_t, const char*, fuse_ino_t, const char*, unsigned) {
    refuse(req);
  };
  ops.link = [](fuse_req_t req, fuse_ino_t, fuse_ino_t, const char*) { refuse(req); };
  ops.create = [](fuse_req_t req, fuse_ino_t, const char*, mode_t, fuse_file_info*) {
    refuse(req);
  };
  ops.setxattr = [](fuse_req_t req, fuse_ino_t, const char*, const char*, std::size_t, int) {
    refuse(req);
  };
  ops.removexattr = [](fuse_req_t req, fuse_ino_t, const char*) { refuse(req); };
  ops.fallocate = [](fuse_req_t req, fuse_ino_t, int, off_t, off_t, fuse_file_info*) {
    refuse(req);
  };
}

}  // namespace offsetfs::fs
