#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/mutex.h"
#include "storage/units.h"

namespace offsetfs::fs {

// A place where rendering can begin: the line at `output_position` of the stream is made of the
// record at `record_position` in the decoded batch at `batch_position`.
struct ResumePoint {
  std::int64_t output_position = 0;
  std::uint32_t piece = 0;
  std::int64_t batch_position = 0;
  std::uint32_t record_position = 0;
  std::int32_t ordinal = 0;     // records of the batch before it
  std::uint32_t batch_crc = 0;  // tells later whether it is still the same batch

  friend bool operator==(const ResumePoint&, const ResumePoint&) = default;
};

// The resume points of one stream: the last known at or before each multiple of the stride, and the
// ends of the latest reads. The stride begins at 128 KiB, the kernel's read-ahead, so that a READ
// finds a point right before its first byte; it doubles when there are too many. Where a point is
// missing the one before does: it costs time, never bytes.
//
// About 200 KB for 1 GiB of output. Any thread.
class ResumePoints {
 public:
  static constexpr std::int64_t kFirstStride = 128 << 10;
  static constexpr std::size_t kMostSlots = 32768;

  // `front`: the output position of the first line, behind a head line if there is one.
  explicit ResumePoints(std::int64_t front = 0) : front_(front) {}
  ResumePoints(ResumePoints&&) = delete;

  // Points may come in any order; positions that no `.log` has (4 GiB and up) are not kept.
  void add(const ResumePoint& point);
  // The end of a read: where the next one probably begins.
  void add_recent(const ResumePoint& point);
  // The last known at or before `output_position`: by default the front of the stream.
  ResumePoint find(std::int64_t output_position) const;

  // Of points at the front of their batch, in order: for those who look for what is still the same.
  std::vector<ResumePoint> batch_fronts() const;
  // Forgets what lies behind `output_position`.
  void cut(std::int64_t output_position);
  void clear();
  // Gives up every other point; false if there are too few to be worth it.
  bool thin();
  std::size_t memory_bytes() const;

 private:
  // Slot i holds a point in ((i - 1) * stride, i * stride].
  struct Slot {
    static constexpr std::uint32_t kEmpty = UINT32_MAX;
    std::uint32_t before = kEmpty;  // i * stride - output_position
    std::uint32_t piece = 0;
    std::uint32_t batch_position = 0;
    std::uint32_t record_position = 0;
    std::int32_t ordinal = 0;
    std::uint32_t batch_crc = 0;
  };
  static constexpr std::size_t kFewSlots = 64;
  static constexpr std::int64_t kMostStride = std::int64_t{1} << 31;

  ResumePoint point_of(std::size_t slot) const REQUIRES(mutex_);
  void put(const ResumePoint& point) REQUIRES(mutex_);
  void double_stride() REQUIRES(mutex_);

  const std::int64_t front_;
  mutable storage::Mutex mutex_;
  std::int64_t stride_ GUARDED_BY(mutex_) = kFirstStride;
  std::vector<Slot> slots_ GUARDED_BY(mutex_);
  std::array<ResumePoint, 8> recent_ GUARDED_BY(mutex_){};
  std::size_t next_recent_ GUARDED_BY(mutex_) = 0;
};

}  // namespace offsetfs::fs
