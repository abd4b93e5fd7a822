#include "fs/resume_points.h"

#include <algorithm>
#include <limits>

namespace offsetfs::fs {

using storage::MutexLock;

namespace {
bool fits(const ResumePoint& point) {
  return point.batch_position <= std::numeric_limits<std::uint32_t>::max();
}
}  // namespace

void ResumePoints::add(const ResumePoint& point) {
  if (!fits(point)) return;
  MutexLock lock(mutex_);
  put(point);
}

void ResumePoints::put(const ResumePoint& point) {
  auto slot_of = [&] {
    return static_cast<std::size_t>((point.output_position + stride_ - 1) / stride_);
  };
  while (slot_of() >= kMostSlots) {
    if (stride_ == kMostStride) return;  // 64 TiB of output: those behind begin further ahead
    double_stride();
  }
  const std::size_t i = slot_of();
  if (i >= slots_.size()) slots_.resize(i + 1);
  const auto before = static_cast<std::int64_t>(i) * stride_ - point.output_position;
  Slot& slot = slots_[i];
  if (slot.before < before) return;  // kEmpty is greater than any stride
  slot = {static_cast<std::uint32_t>(before),
          point.piece,
          static_cast<std::uint32_t>(point.batch_position),
          point.record_position,
          point.ordinal,
          point.batch_crc};
}

void ResumePoints::add_recent(const ResumePoint& point) {
  if (!fits(point)) return;
  MutexLock lock(mutex_);
  recent_[next_recent_] = point;
  next_recent_ = (next_recent_ + 1) % recent_.size();
}

ResumePoint ResumePoints::point_of(std::size_t i) const {
  const Slot& slot = slots_[i];
  return {static_cast<std::int64_t>(i) * stride_ - slot.before,
          slot.piece,
          slot.batch_position,
          slot.record_position,
          slot.ordinal,
          slot.batch_crc};
}

ResumePoint ResumePoints::find(std::int64_t output_position) const {
  MutexLock lock(mutex_);
  ResumePoint best{.output_position = front_};
  if (!slots_.empty()) {
    // The slot above may hold a point that is before it all the same.
    std::size_t i =
        std::min(static_cast<std::size_t>(output_position / stride_) + 1, slots_.size() - 1);
    for (;; --i) {
      if (slots_[i].before != Slot::kEmpty) {
        const ResumePoint point = point_of(i);
        if (point.output_position <= output_position) {
          best = point;
          break;
        }
      }
      if (i == 0) break;
    }
  }
  for (const ResumePoint& recent : recent_) {
    if (recent.output_position <= output_position && recent.output_position > best.output_position)
      best = recent;
  }
  return best;
}

std::vector<ResumePoint> ResumePoints::batch_fronts() const {
  MutexLock lock(mutex_);
  std::vector<ResumePoint> fronts;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].before != Slot::kEmpty && slots_[i].ordinal == 0) fronts.push_back(point_of(i));
  }
  return fronts;
}

void ResumePoints::cut(std::int64_t output_position) {
  MutexLock lock(mutex_);
  while (!slots_.empty() && (slots_.back().before == Slot::kEmpty ||
                             point_of(slots_.size() - 1).output_position > output_position))
    slots_.pop_back();
  for (ResumePoint& recent : recent_) {
    if (recent.output_position > output_position) recent = {};
  }
}

void ResumePoints::clear() {
  MutexLock lock(mutex_);
  slots_ = {};
  stride_ = kFirstStride;
  recent_ = {};
}

bool ResumePoints::thin() {
  MutexLock lock(mutex_);
  if (slots_.size() < kFewSlots) return false;
  double_stride();
  slots_.shrink_to_fit();
  return true;
}

void ResumePoints::double_stride() {
  std::vector<ResumePoint> points;
  points.reserve(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].before != Slot::kEmpty) points.push_back(point_of(i));
  }
  slots_.clear();
  stride_ *= 2;
  for (const ResumePoint& point : points) put(point);
}

std::size_t ResumePoints::memory_bytes() const {
  MutexLock lock(mutex_);
  return sizeof(*this) + slots_.capacity() * sizeof(Slot);
}

}  // namespace offsetfs::fs
