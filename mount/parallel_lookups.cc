#include "mount/parallel_lookups.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

namespace offsetfs::mount {
namespace {

// The number of the INIT request that waits for its reply, if its sender can do it; else 0.
std::atomic<std::uint64_t> init_request{0};

template <class Message>
bool take(const char*& at, const char* end, Message& message) {
  if (static_cast<std::size_t>(end - at) < sizeof(Message)) return false;
  std::memcpy(&message, at, sizeof(Message));
  at += sizeof(Message);
  return true;
}

ssize_t receive(int fd, void* buffer, std::size_t size, void*) {
  const ssize_t got = ::read(fd, buffer, size);
  const char* at = static_cast<const char*>(buffer);
  const char* const end = at + (got > 0 ? got : 0);
  fuse_in_header header{};
  fuse_init_in init{};
  if (take(at, end, header) && header.opcode == FUSE_INIT && take(at, end, init) &&
      (init.flags & FUSE_PARALLEL_DIROPS) != 0) {
    init_request = header.unique;
  }
  return got;
}

// libfuse gives the header and what follows it as two pieces.
void complete(const iovec* pieces, int count, std::uint64_t request) {
  if (count != 2 || pieces[0].iov_len != sizeof(fuse_out_header)) return;
  fuse_out_header header{};
  std::memcpy(&header, pieces[0].iov_base, sizeof(header));
  constexpr std::size_t kFlags = offsetof(fuse_init_out, flags);
  std::uint32_t flags = 0;
  if (header.unique != request || header.error != 0 || pieces[1].iov_len < kFlags + sizeof(flags)) {
    return;
  }
  char* const at = static_cast<char*>(pieces[1].iov_base) + kFlags;
  std::memcpy(&flags, at, sizeof(flags));
  flags |= FUSE_PARALLEL_DIROPS;
  std::memcpy(at, &flags, sizeof(flags));
  init_request = 0;
}

ssize_t send(int fd, iovec* pieces, int count, void*) {
  if (const std::uint64_t request = init_request; request != 0) complete(pieces, count, request);
  return ::writev(fd, pieces, count);
}

}  // namespace

void allow_parallel_lookups(fuse_session* session) {
  fuse_custom_io io{};
  io.writev = send;
  io.read = receive;
  ::fuse_session_custom_io(session, &io, ::fuse_session_fd(session));
}

}  // namespace offsetfs::mount
