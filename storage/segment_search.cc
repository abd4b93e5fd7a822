#include <algorithm>
#include <utility>

#include "storage/segment.h"

// The search for an offset in one segment: where to begin, the walk, and what to believe of it.

namespace offsetfs::storage {

namespace {

// How often a search steps back from an index entry that did not prove good, before it begins at
// the file's front: a few entries one by one, then half the way each time.
constexpr int kSingleSteps = 4;
constexpr int kMostSteps = 12;

// Two index entries this far from each other have a large batch between them.
constexpr std::int64_t kLeastLargeBytes = 8 << 10;
constexpr std::int64_t kMostReadAtOnce = 1 << 20;

std::size_t piece_bytes(Position valid_end) {
  return valid_end.value <= Segment::kScanBytes ? static_cast<std::size_t>(Segment::kScanBytes)
                                                : LogWindow::kDefaultPieceBytes;
}

}  // namespace

// Where a walk over headers came to.
struct Segment::WalkEnd {
  Probe probe = Probe::kEnd;  // kBatch: of the first batch with last_offset >= target
  Position position{};
  BatchHeader header;        // kBatch
  std::string why;           // kBad
  std::int32_t batches = 0;  // walked, the one at `position` included
  // The batch before: its header was believed so far, but no CRC was looked at.
  std::optional<Position> previous_position;
  BatchHeader previous;

  std::optional<Offset> expected_offset() const {
    if (!previous_position) return std::nullopt;
    return previous.next_offset();
  }
};

Result<OffsetIndex::Around> Segment::index_around(Offset target, Position limit) const {
  OffsetIndex::Around nothing;
  if (limit.value <= kScanBytes) return nothing;
  const OffsetIndex* const index = offset_index();
  if (index == nullptr) return nothing;
  auto around = index->lookup_around(target, limit);
  return around ? *around : nothing;  // an index that can't be read is as good as none
}

Result<Segment::Start> Segment::start_for(const OffsetIndex::Around& around, Offset target,
                                          LogWindow& window) const {
  if (!around.entry) return Start{Position{0}, std::nullopt, true};
  const Start start{around.entry->position, around.entry, false};
  ASSIGN_OR_RETURN(const bool good, may_begin_at(*around.entry, target, window));
  if (good) return start;
  return earlier_start(start, 0, target, window);
}

// Where large batches have an entry each, the one behind the entry found (or that one, if it is the
// target's) is read at once, whole. That it holds the target, ends at its entry's offset and bears
// its CRC is all there is to know (the base offset is in no CRC, but the distance of the two is);
// else nothing was learned but a hint.
Result<bool> Segment::found_at_once(const OffsetIndex::Around& around, Offset target,
                                    LogWindow& window, const DecodeLimits& limits,
                                    BatchSearch& search) const {
  const bool at_entry = around.entry && around.entry->offset == target;
  const auto& here = at_entry ? around.entry : around.next;
  const auto& behind = at_entry ? around.next : around.after_next;
  if (!here || !behind) return false;
  const std::int64_t distance = behind->position - here->position;
  if (distance < kLeastLargeBytes || distance > kMostReadAtOnce) return false;
  window.expect(static_cast<std::size_t>(distance));
  BatchHeader header;
  ASSIGN_OR_RETURN(const Probe probe, window.probe(here->position, header, nullptr));
  if (probe != Probe::kBatch || !plausible(header) || !header.is_v2() ||
      header.base_offset > target || header.last_offset < target || header.size_bytes > distance ||
      header.last_offset != here->offset) {
    return false;
  }
  ASSIGN_OR_RETURN(OwnedBytes entry, window.take_entry(here->position, header));
  auto batch = DecodedBatch::decode(std::move(entry), limits);
  if (!batch) return false;
  search.outcome = BatchSearch::Outcome::kFound;
  search.batch = std::move(*batch);
  search.place.header = header;
  search.place.position = here->position;
  search.place.index_entry = around.entry;
  search.place.batches_scanned = 1;
  return true;
}

Result<bool> Segment::may_begin_at(const OffsetPosition& entry, Offset target,
                                   LogWindow& window) const {
  const Position position = entry.position;
  if (position.value <= 0) return false;
  BatchHeader header;
  ASSIGN_OR_RETURN(const Probe probe, window.probe(position, header, nullptr));
  // The batch that holds the entry's offset begins at or behind its position: one that begins above
  // that offset lies, or is none. The header of a legacy wrapper names its last message: the target
  // may be one of the others.
  return probe == Probe::kBatch && plausible(header) && header.base_offset <= entry.offset &&
         least_claimed(header) <= target;
}

Result<Segment::Start> Segment::earlier_start(const Start& start, int steps, Offset target,
                                              LogWindow& window) const {
  const OffsetIndex* const index = offset_index();
  Position before = start.position;
  for (; index != nullptr && steps < kMostSteps; ++steps) {
    if (steps >= kSingleSteps) before.value /= 2;
    const auto entry = index->lookup_position(before);
    if (!entry || !*entry || (*entry)->position >= before) break;
    before = (*entry)->position;
    ASSIGN_OR_RETURN(const bool good, may_begin_at(**entry, target, window));
    if (good) return Start{before, **entry, false};
  }
  return Start{Position{0}, std::nullopt, true};
}

Result<bool> Segment::is_trusted(const Start& start, LogWindow& window) const {
  if (start.trusted) return true;
  BatchHeader header;
  ASSIGN_OR_RETURN(const Probe probe, window.probe(start.position, header, nullptr));
  if (probe != Probe::kBatch) return false;
  ASSIGN_OR_RETURN(const bool good, window.crc_good(start.position, header));
  if (!good) return false;
  ASSIGN_OR_RETURN(const auto expected, expected_at(start.position, window));
  return lies_in_line(start.position, header, expected, window);
}

Result<Segment::WalkEnd> Segment::walk(const Start& start, Offset target, LogWindow& window) const {
  WalkEnd end;
  end.position = start.position;
  while (true) {
    ASSIGN_OR_RETURN(end.probe, window.probe(end.position, end.header, &end.why));
    if (end.probe != Probe::kBatch) return end;
    std::optional<Offset> expected = end.expected_offset();
    if (end.position.value == 0) expected = base_offset_;
    ASSIGN_OR_RETURN(const bool in_line, lies_in_line(end.position, end.header, expected, window));
    if (!in_line) {
      end.probe = Probe::kBad;
      end.why = "out of line";
      return end;
    }
    ++end.batches;
    if (end.header.last_offset >= target) return end;
    end.previous = end.header;
    end.previous_position = end.position;
    end.position = end.position + end.header.size_bytes;
  }
}

// A walk that began in the middle took its first batch's offsets on trust. Where a gap follows at
// once, what lies before tells whether that batch only claims to end before it.
Result<bool> Segment::start_is_astray(const WalkEnd& end, LogWindow& window) const {
  if (end.batches > 2 || end.previous_position->value == 0) return false;
  ASSIGN_OR_RETURN(const auto expected, expected_at(*end.previous_position, window));
  return expected && least_claimed(end.previous) < *expected;
}

// What a walk came to, judged: an answer, or the position at which something is wrong.
Result<std::optional<Position>> Segment::judge(WalkEnd& end, Offset target, LogWindow& window,
                                               const DecodeLimits& limits,
                                               BatchSearch& search) const {
  using Odd = std::optional<Position>;
  bool odd = end.probe != Probe::kBatch && end.probe != Probe::kEnd;
  if (end.probe == Probe::kEnd) search.outcome = BatchSearch::Outcome::kPastEnd;
  if (end.probe == Probe::kBatch) {
    ASSIGN_OR_RETURN(OwnedBytes entry, window.take_entry(end.position, end.header));
    search.place.header = end.header;
    search.place.position = end.position;
    auto batch = DecodedBatch::decode(std::move(entry), limits);
    Offset first = end.header.base_offset;
    if (batch) {
      search.outcome = BatchSearch::Outcome::kFound;
      search.batch = std::move(*batch);
      if (!end.header.is_v2()) first = search.batch->records().first_offset();
    } else {
      ASSIGN_OR_RETURN(const bool crc_good, window.crc_good(end.position, end.header));
      odd = !crc_good;
      if (crc_good) {  // the batch lies where it says, but what it holds can't be had
        if (!end.header.is_v2()) first = end.expected_offset().value_or(std::min(target, first));
        search.outcome = BatchSearch::Outcome::kDamaged;
        search.damage = {end.position, end.position + end.header.size_bytes, first,
                         end.header.next_offset(), batch.error().what};
        report(end.position, batch.error().what);
      }
    }
    if (!odd && first <= target) return Odd();
  }
  // A gap, the end, or something odd. If the batch before lied about its length or its last offset,
  // then the fault lies there, and its CRC is bad.
  if (end.previous_position) {
    ASSIGN_OR_RETURN(const bool crc_good, window.crc_good(*end.previous_position, end.previous));
    if (!crc_good) return Odd(*end.previous_position);
    ASSIGN_OR_RETURN(const bool astray, start_is_astray(end, window));
    if (astray) return Odd(*end.previous_position);
  }
  return odd ? Odd(end.position) : Odd();
}

Result<BatchSearch> Segment::search(Offset target, Position valid_end,
                                    const DecodeLimits& limits) const {
  LogWindow window(*log_, valid_end, piece_bytes(valid_end));
  BatchSearch search;
  search.place.segment_base_offset = base_offset_;
  ASSIGN_OR_RETURN(const OffsetIndex::Around around, index_around(target, valid_end));
  ASSIGN_OR_RETURN(const bool done, found_at_once(around, target, window, limits, search));
  if (done) return search;
  ASSIGN_OR_RETURN(Start start, start_for(around, target, window));
  std::optional<Offset> expected_offset;  // at `start`, if it stands behind damage
  for (int steps = 0;;) {
    ASSIGN_OR_RETURN(WalkEnd end, walk(start, target, window));
    search.place.batches_scanned += end.batches;
    search.place.index_entry = start.entry;
    ASSIGN_OR_RETURN(const std::optional<Position> odd, judge(end, target, window, limits, search));
    if (!odd) return search;
    ASSIGN_OR_RETURN(const bool trusted, is_trusted(start, window));
    if (!trusted) {  // the index may have led to where no batch begins
      ASSIGN_OR_RETURN(start, earlier_start(start, steps, target, window));
      ++steps;
      continue;
    }
    if (end.previous_position) {
      expected_offset.reset();  // before the previous one, that is looked for
      if (*odd != *end.previous_position) expected_offset = end.previous.next_offset();
    } else if (odd->value == 0) {
      expected_offset = base_offset_;
    }
    ASSIGN_OR_RETURN(search.damage, damage_at(*odd, expected_offset, valid_end));
    if (search.damage.end == *odd) {  // nothing follows: a torn tail
      search.outcome = BatchSearch::Outcome::kPastEnd;
      return search;
    }
    if (target < search.damage.first || search.damage.holds(target)) {
      search.outcome = BatchSearch::Outcome::kDamaged;
      return search;
    }
    start = {search.damage.end, start.entry, true};
    expected_offset = search.damage.next;
  }
}

}  // namespace offsetfs::storage
