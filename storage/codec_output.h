#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "storage/codec.h"
#include "storage/result.h"
#include "storage/units.h"

// What the codecs share among themselves; everybody else includes codec.h.

namespace offsetfs::storage {

// Where a codec writes to. The buffer grows with what was produced: to twice that, or to what the
// codec knows for sure that it needs, but never past one byte beyond the limit. That byte tells
// "ended exactly at the limit" from "too large".
class CodecOutput {
 public:
  CodecOutput(std::string& buffer, std::int64_t limit)
      : buffer_(buffer), limit_(static_cast<std::size_t>(std::max<std::int64_t>(limit, 0))) {}

  // Where the next bytes go: `least` or more of them, fewer only if the limit is nearer.
  std::span<char> room(std::size_t least) {
    const std::size_t wanted = std::min(least, limit_ + 1 - produced_);
    if (buffer_.size() - produced_ < wanted)
      buffer_.resize(std::min(std::max(produced_ + wanted, 2 * produced_), limit_ + 1));
    return {buffer_.data() + produced_, std::min(buffer_.size(), limit_ + 1) - produced_};
  }
  // `count` bytes of that room were filled. kTooLarge.
  Result<void> produced(std::size_t count) {
    produced_ += count;
    if (produced_ > limit_) return too_large();
    return {};
  }
  tl::unexpected<Error> too_large() const {
    return fail(Errc::kTooLarge, "decompresses to more than " + std::to_string(limit_) + " bytes");
  }
  // How much may still come.
  std::size_t left() const { return limit_ - produced_; }
  Bytes bytes() const { return Bytes(buffer_).substr(0, produced_); }

 private:
  std::string& buffer_;
  const std::size_t limit_;
  std::size_t produced_ = 0;
};

Result<void> gunzip(Bytes compressed, CodecOutput& out);
Result<void> unsnappy(Bytes compressed, CodecOutput& out);
Result<void> unlz4(Bytes compressed, CodecOutput& out, Lz4HeaderSum header_sum);
Result<void> unzstd(Bytes compressed, CodecOutput& out);

void append_gzip(Bytes bytes, std::string& out);
void append_snappy(Bytes bytes, std::string& out);
void append_lz4(Bytes bytes, std::string& out, Lz4HeaderSum header_sum);
void append_zstd(Bytes bytes, std::string& out);

}  // namespace offsetfs::storage
