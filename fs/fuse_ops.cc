#include "fs/fuse_ops.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <sys/statvfs.h>

#include "fs/fuse_reply.h"

namespace offsetfs::fs {
namespace {

// Bounds what the kernel reads ahead and asks for in the background, for all files together; its
// own default is 12.
constexpr unsigned kMaxBackground = 64;
// The largest READ and WRITE. What a READ takes from the log and what is made of it stay in a
// processor's cache together then, and reading ahead asks for two at a time, which two threads
// make.
constexpr unsigned kMostRequestBytes = 512 << 10;

void on_init(void*, fuse_conn_info* connection) {
  connection->max_background = kMaxBackground;
  connection->max_write = kMostRequestBytes;  // READs are bounded by it too
  // READDIRPLUS_AUTO stays: plain READDIR for who lists, attributes for who stats what they list.
}

void on_lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  answer(req, [&](FileSystem& file_system) {
    const auto entry = file_system.lookup(parent, name);
    if (!entry) return reply_error(req, entry.error());
    const fuse_entry_param param = to_fuse(*entry);
    // A request that was interrupted is gone, and with it the lookup.
    if (fuse_reply_entry(req, &param) == -ENOENT && entry->ino != 0)
      file_system.forget(entry->ino, 1);
  });
}

void on_forget(fuse_req_t req, fuse_ino_t ino, std::uint64_t lookups) {
  static_cast<FileSystem*>(fuse_req_userdata(req))->forget(ino, lookups);
  fuse_reply_none(req);
}

void on_forget_multi(fuse_req_t req, std::size_t count, fuse_forget_data* forgets) {
  auto* file_system = static_cast<FileSystem*>(fuse_req_userdata(req));
  for (std::size_t i = 0; i < count; ++i) file_system->forget(forgets[i].ino, forgets[i].nlookup);
  fuse_reply_none(req);
}

void on_getattr(fuse_req_t req, fuse_ino_t ino, fuse_file_info* info) {
  answer(req, [&](FileSystem& file_system) {
    // The kernel names a handle for regular files only.
    const auto attributes = file_system.getattr(ino, info != nullptr ? file_of(info) : nullptr);
    if (!attributes) return reply_error(req, attributes.error());
    fuse_reply_attr(req, &attributes->stat, attributes->timeout);
  });
}

// Whose supplementary groups can't be had is taken to have none.
User user_of(fuse_req_t req) {
  const fuse_ctx* context = fuse_req_ctx(req);
  User user{context->uid, context->gid, {}};
  user.groups.resize(64);
  int count = fuse_req_getgroups(req, static_cast<int>(user.groups.size()), user.groups.data());
  if (count > static_cast<int>(user.groups.size())) {
    user.groups.resize(static_cast<std::size_t>(count));
    const int again = fuse_req_getgroups(req, count, user.groups.data());
    count = std::min(count, again);
  }
  user.groups.resize(static_cast<std::size_t>(std::max(count, 0)));
  return user;
}

void on_readlink(fuse_req_t req, fuse_ino_t ino) {
  answer(req, [&](FileSystem& file_system) {
    const auto target = file_system.readlink(ino, [req] { return user_of(req); });
    if (!target) return reply_error(req, target.error());
    fuse_reply_readlink(req, target->c_str());
  });
}

void on_statfs(fuse_req_t req, fuse_ino_t) {
  answer(req, [&](FileSystem& file_system) {
    constexpr std::int64_t kBlockBytes = 4096;
    const FileSystem::Space space = file_system.space();
    struct statvfs st {};
    st.f_bsize = st.f_frsize = kBlockBytes;
    // df leaves out a file system of no blocks.
    st.f_blocks = static_cast<fsblkcnt_t>(
        std::max<std::int64_t>(1, (space.size_bytes + kBlockBytes - 1) / kBlockBytes));
    st.f_namemax = 255;
    fuse_reply_statfs(req, &st);
  });
}

// Labels and ACLs are not ours. Not ENOSYS: that would switch off all attributes of the mount.
bool is_ours(std::string_view name) { return name.starts_with("user."); }

void reply_xattr(fuse_req_t req, std::size_t size, std::string_view value) {
  if (size == 0) {
    fuse_reply_xattr(req, value.size());
  } else if (size < value.size()) {
    fuse_reply_err(req, ERANGE);
  } else {
    fuse_reply_buf(req, value.data(), value.size());
  }
}

void on_getxattr(fuse_req_t req, fuse_ino_t ino, const char* name, std::size_t size) {
  if (!is_ours(name)) {
    fuse_reply_err(req, ENOTSUP);
    return;
  }
  answer(req, [&](FileSystem& file_system) {
    const auto xattrs = file_system.xattrs(ino);
    if (!xattrs) return reply_error(req, xattrs.error());
    const auto found = std::find_if(xattrs->begin(), xattrs->end(),
                                    [&](const Xattr& xattr) { return xattr.name == name; });
    if (found != xattrs->end()) return reply_xattr(req, size, found->value);
    fuse_reply_err(req, ENODATA);
  });
}

void on_listxattr(fuse_req_t req, fuse_ino_t ino, std::size_t size) {
  answer(req, [&](FileSystem& file_system) {
    const auto xattrs = file_system.xattrs(ino);
    if (!xattrs) return reply_error(req, xattrs.error());
    std::string list;
    for (const Xattr& xattr : *xattrs) list.append(xattr.name).push_back('\0');
    reply_xattr(req, size, list);
  });
}

fuse_lowlevel_ops make_ops() {
  fuse_lowlevel_ops ops{};
  ops.init = on_init;
  ops.lookup = on_lookup;
  ops.forget = on_forget;
  ops.forget_multi = on_forget_multi;
  ops.getattr = on_getattr;
  ops.readlink = on_readlink;
  ops.open = on_open;
  ops.read = on_read;
  ops.release = on_release;
  ops.poll = on_poll;
  ops.opendir = on_opendir;
  ops.readdir = on_readdir;
  ops.readdirplus = on_readdirplus;
  ops.releasedir = on_releasedir;
  ops.statfs = on_statfs;
  ops.getxattr = on_getxattr;
  ops.listxattr = on_listxattr;
  add_write_ops(ops);
  return ops;
}

}  // namespace

const fuse_lowlevel_ops& fuse_ops() {
  static const fuse_lowlevel_ops kOps = make_ops();
  return kOps;
}

}  // namespace offsetfs::fs
