#include "fs/attributes.h"

#include <algorithm>

namespace offsetfs::fs {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kMsPerSecond = 1'000;

// `time` in units of 1/per_second.
timespec split(std::int64_t time, std::int64_t per_second, std::int64_t unit_ns) {
  std::int64_t seconds = time / per_second;
  std::int64_t rest = time % per_second;
  if (rest < 0) {
    rest += per_second;
    --seconds;
  }
  return {seconds, rest * unit_ns};
}

}  // namespace

Access file_access(const storage::FileInfo& source) {
  return {static_cast<mode_t>(source.mode & 0444), source.uid, source.gid};
}

Access directory_access(const storage::FileInfo& source) {
  return {static_cast<mode_t>(source.mode & 0555), source.uid, source.gid};
}

bool may_read(const User& user, const Access& access) {
  if (user.uid == 0) return true;
  if (user.uid == access.uid) return (access.mode & 0400) != 0;
  const bool in_group = user.gid == access.gid || std::find(user.groups.begin(), user.groups.end(),
                                                            access.gid) != user.groups.end();
  return (access.mode & (in_group ? 0040 : 0004)) != 0;
}

Access narrowest(const Access& a, const Access& b) {
  const auto both = static_cast<mode_t>(a.mode & b.mode);
  mode_t owner = both >> 6 & 7;
  mode_t group = both >> 3 & 7;
  mode_t others = both & 7;
  Access access{0, a.uid, a.gid};
  // Who owns one of the two only is told as a stranger by the view, and may not gain by it. So the
  // classes below take over what kept him out. Nobody in particular owns such a view.
  if (a.uid != b.uid) {
    group &= owner;
    others &= owner;
    access.uid = 0;
  }
  if (a.gid != b.gid) {
    others &= group;
    group = others;
    access.gid = 0;
  }
  if (a.uid != b.uid) owner = group & others;
  access.mode = owner << 6 | group << 3 | others;
  return access;
}

timespec to_timespec(storage::TimestampMs time) {
  return split(time.value, kMsPerSecond, kNsPerMs);
}
timespec ns_to_timespec(std::int64_t ns_since_1970) {
  return split(ns_since_1970, kNsPerSecond, 1);
}

struct stat make_stat(std::uint64_t ino, mode_t type, const Access& access, std::int64_t size_bytes,
                      timespec mtime) {
  struct stat st {};
  st.st_ino = ino;
  st.st_mode = type | access.mode;
  st.st_nlink = type == S_IFDIR ? 2 : 1;
  st.st_uid = access.uid;
  st.st_gid = access.gid;
  st.st_size = size_bytes;
  st.st_blksize = 4096;
  st.st_blocks = (size_bytes + 511) / 512;
  st.st_mtim = st.st_atim = st.st_ctim = mtime;
  return st;
}

}  // namespace offsetfs::fs
