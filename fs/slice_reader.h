#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "fs/batch_lines.h"
#include "fs/log_place.h"
#include "fs/resume_points.h"
#include "fs/stream_damage.h"
#include "fs/stream_pieces.h"
#include "fs/stream_resources.h"
#include "storage/result.h"

namespace offsetfs::fs {

// What became of a read.
struct SliceEnd {
  bool at_end = false;                 // the stream has no more
  std::optional<StreamDamage> damage;  // nothing behind this can be had
  // Why a piece could not be opened, of which more was wanted than what was appended.
  std::optional<storage::Error> cut_short;
  std::optional<PlacedBatch> reached;  // the last batch of which something was taken
};

// The bytes of a stream from its log: what every read of every stream comes down to.
struct SliceReader {
  const StreamPieces& pieces;
  const BatchLines& lines;
  ResumePoints& points;
  StreamResources& resources;
  std::uint64_t stream = 0;  // StreamResources::next_stream
  bool learn = false;        // keep resume points of what was read: the stream was not measured

  // Appends the bytes at [from, to) to `out`: fewer only as SliceEnd says; or, if the stream was
  // not measured, where something was found and much log was passed (what is rare in a log would
  // else keep a reader waiting for a whole buffer of it). Batches are read in big pieces and their
  // CRC checked; one that several reads share is decoded once for all of them. kIo with EINTR if
  // `stop` was requested.
  storage::Result<SliceEnd> read(std::int64_t from, std::int64_t to, std::string& out,
                                 std::stop_token stop = {}) const;
};

}  // namespace offsetfs::fs
