#include "fs/line_slice.h"

#include <algorithm>

namespace offsetfs::fs {

void LineSlice::take(std::string_view line) {
  const auto size = static_cast<std::int64_t>(line.size());
  const std::int64_t begin = std::clamp<std::int64_t>(from_ - at_, 0, size);
  const std::int64_t end = std::clamp<std::int64_t>(to_ - at_, begin, size);
  out_.append(line.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
  at_ += size;
}

void LineSlice::take_big(std::size_t size, const BigLines::Make& make) {
  take(*big_lines_.get(line_.ordinal, size, make));
}

bool LineSlice::take_kept() {
  const auto kept = big_lines_.find(line_.ordinal);
  if (kept == nullptr) return false;
  take(*kept);
  return true;
}

void LineSlice::finish() {
  const auto most = out_front_ + static_cast<std::size_t>(to_ - from_);
  if (out_.size() > most) out_.resize(most);
}

}  // namespace offsetfs::fs
