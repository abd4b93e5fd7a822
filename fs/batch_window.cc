#include "fs/batch_window.h"

#include <algorithm>
#include <cstring>

namespace offsetfs::fs {

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

}  // namespace offsetfs::fs
