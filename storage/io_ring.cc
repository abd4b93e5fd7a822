#include "storage/io_ring.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "storage/check.h"
#include "storage/io_priority.h"

namespace offsetfs::storage {
namespace {

const char* why_refused(int sys_errno) {
  switch (sys_errno) {
    case EPERM: return "forbidden by kernel.io_uring_disabled or a seccomp profile";
    case ENOSYS: return "this kernel has none, or a seccomp profile hides it";
    case ENOMEM: return "the limit on locked memory (RLIMIT_MEMLOCK) is too small";
    case EMFILE: return "no file descriptors left (RLIMIT_NOFILE)";
    case EOPNOTSUPP: return "this kernel's io_uring has no plain read";
    default: return "refused by the kernel";
  }
}

tl::unexpected<Error> refused(int sys_errno) {
  return fail_errno(sys_errno, std::string("io_uring: ") + why_refused(sys_errno));
}

bool reads_are_supported(io_uring& ring) {
  io_uring_probe* const probe = io_uring_get_probe_ring(&ring);
  if (probe == nullptr) return false;
  const bool supported = io_uring_opcode_supported(probe, IORING_OP_READ) != 0;
  io_uring_free_probe(probe);
  return supported;
}

}  // namespace

bool RingRead::complete(int result) {
  if (result == -EINTR || result == -EAGAIN) return false;
  if (result < 0) {
    sys_errno_ = -result;
    return true;
  }
  bytes_read_ += static_cast<std::size_t>(result);
  return result == 0 || bytes_read_ == buffer_.size();
}

Result<std::unique_ptr<IoRing>> IoRing::create() {
  std::unique_ptr<IoRing> made(new IoRing);
  const int error = io_uring_queue_init(kEntries, &made->ring_, 0);
  if (error < 0) return refused(-error);
  made->is_open_ = true;
  if (!reads_are_supported(made->ring_)) return refused(EOPNOTSUPP);
  return made;
}

IoRing::~IoRing() {
  if (is_open_) io_uring_queue_exit(&ring_);
}

Result<void> IoRing::read_all(int fd, std::span<RingRead> reads, int rwf_flags) {
  std::size_t next = 0;    // of `reads`, to be pushed
  unsigned pushed = 0;     // in the submission queue, unknown to the kernel
  unsigned in_flight = 0;  // known to the kernel, which writes into their buffers
  int ring_errno = 0;
  while (ring_errno == 0 && (next < reads.size() || pushed + in_flight > 0)) {
    for (; next < reads.size() && pushed + in_flight < kEntries; ++next, ++pushed) {
      push(fd, reads[next], rwf_flags);
    }
    const int submitted = io_uring_submit_and_wait(&ring_, 1);
    if (submitted < 0 && submitted != -EINTR) {
      ring_errno = -submitted;
      break;
    }
    if (submitted > 0) {
      pushed -= static_cast<unsigned>(submitted);
      in_flight += static_cast<unsigned>(submitted);
    }
    while (in_flight > 0 && io_uring_cq_ready(&ring_) > 0) {
      int result = 0;
      RingRead* const read = wait(result);
      --in_flight;
      if (read->complete(result)) continue;
      push(fd, *read, rwf_flags);
      ++pushed;
    }
  }
  if (ring_errno == 0) return {};
  // Buffers go back to their owner only when the kernel has let go of them.
  for (; in_flight > 0; --in_flight) {
    int result = 0;
    (void)wait(result);
  }
  return fail_errno(ring_errno, "io_uring_enter");
}

void IoRing::push(int fd, RingRead& read, int rwf_flags) {
  io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);
  CHECK(sqe != nullptr);  // there are never more than kEntries
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  const auto buffer = read.buffer();
  io_uring_prep_read(sqe, fd, buffer.data(),
                     static_cast<unsigned>(std::min(buffer.size(), kMostBytes)),
                     static_cast<std::uint64_t>(read.position().value));
  sqe->rw_flags = rwf_flags;
  sqe->ioprio = io_priority();
  io_uring_sqe_set_data(sqe, &read);
}

// The next completion.
RingRead* IoRing::wait(int& result) {
  io_uring_cqe* cqe = nullptr;
  int error = 0;
  do {
    error = io_uring_wait_cqe(&ring_, &cqe);
  } while (error == -EINTR || error == -EAGAIN);
  CHECK(error == 0);
  result = cqe->res;
  auto* const read = static_cast<RingRead*>(io_uring_cqe_get_data(cqe));
  io_uring_cqe_seen(&ring_, cqe);
  return read;
}

void IoRingPool::add(std::unique_ptr<IoRing> ring) {
  const MutexLock lock(mutex_);
  ++made_;
  idle_.push_back(std::move(ring));
}

std::unique_ptr<IoRing> IoRingPool::take() {
  {
    const MutexLock lock(mutex_);
    if (!idle_.empty()) {
      auto ring = std::move(idle_.back());
      idle_.pop_back();
      return ring;
    }
    if (refused_ || made_ == most_) return nullptr;
    ++made_;
  }
  auto ring = IoRing::create();
  if (ring) return std::move(*ring);
  const MutexLock lock(mutex_);
  --made_;
  refused_ = true;  // not asked again: each refusal costs as much as a ring
  return nullptr;
}

void IoRingPool::give_back(std::unique_ptr<IoRing> ring) {
  const MutexLock lock(mutex_);
  idle_.push_back(std::move(ring));
}

void IoRingPool::lost() {
  const MutexLock lock(mutex_);
  --made_;
}

}  // namespace offsetfs::storage
