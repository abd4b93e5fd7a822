#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "fs/batch_lines.h"
#include "fs/log_place.h"
#include "fs/resume_points.h"
#include "fs/slice_reader.h"
#include "fs/stream_damage.h"
#include "fs/stream_file.h"
#include "fs/stream_pieces.h"
#include "fs/stream_resources.h"
#include "storage/mutex.h"
#include "storage/result.h"

namespace offsetfs::fs {

// An open range: the records of a stretch of a partition, frozen at the open. Measured, it is a
// file like others; not measured, a stream without a size that is made as it is read: its handle
// remembers where its reads ended, so that reading on costs nothing, and reading again, or ahead,
// costs the way from the nearest place that is remembered. Always read past the kernel's cache
// (direct_io): two opens of one range may hold different records, with the log's start and end.
//
// What it gives is of one history: once records were truncated away that it was to show, it gives
// what lies before them, and then kOutOfRange, with a line in the log. Compaction and retention end
// it only where they took, or made another, what it had not come to and did not hold open: kIo.
class RangeStream : public StreamFile {
 public:
  RangeStream(std::shared_ptr<const StreamPieces> pieces, std::shared_ptr<const BatchLines> lines,
              StreamResources& resources);

  // Makes the exact size. Before anything is read.
  storage::Result<void> measure(std::stop_token stop);

  std::optional<std::int64_t> size_bytes() const override;
  OpenFlags flags() const override;
  storage::Result<storage::Bytes> read(std::uint64_t position, std::size_t size,
                                       std::string& buffer) const override;

 private:
  storage::Result<void> check_standing(const storage::Result<SliceEnd>& read, std::size_t bytes,
                                       bool whole) const;
  tl::unexpected<storage::Error> truncated() const;
  tl::unexpected<storage::Error> overtaken(storage::Error error) const;
  void say_once(const storage::Error& error) const;

  const std::shared_ptr<const StreamPieces> pieces_;
  const std::shared_ptr<const BatchLines> lines_;
  StreamResources& resources_;
  const std::uint64_t stream_;
  const std::shared_ptr<ResumePoints> points_;
  // Constant after measure().
  std::optional<std::int64_t> size_bytes_;
  std::optional<StreamDamage> damage_;
  mutable std::atomic<bool> said_ = false;  // that it ends before its time
  mutable storage::Mutex mutex_;
  // Of the batches that something was given of, the last in the log.
  mutable std::optional<PlacedBatch> furthest_ GUARDED_BY(mutex_);
};

}  // namespace offsetfs::fs
