#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "fs/segment_stream.h"
#include "fs/stream_file.h"

namespace offsetfs::fs {

// A segment's stream as one opener sees it. Keeps the segment's file open.
class SegmentStreamFile : public StreamFile {
 public:
  // Whether another file stands in the place of the one that was opened.
  using IsReplaced = std::function<bool()>;

  SegmentStreamFile(std::shared_ptr<SegmentStream> stream, SegmentStream::PieceNow piece_now,
                    IsReplaced is_replaced, const SegmentStream::State& state, OpenFlags flags)
      : stream_(std::move(stream)),
        piece_now_(std::move(piece_now)),
        is_replaced_(std::move(is_replaced)),
        state_(state),
        flags_(flags) {}

  std::optional<std::int64_t> size_bytes() const override { return state_.size_bytes; }
  OpenFlags flags() const override { return flags_; }
  std::optional<std::int64_t> promised_bytes() const override;
  std::function<std::optional<std::int64_t>()> size_now() const override;
  storage::Result<storage::Bytes> read(std::uint64_t position, std::size_t size,
                                       std::string& buffer) const override;

 private:
  const std::shared_ptr<SegmentStream> stream_;
  const SegmentStream::PieceNow piece_now_;
  const IsReplaced is_replaced_;
  const SegmentStream::State state_;  // at the open
  const OpenFlags flags_;
};

}  // namespace offsetfs::fs
