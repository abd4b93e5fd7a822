#pragma once

#include <optional>

#include "storage/file.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::storage {

// What lies behind the place where a `.log` is no longer made of whole batches: what a crash is
// told from damage by.
struct TailSurvey {
  std::optional<Position> next_valid;  // of a batch with a good CRC and an offset that could follow
  bool hole = false;  // before it (or the end): sectors that were never written; segment_walk.h
  bool hole_at_front = false;  // one at `from`, so that not even the batch's offset was written
  bool only_zeros = false;     // up to the end, or nothing at all
};

// Reads [from, end), a piece at a time. `next_offset`: of the batch that should stand at `from`.
// Every position is tried; a header that can be none is told by a few bytes. Where so much looks
// like headers that checking costs more than kMostSurveyBytes of CRC, `next_valid` is the next
// look-alike: in doubt it is damage.
inline constexpr std::int64_t kMostSurveyBytes = std::int64_t{1} << 30;
Result<TailSurvey> survey_tail(const File& file, Position from, Position end, Offset next_offset);

}  // namespace offsetfs::storage
