#include "fs/segment_stream_file.h"

#include <algorithm>

namespace offsetfs::fs {

storage::Result<storage::Bytes> SegmentStreamFile::read(std::uint64_t position, std::size_t size,
                                                        std::string& buffer) const {
  buffer.clear();
  const auto from = static_cast<std::int64_t>(std::min<std::uint64_t>(position, INT64_MAX / 2));
  RETURN_IF_ERROR(stream_->read(piece_now_, state_.generation, from, size, buffer));
  // What was truncated away must not pass for the end of the file.
  const auto promised = buffer.size() < size ? promised_bytes() : std::nullopt;
  if (promised && from + static_cast<std::int64_t>(buffer.size()) < *promised)
    return storage::fail(storage::Errc::kOutOfRange,
                         "the segment was truncated or replaced under an open stream");
  return storage::Bytes(buffer);
}

std::function<std::optional<std::int64_t>()> SegmentStreamFile::size_now() const {
  return [stream = stream_, piece_now = piece_now_,
          generation = state_.generation]() -> std::optional<std::int64_t> {
    const auto now = stream->measure(piece_now);
    if (const auto before = stream->size_before_truncation(generation)) return before;
    if (!now) return std::nullopt;
    return now->size_bytes;
  };
}

std::optional<std::int64_t> SegmentStreamFile::promised_bytes() const {
  if (const auto before = stream_->size_before_truncation(state_.generation))
    return std::max(*before, state_.size_bytes);
  if (!is_replaced_()) return std::nullopt;
  const auto known = stream_->known();
  return known ? std::max(known->size_bytes, state_.size_bytes) : state_.size_bytes;
}

}  // namespace offsetfs::fs
