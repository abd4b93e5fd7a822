#include <algorithm>
#include <deque>
#include <utility>

#include "storage/segment.h"

// Where a segment's batches end, and the last of them that holds a record.

namespace offsetfs::storage {

namespace {

// Batches at the end whose CRC is looked at, from the last one back to the first that is good.
constexpr std::size_t kMostBackwards = 1024;
constexpr std::int64_t kZeroPieceBytes = 64 << 10;
// A preallocated file that lives has up to a gigabyte of zeros behind its batches: these many bytes
// of them, and the last ones, stand for all.
constexpr std::int64_t kZerosBelieved = 1 << 20;

Result<bool> all_zeros(LogWindow& window, Position from, Position to) {
  while (from < to) {
    const auto want = static_cast<std::size_t>(std::min(kZeroPieceBytes, to - from));
    ASSIGN_OR_RETURN(const Bytes bytes, window.bytes_at(from, want));
    if (bytes.empty()) break;
    const std::size_t looked = std::min(want, bytes.size());
    if (bytes.substr(0, looked).find_first_not_of('\0') != Bytes::npos) return false;
    from = from + static_cast<std::int64_t>(looked);
  }
  return true;
}

Result<bool> zeros_to_the_end(LogWindow& window, Position from, bool living) {
  const Position to = window.limit();
  if (!living || to - from <= 2 * kZerosBelieved) return all_zeros(window, from, to);
  ASSIGN_OR_RETURN(const bool front, all_zeros(window, from, from + kZerosBelieved));
  return front ? all_zeros(window, to - kZeroPieceBytes, to) : Result<bool>(false);
}

// Where the delta and the count of a header that can't be believed disagree, the smaller one: a log
// end far beyond the records would be worse than one that falls short of a gap.
Offset next_offset_of_damaged(const BatchHeader& header) {
  if (!header.is_v2()) return header.next_offset();
  return std::min(header.next_offset(), header.base_offset + std::max(header.records_count, 1));
}

}  // namespace

Result<SegmentTail> Segment::find_tail(Position size, bool living, Offset settled) const {
  LogWindow window(*log_, size);
  ASSIGN_OR_RETURN(const Position from, last_index_position(size, window));
  SegmentTail tail;
  tail.next_offset = base_offset_;
  return walk_to_tail(tail, from, window, living, settled);
}

Result<SegmentTail> Segment::extend_tail(const SegmentTail& known, Position size, bool living,
                                         Offset settled) const {
  LogWindow window(*log_, size);
  if (!known.last_batch) return walk_to_tail(known, Position{0}, window, living, settled);
  BatchHeader header;
  ASSIGN_OR_RETURN(const Probe probe, window.probe(*known.last_batch, header, nullptr));
  const BatchHeader& was = known.last_header;
  if (probe != Probe::kBatch || header.crc != was.crc || header.size_bytes != was.size_bytes ||
      header.base_offset != was.base_offset || header.leader_epoch != was.leader_epoch) {
    return fail(Errc::kOutOfRange, log_->name() + ": position " +
                                       std::to_string(known.last_batch->value) +
                                       ": the batch that was here is gone: the log was truncated");
  }
  return walk_to_tail(known, *known.last_batch, window, living, settled);
}

Result<Position> Segment::last_index_position(Position size, LogWindow& window) const {
  const OffsetIndex* const index = size.value <= kScanBytes ? nullptr : offset_index();
  Position before = size;
  for (int steps = 0; index != nullptr && steps < 16; ++steps) {
    if (steps >= 4) before.value /= 2;
    const auto entry = index->lookup_position(before);
    if (!entry || !*entry || (*entry)->position >= before) break;
    before = (*entry)->position;
    BatchHeader header;
    ASSIGN_OR_RETURN(const Probe probe, window.probe(before, header, nullptr));
    if (probe != Probe::kBatch || !plausible(header)) continue;
    ASSIGN_OR_RETURN(const bool good, window.crc_good(before, header));
    if (good) return before;
  }
  return Position{0};
}

Result<SegmentTail> Segment::walk_to_tail(SegmentTail tail, Position from, LogWindow& window,
                                          bool living, Offset settled) const {
  struct Seen {
    Position position;
    BatchHeader header;
  };
  std::deque<Seen> seen;  // the last of them
  std::int64_t lost = 0;  // records of the batches out of line that are the last
  Position at = from;
  tail.torn = tail.zero_tail = false;
  while (true) {
    BatchHeader header;
    ASSIGN_OR_RETURN(const Probe probe, window.probe(at, header, nullptr));
    if (probe == Probe::kBatch) {
      std::optional<Offset> expected;
      if (!seen.empty()) expected = seen.back().header.next_offset();
      if (at.value == 0) expected = base_offset_;
      ASSIGN_OR_RETURN(const bool in_line, lies_in_line(at, header, expected, window));
      if (in_line) {
        seen.push_back({at, header});
        if (seen.size() > kMostBackwards) seen.pop_front();
        lost = 0;
        at = at + header.size_bytes;
        continue;
      }
      ASSIGN_OR_RETURN(const bool good, window.crc_good(at, header));
      if (good) {  // whoever reads there will say so
        lost += std::max(header.records_count, 1);
        at = at + header.size_bytes;
        continue;
      }
    }
    if (probe == Probe::kEnd) break;
    if (probe == Probe::kZeros) {
      ASSIGN_OR_RETURN(tail.zero_tail, zeros_to_the_end(window, at, living));
    }
    if (!seen.empty()) {  // did the last one lie about its length?
      const Seen& last = seen.back();
      ASSIGN_OR_RETURN(const bool good, window.crc_good(last.position, last.header));
      if (!good) {
        ASSIGN_OR_RETURN(const auto hidden,
                         next_good_batch(last.position + 1, window.limit(), last.header.base_offset,
                                         window.limit()));
        if (hidden) {
          at = *hidden;
          seen.pop_back();
          tail.zero_tail = false;
          continue;
        }
      }
    }
    const Offset expected = seen.empty() ? base_offset_ : seen.back().header.next_offset();
    std::optional<Position> behind;
    if (!tail.zero_tail) {
      ASSIGN_OR_RETURN(behind, next_good_batch(at + 1, window.limit(), expected, window.limit()));
    }
    if (!behind) {
      tail.torn = true;
      break;
    }
    at = *behind;  // damage between batches: whoever reads there will say so
  }
  tail.end = at;
  // Cut short by a crash, or still being written: batches with a bad CRC and no good one behind.
  bool last_is_good = true;
  while (living && lost == 0 && !seen.empty()) {
    ASSIGN_OR_RETURN(last_is_good, window.crc_good(seen.back().position, seen.back().header));
    if (last_is_good || seen.back().header.base_offset < settled) break;
    tail.end = seen.back().position;
    tail.torn = true;
    seen.pop_back();
  }
  if (!seen.empty()) {
    tail.last_batch = seen.back().position;
    tail.last_header = seen.back().header;
    tail.next_offset =
        last_is_good ? tail.last_header.next_offset() : next_offset_of_damaged(tail.last_header);
  } else {
    tail.last_batch.reset();
    tail.next_offset = base_offset_;
  }
  tail.next_offset = tail.next_offset + lost;
  if (!living && tail.torn) {
    report(tail.end, "the last " + std::to_string(window.limit() - tail.end) +
                         " bytes are no whole batch: the segment ends before them");
  }
  return tail;
}

Result<std::optional<BatchPlace>> Segment::last_batch_with_records(Position valid_end,
                                                                   bool control) const {
  LogWindow window(*log_, valid_end);
  const OffsetIndex* const index = valid_end.value <= kScanBytes ? nullptr : offset_index();
  Position to = valid_end;
  while (to.value > 0) {
    Position from{0};
    if (index != nullptr) {
      const auto entry = index->lookup_position(to);
      if (entry && *entry && (*entry)->position < to) from = (*entry)->position;
    }
    bool whole = false;
    ASSIGN_OR_RETURN(auto place, last_with_records(from, to, control, window, whole));
    if (!whole && from.value > 0) {  // no batch begins there: the index is no use
      from = Position{0};
      ASSIGN_OR_RETURN(place, last_with_records(from, to, control, window, whole));
    }
    if (place || from.value == 0) return place;
    to = from;
  }
  return std::optional<BatchPlace>();
}

// `whole`: the walk came to `to` exactly, so `from` was a batch boundary.
Result<std::optional<BatchPlace>> Segment::last_with_records(Position from, Position to,
                                                             bool control, LogWindow& window,
                                                             bool& whole) const {
  std::optional<BatchPlace> last;
  std::optional<Offset> expected;
  if (from.value == 0) expected = base_offset_;
  Position at = from;
  while (at < to) {
    BatchHeader header;
    ASSIGN_OR_RETURN(const Probe probe, window.probe(at, header, nullptr));
    bool in_line = probe == Probe::kBatch;
    if (in_line) {
      ASSIGN_OR_RETURN(in_line, lies_in_line(at, header, expected, window));
    }
    if (in_line) {
      if (header.records_count != 0 && (control || !header.is_control())) {
        last.emplace();
        last->header = header;
        last->position = at;
        last->segment_base_offset = base_offset_;
      }
      expected = header.next_offset();
      at = at + header.size_bytes;
      continue;
    }
    if (from.value > 0) break;  // perhaps no boundary at all: from the front one knows
    if (last) {                 // did it lie about its length?
      ASSIGN_OR_RETURN(const bool good, window.crc_good(last->position, last->header));
      if (!good) {
        at = last->position;
        expected = last->header.base_offset;
        last.reset();
      }
    }
    ASSIGN_OR_RETURN(const Damage damage, damage_at(at, expected, window.limit()));
    if (damage.end == at) break;
    at = damage.end;
  }
  whole = at == to;
  return last;
}

}  // namespace offsetfs::storage
