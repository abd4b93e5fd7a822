#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <liburing.h>

#include "storage/mutex.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::storage {

// One read on its way through a ring. Completions may bring less than was asked for although the
// file goes on: what is left is asked for again.
class RingRead {
 public:
  RingRead(Position position, std::span<char> buffer) : position_(position), buffer_(buffer) {}

  // What to ask for next.
  Position position() const { return position_ + static_cast<std::int64_t>(bytes_read_); }
  std::span<char> buffer() const { return buffer_.subspan(bytes_read_); }

  // Takes a completion's result; true if the read is over: filled, at the file's end, or failed.
  bool complete(int result);

  std::size_t bytes_read() const { return bytes_read_; }
  int sys_errno() const { return sys_errno_; }  // 0: it did not fail

 private:
  Position position_;
  std::span<char> buffer_;
  std::size_t bytes_read_ = 0;
  int sys_errno_ = 0;
};

// An io_uring of our own. One thread at a time.
class IoRing {
 public:
  static constexpr unsigned kEntries = 64;  // as many reads are in flight at once

  // kIo with the kernel's errno; the message says why and what would help.
  static Result<std::unique_ptr<IoRing>> create();
  ~IoRing();
  IoRing(const IoRing&) = delete;
  IoRing& operator=(const IoRing&) = delete;

  // Does all reads and waits for them; what became of each stands in it. kIo if the ring itself
  // failed: then nothing is in flight any more, but reads may be undone, and the ring is of no use.
  Result<void> read_all(int fd, std::span<RingRead> reads, int rwf_flags);

 private:
  IoRing() = default;
  void push(int fd, RingRead& read, int rwf_flags);
  RingRead* wait(int& result);

  io_uring ring_{};
  bool is_open_ = false;
};

// Rings for the threads that want one, made when first needed and kept. Bounded: a ring costs a
// descriptor and locked memory. Any thread.
class IoRingPool {
 public:
  explicit IoRingPool(std::size_t most) : most_(most) {}

  // One that was made elsewhere.
  void add(std::unique_ptr<IoRing> ring);
  // Null if all are taken or no more can be had: read without.
  std::unique_ptr<IoRing> take();
  void give_back(std::unique_ptr<IoRing> ring);
  // A ring that failed is not given back; this makes room for another.
  void lost();

 private:
  const std::size_t most_;
  Mutex mutex_;
  std::vector<std::unique_ptr<IoRing>> idle_ GUARDED_BY(mutex_);
  std::size_t made_ GUARDED_BY(mutex_) = 0;
  bool refused_ GUARDED_BY(mutex_) = false;
};

}  // namespace offsetfs::storage
