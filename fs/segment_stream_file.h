#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "fs/segment_stream.h"
#include "fs/stream_file.h"

namespace offsetfs::fs {

// A segment's stream as one opener sees it. Keeps the segment's file open.
class SegmentStreamFile : public StreamFile {
 public:
  SegmentStreamFile(std::shared_ptr<SegmentStream> stream, SegmentStream::PieceNow piece_now,
                    const SegmentStream::State& state, bool keep_cache)
      : stream_(std::move(stream)),
        piece_now_(std::move(piece_now)),
        state_(state),
        keep_cache_(keep_cache) {}

  std::optional<std::int64_t> size_bytes() const override { return state_.size_bytes; }
  OpenFlags flags() const override {
    return {.keep_cache = keep_cache_ && !state_.damaged, .direct_io = state_.damaged};
  }
  storage::Result<storage::Bytes> read(std::uint64_t position, std::size_t size,
                                       std::string& buffer) const override;

 private:
  const std::shared_ptr<SegmentStream> stream_;
  const SegmentStream::PieceNow piece_now_;
  const SegmentStream::State state_;  // at the open
  const bool keep_cache_;
};

}  // namespace offsetfs::fs
