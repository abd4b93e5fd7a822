#include "fs/log_place.h"

#include <algorithm>
#include <array>
#include <tuple>

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

// Whether compaction may have written the bytes of `now` from those of `then`. It copies a batch
// that it takes no record from, unless it notes there when the tombstones in it may go; a batch
// that a leader wrote is never of fewer records than it has offsets. Source: Kafka's
// MemoryRecords.filterTo.
bool may_be_rewritten(const BatchHeader& then, const BatchHeader& now) {
  return now.records_count == 0 || now.records_count < then.records_count ||
         (now.has_delete_horizon() && !then.has_delete_horizon());
}

// Whether `now` may be what compaction left of `then`: it may take records, the newest too, and
// leaves the rest of the header. What was written anew in the place of what was truncated has
// another leader's epoch, or at least another producer, sequence or time, or other records.
// Source: Kafka's MemoryRecords.filterTo, DefaultRecordBatch.writeEmptyHeader.
bool is_it(const BatchHeader& then, const BatchHeader& now) {
  const auto identity = [](const BatchHeader& header) {
    return std::tuple(header.base_offset, header.last_offset, header.leader_epoch,
                      header.producer_id, header.producer_epoch, header.base_sequence);
  };
  if (identity(then) != identity(now)) return false;
  return now.crc == then.crc ||
         (now.max_timestamp <= then.max_timestamp && may_be_rewritten(then, now));
}

// In a segment that is another file now.
Result<PlacedState> search(const PlacedBatch& batch, const PartitionLog& log,
                           const std::vector<SegmentEntry>& entries, std::size_t index) {
  const BatchHeader& then = batch.header;
  ASSIGN_OR_RETURN(const auto segment, log.segment(entries[index]));
  ASSIGN_OR_RETURN(const Position limit, log.valid_end(entries[index]));
  const auto place = segment->find_batch(then.last_offset, limit);
  if (place) {
    const BatchHeader& now = place->header;
    if (now.base_offset > then.last_offset || !then.is_v2()) return PlacedState::kPassed;
    return is_it(then, now) ? PlacedState::kThere : PlacedState::kReplaced;
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
  return status == storage::HeaderStatus::kOk && header.crc == batch.header.crc &&
         is_it(batch.header, header);
}

Result<PlacedState> state_of(const PlacedBatch& batch, const PartitionLog& log,
                             Offset log_start_offset) {
  if (log_start_offset > batch.header.last_offset) return PlacedState::kPassed;
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
        entries->begin(), entries->end(), batch.header.last_offset,
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
  if (hint->position != given->position && hint->position != given->end()) return false;
  const auto there = lies_there(*given, *segment);
  return there && *there;
}

}  // namespace offsetfs::fs
