#pragma once

#include <cstdint>
#include <vector>

#include "fs/resume_points.h"
#include "storage/batch_header.h"
#include "storage/units.h"

namespace offsetfs::fs {

// Adds up the lines of a stretch of a segment, and notes a resume point every 16 KiB or so. Output
// positions count from the front of the stretch: where that lies in the stream may not be known
// yet. One thread.
class LineTally {
 public:
  explicit LineTally(std::uint32_t piece) : piece_(piece) {}

  void begin_batch(const storage::BatchHeader& header, storage::Position position) {
    batch_position_ = position.value;
    batch_crc_ = header.crc;
  }
  void line(std::uint32_t record_position, std::int32_t ordinal, std::size_t size) {
    if (bytes_ >= next_point_) note_point(record_position, ordinal);
    bytes_ += static_cast<std::int64_t>(size);
  }

  std::int64_t bytes() const { return bytes_; }
  const std::vector<ResumePoint>& points() const { return points_; }

 private:
  static constexpr std::int64_t kFirstSpacing = 16 << 10;
  static constexpr std::size_t kMostPoints = 4096;  // a few batches may decompress to gigabytes

  void note_point(std::uint32_t record_position, std::int32_t ordinal);

  const std::uint32_t piece_;
  std::int64_t batch_position_ = 0;
  std::uint32_t batch_crc_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t next_point_ = 0;
  std::int64_t spacing_ = kFirstSpacing;
  std::vector<ResumePoint> points_;
};

}  // namespace offsetfs::fs
