#include "fs/line_tally.h"

namespace offsetfs::fs {

void LineTally::note_point(std::uint32_t record_position, std::int32_t ordinal) {
  if (points_.size() == kMostPoints) {
    for (std::size_t i = 0; i < kMostPoints / 2; ++i) points_[i] = points_[2 * i];
    points_.resize(kMostPoints / 2);
    spacing_ *= 2;
  }
  points_.push_back({bytes_, piece_, batch_position_, record_position, ordinal, batch_crc_});
  next_point_ = bytes_ + spacing_;
}

}  // namespace offsetfs::fs
