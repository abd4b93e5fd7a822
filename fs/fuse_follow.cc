#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include <poll.h>
#include <sys/uio.h>

#include "fs/follower.h"
#include "fs/fuse_reply.h"
#include "storage/mutex.h"

// READ of a `follow/` file, and POLL. A read that finds nothing is parked: its request is kept,
// costs no thread, and is answered by whoever wakes it, a thread of the followers' pool, or by an
// interrupt.
//
// As with opens (fuse_open.cc): the interrupt callback is given a number, since the request may be
// answered and freed meanwhile; and as long as the read was not handed over to those who wake, it
// only leaves word, since libfuse may call it from within fuse_req_interrupt_func().

namespace offsetfs::fs {
namespace {

using storage::Bytes;

struct ParkedRead {
  fuse_req_t req = nullptr;
  std::shared_ptr<Follower> follower;
  std::size_t size = 0;
  std::optional<FollowedLog::Ticket> ticket;  // none: not handed over yet
  bool interrupted = false;
};

// Who takes a read out replies to it: so it is once.
class ParkedReads {
 public:
  std::uint64_t add(ParkedRead read) {
    const storage::MutexLock lock(mutex_);
    reads_.emplace(++last_id_, std::move(read));
    return last_id_;
  }

  std::optional<ParkedRead> take(std::uint64_t id) {
    const storage::MutexLock lock(mutex_);
    const auto found = reads_.find(id);
    if (found == reads_.end()) return std::nullopt;
    std::optional<ParkedRead> read(std::move(found->second));
    reads_.erase(found);
    return read;
  }

  // Hands the read over; or takes it out, if it was interrupted in the meantime.
  std::optional<ParkedRead> hand_over(std::uint64_t id, FollowedLog::Ticket ticket) {
    const storage::MutexLock lock(mutex_);
    const auto found = reads_.find(id);
    if (found == reads_.end()) return std::nullopt;
    found->second.ticket = ticket;
    return found->second.interrupted ? take_out(found) : std::nullopt;
  }

  // Takes it out, unless it is too early or too late for that.
  std::optional<ParkedRead> interrupt(std::uint64_t id) {
    const storage::MutexLock lock(mutex_);
    const auto found = reads_.find(id);
    if (found == reads_.end()) return std::nullopt;
    found->second.interrupted = true;
    return found->second.ticket ? take_out(found) : std::nullopt;
  }

 private:
  using Reads = std::unordered_map<std::uint64_t, ParkedRead>;

  std::optional<ParkedRead> take_out(Reads::iterator found) REQUIRES(mutex_) {
    std::optional<ParkedRead> read(std::move(found->second));
    reads_.erase(found);
    return read;
  }

  storage::Mutex mutex_;
  Reads reads_ GUARDED_BY(mutex_);
  std::uint64_t last_id_ GUARDED_BY(mutex_) = 0;
};

ParkedReads& parked_reads() {
  static ParkedReads reads;
  return reads;
}

void end_interrupted(const ParkedRead& read) {
  read.follower->cancel(*read.ticket);
  fuse_reply_err(read.req, EINTR);
}

void on_interrupt(fuse_req_t, void* id) {
  if (const auto read = parked_reads().interrupt(reinterpret_cast<std::uintptr_t>(id)))
    end_interrupted(*read);
}

// True if the reader got it.
bool reply_bytes(fuse_req_t req, std::span<const Bytes> parts) {
  std::array<iovec, 8> vectors;
  std::size_t total = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    vectors[i] = {const_cast<char*>(parts[i].data()), parts[i].size()};
    total += parts[i].size();
  }
  auto* file_system = static_cast<FileSystem*>(fuse_req_userdata(req));
  if (fuse_reply_iov(req, vectors.data(), static_cast<int>(parts.size())) != 0) return false;
  file_system->note_read(total);
  return true;
}

// False: there is nothing yet, and `req` is unanswered. May throw std::bad_alloc before a reply.
bool give(fuse_req_t req, Follower& follower, std::size_t size) {
  const auto outcome =
      follower.read(size, [req](std::span<const Bytes> parts) { return reply_bytes(req, parts); });
  if (!outcome) reply_error(req, outcome.error());
  return !outcome || *outcome == Follower::Outcome::kDelivered;
}

void serve(fuse_req_t req, const std::shared_ptr<Follower>& follower, std::size_t size, bool wait);

void wake(std::uint64_t id) {
  const auto read = parked_reads().take(id);
  if (!read) return;
  answer(read->req, [&](FileSystem&) { serve(read->req, read->follower, read->size, true); });
}

// False: something came in the meantime; the request is still the caller's.
bool park(fuse_req_t req, const std::shared_ptr<Follower>& follower, std::size_t size,
          std::uint64_t version) {
  ParkedReads& reads = parked_reads();
  const std::uint64_t id = reads.add({req, follower, size, std::nullopt, false});
  fuse_req_interrupt_func(req, on_interrupt, reinterpret_cast<void*>(id));
  const auto ticket = follower->wait(version, [id] { wake(id); });
  if (!ticket) {
    reads.take(id);  // an interrupt is told again when the request is parked again
    return false;
  }
  // From here on `req` may be answered and gone.
  if (const auto read = reads.hand_over(id, *ticket)) end_interrupted(*read);
  return true;
}

void serve(fuse_req_t req, const std::shared_ptr<Follower>& follower, std::size_t size, bool wait) {
  for (;;) {
    const std::uint64_t version = follower->version();
    if (give(req, *follower, size)) return;
    if (!wait) {
      fuse_reply_err(req, EAGAIN);
      return;
    }
    if (park(req, follower, size, version)) return;
  }
}

// What poll() says of a file without a `poll` of its own.
constexpr unsigned kAlwaysReady = POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM;

using PollHandle = std::shared_ptr<fuse_pollhandle>;

unsigned poll_events(Follower& follower, const PollHandle& handle) {
  // Told of what comes from now on, and then looked: so nothing comes in between.
  if (handle != nullptr)
    follower.wait_to_poll([handle] { fuse_lowlevel_notify_poll(handle.get()); });
  return follower.readable() ? POLLIN | POLLRDNORM : 0;
}

}  // namespace

void read_follower(fuse_req_t req, std::shared_ptr<Follower> follower, std::size_t size,
                   bool wait) {
  serve(req, follower, size, wait);
}

void on_poll(fuse_req_t req, fuse_ino_t, fuse_file_info* info, fuse_pollhandle* raw_handle) {
  const PollHandle handle(raw_handle, [](fuse_pollhandle* unused) {
    if (unused != nullptr) fuse_pollhandle_destroy(unused);
  });
  answer(req, [&](FileSystem&) {
    const auto follower = file_of(info)->follower();
    fuse_reply_poll(req, follower == nullptr ? kAlwaysReady : poll_events(*follower, handle));
  });
}

}  // namespace offsetfs::fs
