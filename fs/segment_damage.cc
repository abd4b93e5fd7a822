#include "fs/segment_damage.h"

#include <cerrno>
#include <optional>

#include "fs/json_object.h"
#include "storage/batch_scanner.h"
#include "storage/segment.h"

namespace offsetfs::fs {
namespace {

using storage::BatchScanner;
using storage::Position;
using storage::Result;

constexpr std::size_t kMostBytes = 64 << 20;

std::string damage_line(const storage::Damage& damage) {
  JsonObject line;
  line.number("position", damage.position.value)
      .number("end", damage.end.value)
      .number("bytes", damage.end - damage.position)
      .number("first_offset", damage.first.value);
  if (damage.next) {
    line.number("next_offset", damage.next->value);
  } else {
    line.null("next_offset");
  }
  return line.text("reason", damage.what).take() + "\n";
}

// Bytes behind the last batch of a segment that nobody writes to any more.
std::string lost_tail_line(const storage::Segment& segment, const storage::SegmentTail& tail) {
  storage::Damage damage;
  damage.position = tail.end;
  damage.end = Position{segment.opened_info().size_bytes};
  damage.first = tail.next_offset;
  damage.what = "expected a batch, found " + std::to_string(damage.end - damage.position) +
                (tail.zero_tail ? " zeros up to the end" : " bytes that are no whole batch");
  return damage_line(damage);
}

}  // namespace

Result<std::string> damage_lines(const PartitionView& view, const storage::SegmentEntry& entry,
                                 const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto segment, view.log->segment(entry));
  ASSIGN_OR_RETURN(const storage::SegmentTail tail, view.log->tail(entry));
  const Position end = tail.end;
  BatchScanner::Options options;
  options.tail_may_be_torn = false;  // what is torn lies behind `end`
  options.segment_base_offset = entry.base_offset;
  BatchScanner scanner(segment->log(), Position{0}, end, options);
  std::optional<storage::Offset> expected = entry.base_offset;
  std::string lines;
  for (;;) {
    if (stop.stop_requested()) return storage::fail_errno(EINTR, "looking for damage");
    switch (scanner.next()) {
      case BatchScanner::Step::kBatch: expected = scanner.batch().header.next_offset(); continue;
      case BatchScanner::Step::kDamaged: {
        ASSIGN_OR_RETURN(const storage::Damage damage,
                         segment->damage_at(scanner.position(), expected, end));
        lines += damage_line(damage);
        if (lines.size() > kMostBytes)
          return storage::fail(storage::Errc::kTooLarge,
                               segment->log().name() + ": more damage than can be listed");
        if (damage.end <= scanner.position()) return lines;
        expected = damage.next;
        scanner.resume_at(damage.end);
        continue;
      }
      case BatchScanner::Step::kEnd:
      case BatchScanner::Step::kTornTail:
        if (tail.torn && !view.is_active(entry)) lines += lost_tail_line(*segment, tail);
        return lines;
      case BatchScanner::Step::kIo: return storage::fail(scanner.error());
    }
  }
}

}  // namespace offsetfs::fs
