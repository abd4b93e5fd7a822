#include "fs/attributes.h"

namespace offsetfs::fs {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

}  // namespace

Access file_access(const storage::FileInfo& source) {
  return {static_cast<mode_t>(source.mode & 0444), source.uid, source.gid};
}

Access directory_access(const storage::FileInfo& source) {
  return {static_cast<mode_t>(source.mode & 0555), source.uid, source.gid};
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

struct stat make_stat(std::uint64_t ino, mode_t type, const Access& access, std::int64_t size_bytes,
                      std::int64_t mtime_ns) {
  struct stat st {};
  st.st_ino = ino;
  st.st_mode = type | access.mode;
  st.st_nlink = type == S_IFDIR ? 2 : 1;
  st.st_uid = access.uid;
  st.st_gid = access.gid;
  st.st_size = size_bytes;
  st.st_blksize = 4096;
  st.st_blocks = (size_bytes + 511) / 512;
  // Division that rounds down: a time before 1970 has its nanoseconds counted forwards.
  std::int64_t seconds = mtime_ns / kNsPerSecond;
  std::int64_t nanoseconds = mtime_ns % kNsPerSecond;
  if (nanoseconds < 0) {
    nanoseconds += kNsPerSecond;
    --seconds;
  }
  st.st_mtim = {seconds, nanoseconds};
  st.st_atim = st.st_mtim;
  st.st_ctim = st.st_mtim;
  return st;
}

}  // namespace offsetfs::fs
