#pragma once

#include <cstdint>
#include <optional>

#include "storage/batch_header.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::storage {

// Whether batches lie in line in a segment: each within [base, base + 2^31-1] of the segment's base
// offset, as an index can tell it, and above the one before. The base offset of a batch is in no
// CRC, so this is all that keeps watch over it.

// The least offset that a header claims for sure: of a legacy wrapper, whose first is not known
// before it is decompressed, its last.
inline Offset least_claimed(const BatchHeader& header) {
  return header.is_v2() ? header.base_offset : header.last_offset;
}

inline bool within_segment(const BatchHeader& header, Offset segment_base_offset) {
  return header.base_offset >= segment_base_offset &&
         header.base_offset.value - INT32_MAX <= segment_base_offset.value;
}

// Whether `header` lies in line. `expected`: the next_offset of the batch before; absent where that
// isn't known. `read_next(BatchHeader& next)` is asked only where there is a gap, which the batch
// behind tells from a lie: a Result<bool>, false where no whole batch stands there. What it fails
// with is what this fails with.
template <class ReadNext>
Result<bool> lies_in_line(const BatchHeader& header, std::optional<Offset> expected,
                          Offset segment_base_offset, const ReadNext& read_next) {
  if (!within_segment(header, segment_base_offset)) return false;
  if (expected && least_claimed(header) < *expected) return false;
  const bool dense =
      !header.is_v2() || header.records_count == header.last_offset - header.base_offset + 1;
  if (expected && least_claimed(header) == *expected && dense) return true;
  BatchHeader next;
  ASSIGN_OR_RETURN(const bool found, read_next(next));
  // One that fits the batch before `header`, but not `header` itself, denies it.
  const bool denied = found && within_segment(next, segment_base_offset) &&
                      least_claimed(next) < header.next_offset() &&
                      least_claimed(next) >= expected.value_or(least_claimed(header));
  return !denied;
}

}  // namespace offsetfs::storage
