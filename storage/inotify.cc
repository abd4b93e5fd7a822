#include "storage/inotify.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <linux/magic.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace offsetfs::storage {
namespace {

// File systems whose files somebody else may write: another machine, or a daemon.
struct Untold {
  std::uint32_t magic;
  const char* name;
};
constexpr Untold kUntold[] = {
    {NFS_SUPER_MAGIC, "nfs"},   {SMB_SUPER_MAGIC, "smb"},     {CIFS_SUPER_MAGIC, "cifs"},
    {SMB2_SUPER_MAGIC, "smb2"}, {FUSE_SUPER_MAGIC, "fuse"},   {V9FS_MAGIC, "9p"},
    {CEPH_SUPER_MAGIC, "ceph"}, {AFS_SUPER_MAGIC, "afs"},     {AFS_FS_MAGIC, "afs"},
    {CODA_SUPER_MAGIC, "coda"}, {OCFS2_SUPER_MAGIC, "ocfs2"}, {0x01161970, "gfs2"},
    {0x0BD00BD0, "lustre"},     {0x47504653, "gpfs"},         {0x19830326, "beegfs"},
    {0x786f4256, "vboxsf"},     {0xBACBACBC, "vmhgfs"},       {0xAAD7AAEA, "panfs"},
    {0xF15F, "ecryptfs"},
};

}  // namespace

std::optional<std::string> untold_changes(int dir) {
  struct statfs status {};
  if (::fstatfs(dir, &status) != 0) return "an unknown file system";
  const auto magic = static_cast<std::uint32_t>(status.f_type);
  const auto* const found = std::ranges::find(kUntold, magic, &Untold::magic);
  if (found == std::end(kUntold)) return std::nullopt;
  return found->name;
}

Result<std::unique_ptr<Inotify>> Inotify::create() {
  UniqueFd events(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!events) {
    return fail_errno(errno, errno == EMFILE ? "inotify: the limit of instances (fs.inotify."
                                               "max_user_instances) or of open files is reached"
                                             : "inotify");
  }
  UniqueFd wakes(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wakes) return fail_errno(errno, "eventfd");
  return std::unique_ptr<Inotify>(new Inotify(std::move(events), std::move(wakes)));
}

Result<int> Inotify::watch(int dir, std::uint32_t mask, const std::string& name) {
  // By descriptor, so that no link is followed on the way and a rename in between does no harm.
  const std::string path = "/proc/self/fd/" + std::to_string(dir);
  const int watch = ::inotify_add_watch(events_.get(), path.c_str(), mask);
  if (watch >= 0) return watch;
  return fail_errno(errno,
                    errno == ENOSPC
                        ? name + ": the limit of watches (fs.inotify.max_user_watches) is reached"
                        : name + ": inotify");
}

void Inotify::unwatch(int watch) { ::inotify_rm_watch(events_.get(), watch); }

void Inotify::wait(const std::function<void(const Event&)>& visit) {
  pollfd ready[] = {{events_.get(), POLLIN, 0}, {wakes_.get(), POLLIN, 0}};
  if (::poll(ready, std::size(ready), -1) < 0) return;
  if (ready[1].revents != 0) {
    std::uint64_t wakes = 0;
    [[maybe_unused]] const auto got = ::read(wakes_.get(), &wakes, sizeof wakes);
  }
  alignas(inotify_event) char buffer[16 << 10];
  for (;;) {
    const ssize_t got = ::read(events_.get(), buffer, sizeof buffer);
    if (got <= 0) return;
    for (ssize_t at = 0; at < got;) {
      inotify_event head;
      std::memcpy(&head, buffer + at, sizeof head);
      Event event;
      event.watch = (head.mask & IN_Q_OVERFLOW) != 0 ? -1 : head.wd;
      event.mask = head.mask;
      if (head.len > 0) event.name = buffer + at + sizeof head;  // NUL-padded
      visit(event);
      at += static_cast<ssize_t>(sizeof head + head.len);
    }
    // Whoever waits for these should not have to wait for what is written meanwhile.
    if (got < static_cast<ssize_t>(sizeof buffer / 2)) return;
  }
}

void Inotify::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto put = ::write(wakes_.get(), &one, sizeof one);
}

}  // namespace offsetfs::storage
