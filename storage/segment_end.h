#pragma once

#include <optional>

#include "storage/producer_state.h"
#include "storage/result.h"
#include "storage/segment_writer.h"
#include "storage/units.h"
#include "storage/write_dir.h"

namespace offsetfs::storage {

// Where a segment ends by its indexes: what lies behind the last entry of its `.index` is read, a
// few batches, and nothing before. For segments that a clean stop or a flush has left whole. Of
// each its base_offset and size_bytes are to be known; nothing is changed.

// The offset behind the last batch of a sealed segment, by headers alone. Nothing where that can't
// be told: the index is missing or wrong, damage lies behind its last entry, or too much.
std::optional<Offset> end_by_index(const WriteDir& dir, WrittenSegment segment);

// Gives a segment what its `.timeindex` says, whose last entry, as the file was trimmed, is the
// largest timestamp of the segment. A missing or empty one says nothing.
Result<void> take_last_time(const WriteDir& dir, WrittenSegment& segment);

// Gives the active segment all that its writer has to remember of it, and `producers` what the
// batches behind the last index entry tell. False, and both are half told: it does not end with a
// whole batch, or its indexes are not as a clean stop leaves them, so that only a walk can tell
// (segment_walk.h). An empty one is as it should be.
Result<bool> open_by_index(const WriteDir& dir, WrittenSegment& segment, ProducerState& producers);

}  // namespace offsetfs::storage
