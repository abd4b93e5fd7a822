#include "fs/batch_window.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "storage/batch_order.h"

namespace offsetfs::fs {

using storage::BatchHeader;
using storage::Bytes;

storage::Result<Bytes> BatchWindow::bytes_at(storage::Position position, std::size_t want,
                                             std::size_t guess) {
  const std::int64_t left = limit_ - position;
  if (left <= 0) return Bytes{};
  want = std::min(want, static_cast<std::size_t>(left));
  std::int64_t inside = position - begin_;
  if (inside < 0 || inside > static_cast<std::int64_t>(size_)) {
    begin_ = position;
    size_ = 0;
    inside = 0;
  }
  auto front = static_cast<std::size_t>(inside);
  if (size_ - front < want) {
    if (front > 0) {
      std::memmove(buffers_.window.get(), buffers_.window.get() + front, size_ - front);
      begin_ = position;
      size_ -= front;
      front = 0;
    }
    const std::size_t goal = std::min(std::max(want, guess), static_cast<std::size_t>(left));
    buffers_.grow_window(goal);
    ASSIGN_OR_RETURN(const std::size_t read,
                     file_.read_at(begin_ + static_cast<std::int64_t>(size_),
                                   std::span(buffers_.window.get() + size_, goal - size_)));
    size_ += read;
  }
  return Bytes(buffers_.window.get() + front, std::min(want, size_ - front));
}

storage::Result<bool> BatchWindow::lies_in_line(storage::Position position,
                                                const BatchHeader& header,
                                                std::optional<storage::Offset> expected_offset,
                                                storage::Offset segment_base_offset,
                                                std::size_t guess) {
  return storage::lies_in_line(
      header, expected_offset, segment_base_offset,
      [&](BatchHeader& next) { return read_next(position, header, guess, next); });
}

storage::Result<bool> BatchWindow::read_next(storage::Position position, const BatchHeader& header,
                                             std::size_t guess, BatchHeader& next) {
  constexpr std::int64_t kSmallBatchBytes = 64 << 10;
  constexpr auto kHeader = static_cast<std::size_t>(BatchHeader::kV2HeaderBytes);
  const storage::Position behind = position + header.size_bytes;
  const std::int64_t left = limit_ - behind;
  if (left < BatchHeader::kPrefixBytes) return false;
  if (header.size_bytes <= kSmallBatchBytes) {
    const auto size = static_cast<std::size_t>(header.size_bytes);
    ASSIGN_OR_RETURN(const Bytes bytes, bytes_at(position, size + kHeader, guess));
    return storage::is_whole_batch(bytes.substr(std::min(size, bytes.size())), left, next);
  }
  std::array<char, kHeader> beside;
  ASSIGN_OR_RETURN(const std::size_t read, file_.read_at(behind, beside));
  return storage::is_whole_batch(Bytes(beside.data(), read), left, next);
}

}  // namespace offsetfs::fs
