#include "mount/init_reply.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

namespace offsetfs::mount {
namespace {

// Bit 36 of the flags, of which the second word holds those from 32 on. Newer than some headers.
constexpr std::uint32_t kDirectIoAllowMmap = 1U << (36 - 32);

// The INIT request that waits for its reply (0: none), and what of our flags its sender has. It is
// answered by the thread that received it.
std::atomic<std::uint64_t> init_request{0};
std::atomic<std::uint32_t> offered{0};
std::atomic<std::uint32_t> offered2{0};
std::function<void()> after_init;

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
  if (take(at, end, header) && header.opcode == FUSE_INIT && take(at, end, init)) {
    offered = init.flags & FUSE_PARALLEL_DIROPS;
    offered2 = (init.flags & FUSE_INIT_EXT) != 0 ? init.flags2 & kDirectIoAllowMmap : 0;
    init_request = header.unique;
  }
  return got;
}

void add_flags(char* word, std::uint32_t more) {
  std::uint32_t flags = 0;
  std::memcpy(&flags, word, sizeof(flags));
  flags |= more;
  std::memcpy(word, &flags, sizeof(flags));
}

// True for the reply to INIT. libfuse gives the header and what follows it as two pieces.
bool complete(const iovec* pieces, int count) {
  const std::uint64_t request = init_request;
  if (request == 0 || count != 2 || pieces[0].iov_len != sizeof(fuse_out_header)) return false;
  fuse_out_header header{};
  std::memcpy(&header, pieces[0].iov_base, sizeof(header));
  if (header.unique != request) return false;
  init_request = 0;
  constexpr std::size_t kWords = offsetof(fuse_init_out, flags2) + sizeof(std::uint32_t);
  if (header.error != 0 || pieces[1].iov_len < kWords) return false;
  char* const reply = static_cast<char*>(pieces[1].iov_base);
  add_flags(reply + offsetof(fuse_init_out, flags),
            offered | (offered2 != 0 ? static_cast<std::uint32_t>(FUSE_INIT_EXT) : 0U));
  add_flags(reply + offsetof(fuse_init_out, flags2), offered2);
  return true;
}

ssize_t send(int fd, iovec* pieces, int count, void*) {
  const bool is_init = complete(pieces, count);
  const ssize_t sent = ::writev(fd, pieces, count);
  if (is_init && sent > 0 && after_init) after_init();
  return sent;
}

}  // namespace

void complete_init_reply(fuse_session* session, std::function<void()> then) {
  after_init = std::move(then);
  fuse_custom_io io{};
  io.writev = send;
  io.read = receive;
  ::fuse_session_custom_io(session, &io, ::fuse_session_fd(session));
}

}  // namespace offsetfs::mount
