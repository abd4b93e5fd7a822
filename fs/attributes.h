#pragma once

#include <cstdint>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

#include "storage/file.h"

namespace offsetfs::fs {

// Who may read what: the permission bits and owners of the source, narrowed.
//
// A view has no write bits, and execute bits only if it is a directory. Where several files make
// one view it is open to those alone who may read each of them. The group bits of a file with a
// POSIX ACL are dropped: they are the ACL's mask, and say nothing of the group.
struct Access {
  mode_t mode = 0444;  // permission bits only
  uid_t uid = 0;
  gid_t gid = 0;

  friend bool operator==(const Access&, const Access&) = default;
};

Access file_access(const storage::FileInfo& source);       // r--: of a regular file
Access directory_access(const storage::FileInfo& source);  // r-x: of a directory
// Whether the kernel would let a user read what has `access`. `groups`: his supplementary ones.
struct User {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};
bool may_read(const User& user, const Access& access);

// What lets in nobody whom one of the two keeps out.
Access narrowest(const Access& a, const Access& b);

// How long the kernel may believe what it was told, in seconds.
inline constexpr double kForever = 1e9;
inline constexpr double kNever = 0;

// The answer to GETATTR.
struct Attributes {
  struct stat stat {};
  double timeout = kNever;
};

// Times round down: the nanoseconds of an instant before 1970 count forwards from its second.
timespec to_timespec(storage::TimestampMs time);
timespec ns_to_timespec(std::int64_t ns_since_1970);

// `ino` fills st_ino; st_blocks is ceil(size / 512), st_nlink 1 (directories 2), all three times
// the same.
struct stat make_stat(std::uint64_t ino, mode_t type, const Access& access, std::int64_t size_bytes,
                      timespec mtime);

}  // namespace offsetfs::fs
