#include "storage/result.h"

#include <cerrno>
#include <system_error>

namespace offsetfs::storage {

tl::unexpected<Error> fail_errno(int sys_errno, const std::string& what) {
  const bool absent = sys_errno == ENOENT || sys_errno == ENOTDIR;
  return tl::unexpected<Error>(Error{absent ? Errc::kNotFound : Errc::kIo, sys_errno,
                                     what + ": " + std::generic_category().message(sys_errno)});
}

}  // namespace offsetfs::storage
