#include "fs/segment_stream_file.h"

#include <algorithm>

namespace offsetfs::fs {

storage::Result<storage::Bytes> SegmentStreamFile::read(std::uint64_t position, std::size_t size,
                                                        std::string& buffer) const {
  buffer.clear();
  const auto from = static_cast<std::int64_t>(std::min<std::uint64_t>(position, INT64_MAX / 2));
  RETURN_IF_ERROR(stream_->read(piece_now_, state_.generation, from, size, buffer));
  return storage::Bytes(buffer);
}

}  // namespace offsetfs::fs
