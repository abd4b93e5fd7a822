#include "fs/log_place.h"

#include <algorithm>
#include <array>

#include "storage/batch_header.h"

namespace offsetfs::fs {

using storage::BatchHeader;
using storage::Errc;
using storage::Offset;
using storage::PartitionLog;
using storage::Position;
using storage::Result;
using storage::Segment;
using storage::SegmentEntry;

namespace {

bool is_it(const PlacedBatch& batch, const BatchHeader& header) {
  return header.base_offset == batch.base_offset && header.last_offset == batch.last_offset &&
         header.leader_epoch == batch.leader_epoch;
}

// In a segment that is another file now: compaction leaves a batch its offsets and its epoch, and a
// batch that a new leader wrote in its place has another epoch.
Result<PlacedState> search(const PlacedBatch& batch, const PartitionLog& log,
                           const std::vector<SegmentEntry>& entries, std::size_t index) {
  ASSIGN_OR_RETURN(const auto segment, log.segment(entries[index]));
  ASSIGN_OR_RETURN(const Position limit, log.valid_end(entries[index]));
  const auto place = segment->find_batch(batch.last_offset, limit);
  if (place) {
    if (place->header.base_offset > batch.last_offset || !batch.is_v2) return PlacedState::kPassed;
    return is_it(batch, place->header) ? PlacedState::kThere : PlacedState::kReplaced;
  }
  switch (place.error().code) {
    case Errc::kNotFound:
      return index + 1 < entries.size() ? PlacedState::kPassed : PlacedState::kReplaced;
    case Errc::kCorrupt: return PlacedState::kPassed;  // nobody can tell
    default: return storage::fail(place.error());
  }
}

// The segment with this base offset; null: there is none.
Result<std::shared_ptr<const Segment>> segment_of(Offset base_offset, const PartitionLog& log) {
  const auto entries = log.segments();
  const auto entry =
      std::lower_bound(entries->begin(), entries->end(), base_offset,
                       [](const SegmentEntry& e, Offset offset) { return e.base_offset < offset; });
  if (entry == entries->end() || entry->base_offset != base_offset) return nullptr;
  auto segment = log.segment(*entry);
  if (!segment && segment.error().code == Errc::kNotFound) return nullptr;
  return segment;
}

}  // namespace

Result<bool> lies_there(const PlacedBatch& batch, const Segment& segment) {
  std::array<char, BatchHeader::kV2HeaderBytes> bytes;
  ASSIGN_OR_RETURN(const std::size_t read, segment.log().read_at(batch.position, bytes));
  BatchHeader header;
  const auto status =
      storage::parse_batch_header(storage::Bytes(bytes.data(), read), header, nullptr);
  return status == storage::HeaderStatus::kOk && header.crc == batch.crc && is_it(batch, header);
}

Result<PlacedState> state_of(const PlacedBatch& batch, const PartitionLog& log,
                             Offset log_start_offset) {
  if (log_start_offset > batch.last_offset) return PlacedState::kPassed;
  ASSIGN_OR_RETURN(const auto segment, segment_of(batch.segment_base_offset, log));
  if (segment != nullptr) {
    ASSIGN_OR_RETURN(const bool there, lies_there(batch, *segment));
    if (there) return PlacedState::kThere;
    if (batch.segment.lock() == segment) return PlacedState::kReplaced;
  }
  // What is missing in a listing may be so because a roll came in between: a second one has it.
  log.refresh();
  constexpr int kMostTries = 3;
  for (int tries = 1;; ++tries) {
    const auto entries = log.segments();
    const auto after = std::upper_bound(
        entries->begin(), entries->end(), batch.last_offset,
        [](Offset offset, const SegmentEntry& e) { return offset < e.base_offset; });
    // No segment so old, but newer ones: retention, that the caller has not heard of.
    if (after == entries->begin())
      return entries->empty() ? PlacedState::kReplaced : PlacedState::kPassed;
    auto state =
        search(batch, log, *entries, static_cast<std::size_t>(after - entries->begin()) - 1);
    if (state || tries == kMostTries || state.error().code != Errc::kNotFound) return state;
    log.refresh();  // the segment vanished since it was listed
  }
}

bool LogPlace::hint_holds_in(const std::shared_ptr<const Segment>& segment) const {
  if (!hint || hint->segment_base_offset != segment->base_offset()) return false;
  if (hint->segment.lock() == segment) return true;
  if (!given || given->segment_base_offset != segment->base_offset()) return false;
  if (hint->position != given->position && hint->position != given->position + given->size_bytes)
    return false;
  const auto there = lies_there(*given, *segment);
  return there && *there;
}

}  // namespace offsetfs::fs
