#include "fs/to_errno.h"

#include <cerrno>

namespace offsetfs::fs {

using storage::Errc;

int to_errno(const storage::Error& error) {
  switch (error.code) {  // no default: a new code must choose
    case Errc::kIo:
      // A source that does not answer is one that can't be read.
      return error.sys_errno != 0 && error.sys_errno != ETIMEDOUT ? error.sys_errno : EIO;
    case Errc::kNotFound: return ENOENT;
    case Errc::kCorrupt: return EIO;
    case Errc::kUnsupported: return EIO;
    case Errc::kTooLarge: return EIO;
    case Errc::kOutOfRange: return ESTALE;
    case Errc::kInvalid: return EINVAL;
    case Errc::kBusy: return EBUSY;
    case Errc::kReadOnly: return EROFS;
  }
  return EIO;
}

bool is_worth_a_line(const storage::Error& error) {
  return error.code == Errc::kIo && error.sys_errno != EINTR && error.sys_errno != EFBIG &&
         error.sys_errno != ETIMEDOUT;  // that was said when the source stalled
}

}  // namespace offsetfs::fs
