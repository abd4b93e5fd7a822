#include <algorithm>
#include <cstdio>
#include <utility>

#include "storage/byte_reader.h"
#include "storage/segment.h"

// Where a segment can't be read: how far that reaches, which offsets it took, where to go on.

namespace offsetfs::storage {

namespace {

constexpr std::size_t kMostDamages = 1024;
constexpr std::size_t kSearchPieceBytes = 256 << 10;
// What a search for the next batch may spend on CRCs of what only looked like one.
constexpr std::int64_t kMostCrcBytes = 256 << 20;
constexpr std::int64_t kMostOffsetsOfSegment = INT32_MAX;

std::string hex(std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

std::int64_t big_endian(const char* bytes, int count) {
  std::uint64_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return static_cast<std::int64_t>(value);
}

// A look at the 17 bytes that all magics share: cheap, and true of nearly nothing but headers.
bool may_be_header(const char* bytes, std::int64_t left, Offset at_least, Offset at_most) {
  if (static_cast<unsigned char>(bytes[16]) > 2) return false;
  const std::int64_t size = big_endian(bytes + 8, 4);
  const std::int64_t offset = big_endian(bytes, 8);
  return size >= 14 && size + BatchHeader::kLogOverheadBytes <= left && offset >= at_least.value &&
         offset <= at_most.value;
}

// What a good batch that lies out of line does wrong.
std::string out_of_line(const BatchHeader& header, std::optional<Offset> expected,
                        Offset segment_base) {
  const std::string span =
      std::to_string(header.base_offset.value) + " to " + std::to_string(header.last_offset.value);
  if (header.base_offset < segment_base) {
    return "base offset expected to be the segment's, " + std::to_string(segment_base.value) +
           ", or above, found a batch of offsets " + span;
  }
  if (!within_segment(header, segment_base)) {
    return "base offset expected to be at most 2147483647 above the segment's, " +
           std::to_string(segment_base.value) + ", found a batch of offsets " + span;
  }
  if (expected && least_claimed(header) < *expected) {
    return "base offset expected to be " + std::to_string(expected->value) +
           " or above, as the batch before ends there, found a batch of offsets " + span;
  }
  return "expected offsets between those of the batches before and behind, found a batch of "
         "offsets " +
         span;
}

}  // namespace

Result<std::optional<Offset>> Segment::expected_at(Position position, Position valid_end) const {
  LogWindow window(*log_, valid_end);
  return expected_at(position, window);
}

// The next_offset of the last batch in line before a position; nothing if no walk leads there.
Result<std::optional<Offset>> Segment::expected_at(Position position, LogWindow& window) const {
  Position from{0};
  const OffsetIndex* const index = position.value <= kScanBytes ? nullptr : offset_index();
  if (index != nullptr) {
    const auto entry = index->lookup_position(position - 1);
    if (entry && *entry && (*entry)->position < position) from = (*entry)->position;
  }
  while (true) {
    std::optional<Offset> expected;
    if (from.value == 0) expected = base_offset_;
    Position at = from;
    while (at < position) {
      BatchHeader header;
      ASSIGN_OR_RETURN(const Probe probe, window.probe(at, header, nullptr));
      if (probe != Probe::kBatch) break;
      ASSIGN_OR_RETURN(const bool good, lies_in_line(at, header, expected, window));
      if (good) expected = header.next_offset();
      at = at + header.size_bytes;
    }
    if (at == position) return expected;
    if (from.value == 0) return std::optional<Offset>();
    from = Position{0};
  }
}

Result<Damage> Segment::damage_at(Position position, std::optional<Offset> expected_offset,
                                  Position valid_end) const {
  {
    const MutexLock lock(mutex_);
    const auto known = damages_.find(position);
    if (known != damages_.end() && (known->second.damage.end < known->second.looked_to
                                        ? known->second.damage.end < valid_end
                                        : known->second.looked_to == valid_end)) {
      return known->second.damage;
    }
  }
  LogWindow window(*log_, valid_end);
  if (!expected_offset) {
    ASSIGN_OR_RETURN(expected_offset, expected_at(position, window));
  }
  ASSIGN_OR_RETURN(const Position end,
                   resume_position(position, expected_offset.value_or(base_offset_), window));
  Damage damage;
  if (end == position) {
    damage.position = damage.end = position;
    damage.what = "the last " + std::to_string(valid_end - position) +
                  " bytes are no whole batch: the segment ends before them";
  } else {
    ASSIGN_OR_RETURN(damage, describe(position, end, expected_offset, window));
  }
  // Who reads in order stops here, and has to know where to begin again.
  report(position, damage.next
                       ? damage.what + "; go on from offset " + std::to_string(damage.next->value)
                       : damage.what);
  const MutexLock lock(mutex_);
  if (damages_.size() < kMostDamages) damages_.insert_or_assign(position, Known{damage, valid_end});
  return damage;
}

Result<Position> Segment::resume_position(Position damaged, Offset at_least,
                                          LogWindow& window) const {
  BatchHeader header;
  ASSIGN_OR_RETURN(const Probe probe, window.probe(damaged, header, nullptr));
  if (probe == Probe::kBatch) {
    const Position behind = damaged + header.size_bytes;
    if (behind == window.limit()) return behind;
    // Of a good batch all but its offsets is true.
    ASSIGN_OR_RETURN(const bool good, window.crc_good(damaged, header));
    if (good) return behind;
    BatchHeader next;
    ASSIGN_OR_RETURN(const Probe next_probe, window.probe(behind, next, nullptr));
    if (next_probe == Probe::kBatch && next.base_offset >= header.next_offset()) {
      // Inside of a legacy wrapper whole messages may lie: there is no looking for others in it.
      if (next.base_offset == header.next_offset() || !header.is_v2()) return behind;
      // A gap, or a wrong length that leads over other batches.
      ASSIGN_OR_RETURN(const std::optional<Position> between,
                       next_good_batch(damaged + 1, behind, header.base_offset, window.limit()));
      return between.value_or(behind);
    }
  }
  // The length can't be believed. Between here and the next index entry that proves good, batches
  // are found by their looks and their CRC.
  ASSIGN_OR_RETURN(const std::optional<Position> entry, next_good_entry(damaged, at_least, window));
  ASSIGN_OR_RETURN(
      const std::optional<Position> found,
      next_good_batch(damaged + 1, entry.value_or(window.limit()), at_least, window.limit()));
  if (found) return *found;
  if (entry) return *entry;
  return damaged;  // nothing follows
}

Result<std::optional<Position>> Segment::next_good_entry(Position from, Offset at_least,
                                                         LogWindow& window) const {
  const OffsetIndex* const index = offset_index();
  if (index == nullptr) return std::optional<Position>();
  const auto entries = index->entries();
  if (!entries) return std::optional<Position>();
  auto entry = std::upper_bound(
      entries->begin(), entries->end(), from,
      [](Position position, const OffsetPosition& e) { return position < e.position; });
  for (; entry != entries->end() && entry->position < window.limit(); ++entry) {
    BatchHeader header;
    ASSIGN_OR_RETURN(const Probe probe, window.probe(entry->position, header, nullptr));
    if (probe != Probe::kBatch || header.base_offset < at_least) continue;
    ASSIGN_OR_RETURN(const bool good, window.crc_good(entry->position, header));
    if (good) return std::optional(entry->position);
  }
  return std::optional<Position>();
}

Result<std::optional<Position>> Segment::next_good_batch(Position from, Position to,
                                                         Offset at_least, Position limit) const {
  const Offset at_most =
      base_offset_ + std::min(kMostOffsetsOfSegment, INT64_MAX - base_offset_.value);
  LogWindow pieces(*log_, limit, kSearchPieceBytes);
  LogWindow candidates(*log_, limit);
  std::int64_t crc_bytes = 0;
  while (from < to) {
    ASSIGN_OR_RETURN(const Bytes piece, pieces.bytes_at(from, kSearchPieceBytes));
    if (piece.size() < static_cast<std::size_t>(BatchHeader::kPrefixBytes)) break;
    const std::size_t starts =
        piece.size() - static_cast<std::size_t>(BatchHeader::kPrefixBytes) + 1;
    for (std::size_t i = 0; i < starts && from + static_cast<std::int64_t>(i) < to; ++i) {
      const Position at = from + static_cast<std::int64_t>(i);
      if (!may_be_header(piece.data() + i, limit - at, at_least, at_most)) continue;
      BatchHeader header;
      ASSIGN_OR_RETURN(const Probe probe, candidates.probe(at, header, nullptr));
      if (probe != Probe::kBatch) continue;
      crc_bytes += header.size_bytes;
      if (crc_bytes > kMostCrcBytes) return std::optional<Position>();
      ASSIGN_OR_RETURN(const bool good, candidates.crc_good(at, header));
      if (good) return std::optional(at);
    }
    from = from + static_cast<std::int64_t>(starts);
  }
  return std::optional<Position>();
}

Result<Damage> Segment::describe(Position position, Position end,
                                 std::optional<Offset> expected_offset, LogWindow& window) const {
  Damage damage;
  damage.position = position;
  damage.end = end;
  std::optional<Offset> following;  // the first offset behind the damage
  BatchHeader next;
  ASSIGN_OR_RETURN(const Probe next_probe, window.probe(end, next, nullptr));
  if (next_probe == Probe::kBatch) {
    ASSIGN_OR_RETURN(following, first_offset_of(end, next, window));
  }
  damage.first = expected_offset.value_or(base_offset_);
  if (following && *following >= damage.first && plausible(next)) damage.next = following;

  // The damaged header's own word on its offsets is taken where its neighbours agree, and the count
  // confirms the delta, both of which the CRC would have covered.
  BatchHeader header;
  ASSIGN_OR_RETURN(const Probe probe, window.probe(position, header, nullptr));
  const bool header_stands = (probe == Probe::kBatch || probe == Probe::kShort) &&
                             header.base_offset >= damage.first && plausible(header) &&
                             (!damage.next || header.last_offset < *damage.next);
  if (header_stands && header.is_v2()) {
    damage.first = header.base_offset;
  }
  // Beyond its own end it says nothing: more than this batch may be damaged.
  const bool all_of_it = header_stands && position + header.size_bytes == end;
  if (all_of_it &&
      (!header.is_v2() || header.records_count == header.last_offset - header.base_offset + 1)) {
    damage.next = header.next_offset();
  }
  ASSIGN_OR_RETURN(damage.what, what_is_wrong(position, expected_offset, window));
  return damage;
}

Result<Offset> Segment::first_offset_of(Position position, const BatchHeader& header,
                                        LogWindow& window) const {
  if (header.is_v2() || header.codec_id() == 0) return header.base_offset;
  ASSIGN_OR_RETURN(OwnedBytes entry, window.take_entry(position, header));
  const auto batch = DecodedBatch::decode(std::move(entry));
  return batch ? (*batch)->records().first_offset() : header.base_offset;
}

Result<std::string> Segment::what_is_wrong(Position position, std::optional<Offset> expected_offset,
                                           LogWindow& window) const {
  BatchHeader header;
  std::string why;
  ASSIGN_OR_RETURN(const Probe probe, window.probe(position, header, &why));
  switch (probe) {
    case Probe::kBatch: {
      ASSIGN_OR_RETURN(const OwnedBytes entry, window.take_entry(position, header));
      const std::uint32_t crc = compute_batch_crc(header, entry.view());
      if (crc == header.crc) return out_of_line(header, expected_offset, base_offset_);
      return "CRC expected " + hex(header.crc) + ", found " + hex(crc);
    }
    case Probe::kShort:
      return "expected a batch of " + std::to_string(header.size_bytes) + " bytes, found " +
             std::to_string(window.limit() - position);
    case Probe::kZeros: return std::string("expected a batch, found zeros");
    case Probe::kBad: return "expected a batch, found no header that can be: " + why;
    case Probe::kEnd: break;
  }
  return std::string("expected a batch, found the end");
}

}  // namespace offsetfs::storage
