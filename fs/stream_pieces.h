#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "fs/log_place.h"
#include "storage/file.h"
#include "storage/result.h"
#include "storage/segment.h"
#include "storage/units.h"

namespace offsetfs::fs {

// A stretch of one `.log` that a stream shows: whole batches from `begin` to `end`.
struct StreamPiece {
  // Keeps the file open. Null only where a test brings a file of its own.
  std::shared_ptr<const storage::Segment> segment;
  const storage::File* file = nullptr;
  storage::Offset segment_base_offset{};
  storage::Position begin{};
  storage::Position end{};
  // Records at or above this count in the next segment: below it only where segments overlap.
  storage::Offset records_end{INT64_MAX};
  // What was lost behind `end`: a stream that goes on to the next segment ends there.
  std::optional<storage::Damage> lost_behind;
  bool living = false;  // an unsound last batch may be one that is still being written
};

// The pieces of a stream in order. Opened when they are needed, so that a stream over a thousand
// segments does not hold a thousand files. Any thread.
class StreamPieces {
 public:
  virtual ~StreamPieces() = default;
  virtual std::size_t count() const = 0;
  // Whose they are, for messages.
  virtual std::string name() const { return {}; }
  virtual storage::Result<StreamPiece> open(std::size_t piece) const = 0;
  // The same, for who only passes through: nothing that is held for readers is let go of.
  virtual storage::Result<StreamPiece> glance(std::size_t piece) const { return open(piece); }

  // What became of the pieces' records since they were found. Batches that retention took, or
  // compaction, are no loss.
  enum class Standing {
    kWhole,
    kCutAhead,  // records were truncated away, but none at or before the batches asked about
    kCut,       // one of those was truncated away, or came in the place of what was
  };
  // As the log is now: a reader asks before it gives what it has read of `given`.
  virtual storage::Result<Standing> standing(std::span<const PlacedBatch> given) const {
    static_cast<void>(given);
    return Standing::kWhole;
  }
};

// One piece, open.
class SinglePiece : public StreamPieces {
 public:
  explicit SinglePiece(StreamPiece piece) : piece_(std::move(piece)) {}
  std::size_t count() const override { return 1; }
  storage::Result<StreamPiece> open(std::size_t) const override { return piece_; }

 private:
  const StreamPiece piece_;
};

}  // namespace offsetfs::fs
