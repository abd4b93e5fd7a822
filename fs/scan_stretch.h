#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "fs/batch_lines.h"
#include "fs/resume_points.h"
#include "fs/stream_pieces.h"
#include "storage/record_batch.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// A part of a piece, to be walked in one go.
struct Stretch {
  std::uint32_t piece = 0;
  storage::Position begin{};
  storage::Position end{};

  friend bool operator==(const Stretch&, const Stretch&) = default;
};

// A batch that was measured, to tell later whether the log still holds it.
struct Anchor {
  storage::Position position{};
  std::int64_t size_bytes = 0;
  std::uint32_t crc = 0;
  std::int64_t output_position = 0;  // of its first line
};

struct StretchResult {
  enum class End {
    kReached,  // at a batch boundary, exactly at the end
    kTorn,     // no whole batch follows
    kDamaged,  // `error` says why
    kFailed,   // the read failed: `error`
    kCancelled,
  };
  End end = End::kReached;
  storage::Position reached{};
  storage::Error error;
  // Output positions count from the front of the stretch.
  std::int64_t bytes = 0;
  std::vector<ResumePoint> points;
  std::vector<Anchor> last_batches;  // the last few, oldest first
};

// Walks the batches of `stretch`, each CRC checked, and adds up their lines. Polls `cancelled` for
// each batch. One pass, in pieces that stay in the processor's cache.
StretchResult scan_stretch(const StreamPiece& piece, const Stretch& stretch,
                           const BatchLines& lines, const storage::DecodeLimits& limits,
                           const std::atomic<bool>& cancelled);

}  // namespace offsetfs::fs
