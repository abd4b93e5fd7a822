#pragma once

#include <cstdint>
#include <optional>

#include "storage/batch_header.h"
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

enum class InLine {
  kYes,
  kNo,
  kAskNext,  // there is a gap: the batch behind it tells whether it is one (next_denies)
};

// `expected`: the next_offset of the batch before; absent where that isn't known.
inline InLine in_line(const BatchHeader& header, std::optional<Offset> expected,
                      Offset segment_base_offset) {
  if (!within_segment(header, segment_base_offset)) return InLine::kNo;
  if (expected && least_claimed(header) < *expected) return InLine::kNo;
  const bool dense =
      !header.is_v2() || header.records_count == header.last_offset - header.base_offset + 1;
  return expected && least_claimed(header) == *expected && dense ? InLine::kYes : InLine::kAskNext;
}

// True if `next`, the batch behind, fits the one before `header` but not `header` itself, which
// then is the one that lies.
inline bool next_denies(const BatchHeader& header, const BatchHeader& next,
                        std::optional<Offset> expected, Offset segment_base_offset) {
  return within_segment(next, segment_base_offset) && least_claimed(next) < header.next_offset() &&
         least_claimed(next) >= expected.value_or(least_claimed(header));
}

}  // namespace offsetfs::storage
