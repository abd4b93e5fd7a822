#include "storage/file_info.h"

namespace offsetfs::storage {

FileInfo to_file_info(const struct stat& st) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  constexpr std::int64_t kBytesPerBlock = 512;  // of st_blocks, whatever the file system's own are
  return {
      .dev = st.st_dev,
      .ino = st.st_ino,
      .size_bytes = st.st_size,
      .mtime_ns = st.st_mtim.tv_sec * kNsPerSecond + st.st_mtim.tv_nsec,
      .ctime_ns = st.st_ctim.tv_sec * kNsPerSecond + st.st_ctim.tv_nsec,
      .mode = st.st_mode,
      .uid = st.st_uid,
      .gid = st.st_gid,
      .allocated_bytes = st.st_blocks * kBytesPerBlock,
  };
}

}  // namespace offsetfs::storage
