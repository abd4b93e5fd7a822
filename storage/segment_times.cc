#include <algorithm>
#include <utility>

#include "storage/segment.h"

// Times in one segment. Batches are compared by their header's max_timestamp; whoever wants a
// record looks into the batch.

namespace offsetfs::storage {

namespace {

// Calls `visit(position, header)` for each batch from `at` on, over damage, until it returns false.
template <class Visit>
Result<void> visit_headers(const Segment& segment, LogWindow& window, Position at,
                           std::optional<Offset> expected, const Visit& visit) {
  Position previous_position{-1};  // -1: none
  BatchHeader previous;
  while (true) {
    BatchHeader header;
    ASSIGN_OR_RETURN(const Probe probe, window.probe(at, header, nullptr));
    if (probe == Probe::kEnd) return {};
    bool good = probe == Probe::kBatch;
    if (good) {
      ASSIGN_OR_RETURN(good, window.lies_in_line(at, header, expected, segment.base_offset()));
    }
    if (good) {
      ASSIGN_OR_RETURN(const bool more, visit(at, header));
      if (!more) return {};
      expected = header.next_offset();
      previous_position = at;
      previous = header;
      at = at + header.size_bytes;
      continue;
    }
    if (previous_position.value >= 0) {  // did it lie about its length?
      ASSIGN_OR_RETURN(const bool crc_good, window.crc_good(previous_position, previous));
      if (!crc_good) {
        at = previous_position;
        expected = previous.base_offset;
      }
      previous_position = Position{-1};
    }
    ASSIGN_OR_RETURN(const Damage damage, segment.damage_at(at, expected, window.limit()));
    if (damage.end == at) return {};
    expected = damage.next;
    at = damage.end;
  }
}

}  // namespace

// The place of the batch an entry speaks of, if that batch has exactly the entry's time. Headers
// are enough for that: a damaged one would have to bear both the offset and the time.
Result<std::optional<BatchPlace>> Segment::proven(const TimestampOffset& entry,
                                                  LogWindow& window) const {
  BatchPlace place;
  place.segment_base_offset = base_offset_;
  const auto is_it = [&](const BatchHeader& header) {
    return plausible(header) && header.base_offset <= entry.offset &&
           header.last_offset >= entry.offset && header.max_timestamp == entry.timestamp;
  };
  // A broker writes both its entries at the same batch.
  ASSIGN_OR_RETURN(const OffsetIndex::Around around, index_around(entry.offset, window.limit()));
  if (around.entry && around.entry->offset == entry.offset) {
    place.index_entry = around.entry;
    place.position = around.entry->position;
    ASSIGN_OR_RETURN(const Probe probe, window.probe(place.position, place.header, nullptr));
    if (probe == Probe::kBatch && is_it(place.header)) return std::optional(std::move(place));
  }
  ASSIGN_OR_RETURN(BatchSearch found, search(entry.offset, window.limit(), DecodeLimits{}));
  if (found.outcome == BatchSearch::Outcome::kFound && is_it(found.place.header)) {
    return std::optional(std::move(found.place));
  }
  return std::optional<BatchPlace>();
}

Result<TimestampMs> Segment::max_timestamp(Position valid_end) const {
  LogWindow window(*log_, valid_end);
  const TimeIndex* const index = valid_end.value <= kTimeScanBytes ? nullptr : time_index();
  if (index != nullptr) {
    const auto last = index->last();
    if (last && *last) {
      ASSIGN_OR_RETURN(const std::optional<BatchPlace> place, proven(**last, window));
      if (place) {
        return max_timestamp_from(place->position, (*last)->timestamp, valid_end);
      }
    }
  }
  return max_timestamp_from(Position{0}, kNoTimestamp, valid_end);
}

Result<TimestampMs> Segment::max_timestamp_from(Position from, TimestampMs largest,
                                                Position valid_end) const {
  LogWindow window(*log_, valid_end);
  std::optional<Offset> expected;
  if (from.value == 0) expected = base_offset_;
  RETURN_IF_ERROR(visit_headers(*this, window, from, expected,
                                [&](Position, const BatchHeader& header) -> Result<bool> {
                                  largest = std::max(largest, header.max_timestamp);
                                  return true;
                                }));
  return largest;
}

Result<Segment::Start> Segment::start_for_time(TimestampMs target, Offset from,
                                               LogWindow& window) const {
  const TimeIndex* const index = window.limit().value <= kTimeScanBytes ? nullptr : time_index();
  if (index != nullptr && target.value > INT64_MIN) {
    const auto older = index->lookup(target - 1);
    if (older && *older && (*older)->offset >= from) {
      ASSIGN_OR_RETURN(const std::optional<BatchPlace> place, proven(**older, window));
      if (place) return Start{place->position, place->index_entry, true};
    }
  }
  ASSIGN_OR_RETURN(const OffsetIndex::Around around, index_around(from, window.limit()));
  ASSIGN_OR_RETURN(Start start, start_for(around, from, window));
  for (int steps = 0; true; ++steps) {
    ASSIGN_OR_RETURN(const bool trusted, is_trusted(start, window));
    if (trusted) return start;
    ASSIGN_OR_RETURN(start, earlier_start(start, steps, from, window));
  }
}

Result<BatchPlace> Segment::find_batch_by_time(TimestampMs target, Offset from,
                                               Position valid_end) const {
  LogWindow window(*log_, valid_end);
  ASSIGN_OR_RETURN(const Start start, start_for_time(target, from, window));
  BatchPlace place;
  place.segment_base_offset = base_offset_;
  place.index_entry = start.entry;
  bool found = false;
  ASSIGN_OR_RETURN(const auto expected, expected_at(start.position, window));
  RETURN_IF_ERROR(visit_headers(*this, window, start.position, expected,
                                [&](Position position, const BatchHeader& header) -> Result<bool> {
                                  ++place.batches_scanned;
                                  found =
                                      header.last_offset >= from && header.max_timestamp >= target;
                                  if (!found) return true;
                                  place.position = position;
                                  place.header = header;
                                  return false;
                                }));
  if (found) return place;
  return fail(Errc::kNotFound,
              log_->name() + ": no batch has a time at or after " + std::to_string(target.value));
}

}  // namespace offsetfs::storage
