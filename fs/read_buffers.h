#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "storage/mutex.h"

namespace offsetfs::fs {

// What one read of a stream works in.
struct ReadBuffers {
  std::unique_ptr<char[]> window;  // bytes of the log
  std::size_t window_size = 0;
  std::string scratch;  // what a batch decompressed to

  // At least `size` bytes; what was in it is kept.
  void grow_window(std::size_t size);
};

// Lends buffers to reads, so that a read does not fault in fresh memory; a few are kept, and none
// that a huge batch has blown up. Any thread.
class ReadBufferPool {
 public:
  class Lease {
   public:
    Lease(ReadBufferPool& pool, std::unique_ptr<ReadBuffers> buffers)
        : pool_(pool), buffers_(std::move(buffers)) {}
    ~Lease() { pool_.take_back(std::move(buffers_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ReadBuffers& operator*() { return *buffers_; }
    ReadBuffers* operator->() { return buffers_.get(); }

   private:
    ReadBufferPool& pool_;
    std::unique_ptr<ReadBuffers> buffers_;
  };

  Lease lend();

 private:
  static constexpr std::size_t kMostIdle = 4;
  static constexpr std::size_t kMostKeptBytes = 1 << 20;

  void take_back(std::unique_ptr<ReadBuffers> buffers);

  storage::Mutex mutex_;
  std::vector<std::unique_ptr<ReadBuffers>> idle_ GUARDED_BY(mutex_);
};

}  // namespace offsetfs::fs
