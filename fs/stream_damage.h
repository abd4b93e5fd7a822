#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fs/stream_pieces.h"
#include "storage/batch_header.h"
#include "storage/problems.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// Where a stream ends before its time.
struct StreamDamage {
  std::uint32_t piece = 0;
  storage::Position position{};  // of the batch
  storage::Error error;          // names the cause
};

// Names file, position and cause in `problems`, and the offset to go on from: once, however many
// streams end there.
void report_damage(const StreamPieces& pieces, const StreamDamage& damage,
                   storage::Problems& problems);

// The same as an Error, for those who read on.
storage::Error damage_error(const StreamPieces& pieces, const StreamDamage& damage);

// By these a batch out of line is told (batch_order.h); nothing where a test brings a file of its
// own. What is expected at `position`, a batch boundary: nothing where it can't be told.
std::optional<storage::Offset> segment_base_offset(const StreamPiece& piece);
std::optional<storage::Offset> expected_at(const StreamPiece& piece, storage::Position position);

// A stretch of a segment that can't be read, for a stream that says so and goes on behind it.
struct DamagedStretch {
  storage::Position position{};
  storage::Position end{};  // where the next batch begins, or the piece ends
  // Of the batch whose CRC alone is bad, and what its bytes give; else nothing of it is believed.
  std::optional<storage::BatchHeader> header;
  std::uint32_t crc_computed = 0;
  std::string why;
};
storage::Result<DamagedStretch> damaged_stretch(const StreamPiece& piece,
                                                storage::Position position);

}  // namespace offsetfs::fs
