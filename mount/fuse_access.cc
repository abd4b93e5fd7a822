#include "mount/fuse_access.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

#include "storage/unique_fd.h"

namespace offsetfs::mount {
namespace {

using storage::Errc;
using storage::fail;
using storage::Result;

constexpr const char* kForContainers = "in a container: --device /dev/fuse --cap-add SYS_ADMIN";

Result<void> check_device(const std::string& device) {
  if (storage::UniqueFd(::open(device.c_str(), O_RDWR | O_CLOEXEC))) return {};
  switch (errno) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return fail(Errc::kIo, device + " is missing: load the kernel's module (modprobe fuse); " +
                                 kForContainers);
    case EACCES:
      return fail(Errc::kIo, device + ": Permission denied; run offsetfs as root, or let users " +
                                 "mount: chmod 0666 " + device);
    case EPERM: return fail(Errc::kIo, device + ": Operation not permitted; " + kForContainers);
    default: return storage::fail_errno(errno, device + " can't be opened");
  }
}

bool allows_others(const std::string& config) {
  std::ifstream file(config);
  for (std::string line; std::getline(file, line);) {
    const auto last = line.find_last_not_of(" \t\r");
    line.resize(last == std::string::npos ? 0 : last + 1);
    if (line.substr(std::min(line.find_first_not_of(" \t"), line.size())) == "user_allow_other")
      return true;
  }
  return false;
}

}  // namespace

FuseAccess FuseAccess::of_this_process(bool allow_other) {
  FuseAccess access;
  access.user = ::geteuid();
  access.allow_other = allow_other;
  access.helpers.emplace_back("/usr/bin/fusermount3");
  const char* variable = std::getenv("PATH");
  std::string path = variable ? variable : "";
  for (std::size_t start = 0; start < path.size();) {
    const auto end = std::min(path.find(':', start), path.size());
    if (end > start) access.helpers.push_back(path.substr(start, end - start) + "/fusermount3");
    start = end + 1;
  }
  return access;
}

Result<void> check_fuse_access(const FuseAccess& access) {
  RETURN_IF_ERROR(check_device(access.device));
  if (access.user == 0) return {};
  const bool has_helper = std::ranges::any_of(access.helpers, [](const std::string& helper) {
    return ::access(helper.c_str(), X_OK) == 0;
  });
  if (!has_helper)
    return fail(Errc::kIo,
                "fusermount3 is missing, and without it only root can mount: install it " +
                    std::string("(apt-get install fuse3) or run offsetfs as root"));
  if (access.allow_other && !allows_others(access.config))
    return fail(Errc::kIo, "-o allow_other is not allowed to users here: put the line " +
                               std::string("user_allow_other into ") + access.config +
                               ", or leave allow_other out");
  return {};
}

std::string cure_for_mount_failure(const std::string& said) {
  const auto names = [&](const char* words) { return said.find(words) != std::string::npos; };
  if (names("Operation not permitted"))
    return std::string("run it as root or install fuse3; ") + kForContainers;
  if (names("no write access") || names("not owned")) return "choose a mount point that you own";
  if (names("too many FUSE filesystems"))
    return "unmount some, or raise mount_max in /etc/fuse.conf";
  return {};
}

}  // namespace offsetfs::mount
