#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "storage/file.h"

namespace offsetfs::tests {

// A File over a string, with faults at will. Counts what is read of it.
class MemoryFile final : public storage::File {
 public:
  explicit MemoryFile(std::string content, std::string name = "memory.log")
      : File(std::move(name)), content_(std::move(content)) {}

  std::string& content() { return content_; }
  storage::Position end() const { return {static_cast<std::int64_t>(content_.size())}; }
  // Reads that touch this position fail with EIO; -1: none do.
  void fail_at(std::int64_t position) { fail_at_ = position; }
  std::int64_t bytes_read() const { return bytes_read_; }
  std::int64_t reads() const { return reads_; }

  storage::Result<std::size_t> read_at(storage::Position position,
                                       std::span<char> buffer) const override;
  storage::Result<void> read_many(std::span<Read> reads) const override;
  storage::Result<storage::FileInfo> info() const override;

 private:
  std::string content_;
  std::int64_t fail_at_ = -1;
  mutable std::atomic<std::int64_t> bytes_read_ = 0;
  mutable std::atomic<std::int64_t> reads_ = 0;
};

}  // namespace offsetfs::tests
