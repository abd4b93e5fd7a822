#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include <fcntl.h>

#include "fs/fuse_reply.h"
#include "storage/mutex.h"

// OPEN, READ and RELEASE. An open that scans keeps its request and is answered later, from another
// thread; until then an interrupt may take the request back.
//
// Two dangers shape what follows. libfuse calls the interrupt callback with whatever it was given,
// maybe while another thread replies and frees it: so it is given a number and not a pointer. And
// it may call it from within fuse_req_interrupt_func(), which goes on using the request afterwards:
// so a callback that comes before the open was handed over must not reply, but only leave word.

namespace offsetfs::fs {
namespace {

struct WaitingOpen {
  fuse_req_t req = nullptr;
  fuse_file_info info{};
  FileSystem* file_system = nullptr;
  FileSystem::OpenTicket ticket = 0;  // 0: not handed over yet
  bool interrupted = false;
};

// Who takes an open out replies to it: so it is once.
class WaitingOpens {
 public:
  std::uint64_t add(WaitingOpen waiting) {
    const storage::MutexLock lock(mutex_);
    waiting_.emplace(++last_id_, waiting);
    return last_id_;
  }

  std::optional<WaitingOpen> take(std::uint64_t id) {
    const storage::MutexLock lock(mutex_);
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) return std::nullopt;
    const WaitingOpen waiting = found->second;
    waiting_.erase(found);
    return waiting;
  }

  // True if it was interrupted in the meantime, and the caller must cancel it.
  bool set_ticket(std::uint64_t id, FileSystem::OpenTicket ticket) {
    const storage::MutexLock lock(mutex_);
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) return false;
    found->second.ticket = ticket;
    return found->second.interrupted;
  }

  // What to cancel; nothing if it is too late or too early for that.
  std::optional<WaitingOpen> interrupt(std::uint64_t id) {
    const storage::MutexLock lock(mutex_);
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) return std::nullopt;
    found->second.interrupted = true;
    if (found->second.ticket == 0) return std::nullopt;
    return found->second;
  }

 private:
  storage::Mutex mutex_;
  std::unordered_map<std::uint64_t, WaitingOpen> waiting_ GUARDED_BY(mutex_);
  std::uint64_t last_id_ GUARDED_BY(mutex_) = 0;
};

WaitingOpens& waiting_opens() {
  static WaitingOpens opens;
  return opens;
}

void on_interrupt(fuse_req_t, void* id) {
  if (const auto waiting = waiting_opens().interrupt(reinterpret_cast<std::uintptr_t>(id)))
    waiting->file_system->cancel_open(waiting->ticket);
}

void open_slowly(FileSystem& file_system, fuse_req_t req, fuse_ino_t ino,
                 const fuse_file_info& info) {
  WaitingOpens& opens = waiting_opens();
  const std::uint64_t id = opens.add({req, info, &file_system});
  fuse_req_interrupt_func(req, on_interrupt, reinterpret_cast<void*>(id));
  const FileSystem::OpenTicket ticket =
      file_system.open_slowly(ino, [id](storage::Result<std::unique_ptr<OpenFile>> file) {
        if (const auto waiting = waiting_opens().take(id))
          reply_open(waiting->req, waiting->info, std::move(file));
      });
  // From here on `req` may be answered and gone.
  if (opens.set_ticket(id, ticket)) file_system.cancel_open(ticket);
}

}  // namespace

void reply_open(fuse_req_t req, fuse_file_info info,
                storage::Result<std::unique_ptr<OpenFile>> file) {
  if (!file) return reply_error(req, file.error());
  const OpenFlags flags = (*file)->flags();
  info.noflush = flags.is_written ? 0 : 1;
  info.keep_cache = flags.keep_cache ? 1 : 0;
  info.direct_io = flags.direct_io ? 1 : 0;
  info.nonseekable = flags.nonseekable ? 1 : 0;
  info.fh = reinterpret_cast<std::uintptr_t>(file->get());
  // An interrupted request is gone, and no RELEASE will follow.
  if (fuse_reply_open(req, &info) == 0) file->release();  // NOLINT: RELEASE deletes it
}

void on_open(fuse_req_t req, fuse_ino_t ino, fuse_file_info* info) {
  if ((info->flags & O_ACCMODE) != O_RDONLY) return on_open_to_write(req, ino, info);
  answer(req, [&](FileSystem& file_system) {
    if (file_system.opens_slowly(ino)) return open_slowly(file_system, req, ino, *info);
    reply_open(req, *info, file_system.open(ino));
  });
}

void on_read(fuse_req_t req, fuse_ino_t, std::size_t size, off_t position, fuse_file_info* info) {
  answer(req, [&](FileSystem& file_system) {
    if (auto follower = file_of(info)->follower())
      return read_follower(req, std::move(follower), size, (info->flags & O_NONBLOCK) == 0);
    static thread_local std::string buffer;
    const auto bytes = file_of(info)->read(static_cast<std::uint64_t>(position), size, buffer);
    if (!bytes) return reply_error(req, bytes.error());
    file_system.note_read(bytes->size());
    fuse_reply_buf(req, bytes->data(), bytes->size());
  });
}

void on_release(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  // The reply first: whoever closed does not wait for what the file holds to be put away.
  const std::unique_ptr<OpenFile> file(file_of(info));
  fuse_reply_err(req, 0);
}

}  // namespace offsetfs::fs
