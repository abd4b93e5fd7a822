#include "fs/read_buffers.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace offsetfs::fs {

using storage::MutexLock;

void ReadBuffers::grow_window(std::size_t size) {
  if (size <= window_size) return;
  auto larger = std::make_unique_for_overwrite<char[]>(size);
  if (window_size > 0) std::memcpy(larger.get(), window.get(), window_size);
  window = std::move(larger);
  window_size = size;
}

ReadBufferPool::Lease ReadBufferPool::lend() {
  {
    MutexLock lock(mutex_);
    if (!idle_.empty()) {
      auto buffers = std::move(idle_.back());
      idle_.pop_back();
      return {*this, std::move(buffers)};
    }
  }
  return {*this, std::make_unique<ReadBuffers>()};
}

void ReadBufferPool::take_back(std::unique_ptr<ReadBuffers> buffers) {
  if (buffers->window_size > kMostKeptBytes) *buffers = {};
  if (buffers->scratch.capacity() > kMostKeptBytes) std::string().swap(buffers->scratch);
  MutexLock lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(buffers));
}

}  // namespace offsetfs::fs
