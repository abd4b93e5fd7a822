#include "tests/support/memory_file.h"

#include <algorithm>
#include <cerrno>

#include <sys/stat.h>

namespace offsetfs::tests {

using storage::Position;
using storage::Result;

Result<std::size_t> MemoryFile::read_at(Position position, std::span<char> buffer) const {
  const auto size = static_cast<std::int64_t>(content_.size());
  const auto wanted = static_cast<std::int64_t>(buffer.size());
  const std::int64_t from = std::min(position.value, size);
  const std::int64_t count = std::min(wanted, size - from);
  if (fail_at_ >= from && fail_at_ < from + count)
    return storage::fail_errno(EIO, name() + ": position " + std::to_string(position.value));
  std::copy_n(content_.data() + from, count, buffer.data());
  ++reads_;
  bytes_read_ += count;
  return static_cast<std::size_t>(count);
}

Result<void> MemoryFile::read_many(std::span<Read> reads) const {
  for (Read& read : reads) {
    ASSIGN_OR_RETURN(read.bytes_read, read_at(read.position, read.buffer));
  }
  return {};
}

Result<storage::FileInfo> MemoryFile::info() const {
  storage::FileInfo info;
  info.mode = S_IFREG | 0644;
  info.size_bytes = static_cast<std::int64_t>(content_.size());
  info.allocated_bytes = info.size_bytes;
  return info;
}

}  // namespace offsetfs::tests
