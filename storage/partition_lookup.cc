#include <algorithm>
#include <utility>

#include <time.h>

#include "storage/partition_log.h"
#include "storage/partition_snapshot.h"

// Offsets -> records.

namespace offsetfs::storage {

namespace {

std::string number(Offset offset) { return std::to_string(offset.value); }

std::string span_of(const CachedBatch& batch) {
  return number(batch.first_offset()) + " to " + number(batch.last_offset());
}

// What a log's content was at the time of a call: a write that came after it would show in an mtime
// of just now.
std::optional<LogStamp> settled_stamp(const File& log) {
  constexpr std::int64_t kSettledNs = 2'000'000'000;
  const auto info = log.info();
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (!info || now.tv_sec * 1'000'000'000 + now.tv_nsec - info->mtime_ns < kSettledNs) {
    return std::nullopt;
  }
  return LogStamp{info->ino, info->mtime_ns, info->ctime_ns};
}

}  // namespace

Result<PartitionLog::Hit> PartitionLog::locate(const Reading& reading, Offset target,
                                               Caching caching) const {
  Hit hit;
  if (caching == Caching::kUse) {
    if (auto cached = shared_.batches->find(owner_, target)) {
      hit.kind = Hit::Kind::kBatch;
      hit.place = cached->place();
      hit.batch = std::move(cached);
      return hit;
    }
  }
  const std::uint64_t forgets = shared_.batches->forgets();
  std::size_t index = reading.floor(target);
  if (index == reading.live().size()) index = 0;
  for (; index < reading.live().size(); ++index) {
    ASSIGN_OR_RETURN(const auto segment, this->segment(reading.live()[index]));
    ASSIGN_OR_RETURN(const Position limit, search_limit(reading, index, *segment));
    ASSIGN_OR_RETURN(BatchSearch search, segment->search(target, limit, shared_.options.limits));
    const Offset next_base_offset = reading.next_base_offset(index);
    if (search.outcome == BatchSearch::Outcome::kPastEnd) {
      if (search.damage.what.empty()) continue;  // its last batch ends where the file does
      ASSIGN_OR_RETURN(auto lost, lost_behind(reading.live()[index], next_base_offset));
      if (!lost || !lost->holds(target)) continue;
      search.outcome = BatchSearch::Outcome::kDamaged;
      search.damage = std::move(*lost);
    }
    hit.place = search.place;
    if (search.outcome == BatchSearch::Outcome::kFound) {
      auto batch =
          std::make_shared<const CachedBatch>(std::move(search.place), std::move(search.batch));
      if (batch->first_offset() >= next_base_offset) continue;
      hit.kind = Hit::Kind::kBatch;
      hit.batch = std::move(batch);
      hit.next_base_offset = next_base_offset;
      if (hit.batch->last_offset() < next_base_offset) {
        shared_.batches->insert(owner_, hit.batch, forgets);
        remember_checked(*segment, *hit.batch, forgets);
      }
      return hit;
    }
    if (search.damage.first >= next_base_offset) continue;
    hit.kind = Hit::Kind::kDamaged;
    hit.damage = std::move(search.damage);
    if (hit.damage.next) hit.damage.next = std::min(*hit.damage.next, next_base_offset);
    hit.file = segment->log().name();
    hit.place.position = hit.damage.position;
    if (!hit.damage.next) {
      if (reading.is_active(index)) {
        ASSIGN_OR_RETURN(hit.damage.next, log_end(reading));
      } else {
        hit.damage.next = reading.live()[index + 1].base_offset;
      }
    }
    if (*hit.damage.next <= target) {  // the log ends below it, whatever the damaged header says
      hit = Hit();
      continue;
    }
    return hit;
  }
  return hit;
}

Result<RecordLookup> PartitionLog::find(Offset offset) const {
  return retried([&] { return find_once(offset, Caching::kUse); });
}

Result<RecordLookup> PartitionLog::find_afresh(Offset offset) const {
  return retried([&] { return find_once(offset, Caching::kNone); });
}

Result<RecordLookup> PartitionLog::find_once(Offset offset, Caching caching) const {
  RecordLookup lookup;
  Reading current{snapshot(), {}};
  const Offset start = log_start(current);
  if (offset < start) {
    lookup.outcome = RecordLookup::Outcome::kBelowLogStart;
    lookup.reason =
        "offset " + number(offset) + " lies below the log start offset " + number(start);
    ASSIGN_OR_RETURN(lookup.next, seek_once(current, start, Damaged::kPassOver));
    return lookup;
  }
  if (current.live().empty() || offset >= current.live().back().base_offset) {
    ASSIGN_OR_RETURN(Offset end, log_end(current));
    if (offset >= end) {  // unless the log was rolled since the directory was looked at
      current = Reading{look_again(), {}};
      ASSIGN_OR_RETURN(end, log_end(current));
    }
    if (offset >= end) {
      lookup.outcome = RecordLookup::Outcome::kPastLogEnd;
      lookup.reason =
          "offset " + number(offset) + " lies at or past the log end offset " + number(end);
      return lookup;
    }
  }
  if (shared_.options.until_high_watermark) {
    ASSIGN_OR_RETURN(const Offset end, readable_end(current));
    if (offset >= end) {
      lookup.outcome = RecordLookup::Outcome::kAboveHighWatermark;
      lookup.reason = "offset " + number(offset) + " lies at or above the high watermark " +
                      number(end) + ", where this mount ends (-o until=high_watermark)";
      return lookup;
    }
  }
  if (caching == Caching::kUse) {
    if (auto found = find_in_checked(current, offset)) return std::move(*found);
  }
  ASSIGN_OR_RETURN(const Hit hit, locate(current, offset, caching));
  return judge(current, offset, hit, caching);
}

void PartitionLog::remember_checked(const Segment& segment, const CachedBatch& batch,
                                    std::uint64_t forgets) const {
  if (!CheckedBatches::keeps(batch.place().header)) return;
  const auto stamp = settled_stamp(segment.log());
  if (stamp) shared_.batches->checked(owner_, batch, *stamp, forgets);
}

// The record alone, out of a batch whose CRC was good before: nothing if that is not known (any
// more), or if there is anything else to say of the offset.
std::optional<RecordLookup> PartitionLog::find_in_checked(const Reading& reading,
                                                          Offset offset) const {
  const auto excerpt = shared_.batches->excerpt(owner_, offset);
  if (!excerpt || excerpt->place.header.is_control()) return std::nullopt;
  const std::size_t index = reading.floor(offset);
  if (index == reading.live().size() ||
      reading.live()[index].base_offset != excerpt->place.segment_base_offset) {
    return std::nullopt;
  }
  const auto segment = this->segment(reading.live()[index]);
  if (!segment || settled_stamp((*segment)->log()) != excerpt->stamp) return std::nullopt;
  const auto part = std::make_shared<OwnedBytes>(excerpt->to - excerpt->from);
  const auto read = (*segment)->log().read_at(
      excerpt->place.position + (BatchHeader::kV2HeaderBytes + excerpt->from), part->writable());
  if (!read || *read != part->size()) return std::nullopt;
  RecordReader reader =
      RecordReader::over_part(excerpt->place.header, part->view(), excerpt->ordinal);
  RecordLookup lookup;
  while (reader.record_position() < part->size()) {
    if (reader.next(lookup.record) != RecordReader::Step::kRecord) return std::nullopt;
    if (lookup.record.offset < offset) continue;
    if (lookup.record.offset > offset) return std::nullopt;
    lookup.outcome = RecordLookup::Outcome::kPresent;
    lookup.bytes = part;
    lookup.batch_base_offset = excerpt->place.header.base_offset;
    lookup.place = excerpt->place;
    lookup.next = offset;
    return lookup;
  }
  return std::nullopt;
}

Result<RecordLookup> PartitionLog::judge(const Reading& reading, Offset offset, const Hit& hit,
                                         Caching caching) const {
  using Outcome = RecordLookup::Outcome;
  RecordLookup lookup;
  lookup.outcome = Outcome::kCompacted;
  switch (hit.kind) {
    case Hit::Kind::kNothing:
      lookup.reason = "no record bears offset " + number(offset) + ", and none follows";
      return lookup;
    case Hit::Kind::kDamaged:
      lookup.place = hit.place;
      if (hit.damage.holds(offset)) {
        lookup.outcome = Outcome::kDamaged;
        lookup.reason = hit.file + ": position " + std::to_string(hit.damage.position.value) +
                        ": " + hit.damage.what;
      } else {
        lookup.reason = "no record bears offset " + number(offset) + ": what follows begins at " +
                        number(hit.damage.first);
      }
      break;
    case Hit::Kind::kBatch: {
      lookup.place = hit.place;
      const auto record = hit.batch->record_at_or_after(offset);
      if (!record) {
        lookup.outcome = Outcome::kDamaged;
        lookup.reason =
            "position " + std::to_string(hit.place.position.value) + ": " + record.error().what;
        report(hit.place, record.error().what);
      } else if (*record && (*record)->offset == offset) {
        lookup.record = **record;
        lookup.bytes = hit.batch->batch();
        lookup.batch_base_offset = hit.batch->first_offset();
        if (!hit.place.header.is_control()) {
          lookup.outcome = Outcome::kPresent;
          lookup.next = offset;
          if (caching == Caching::kNone) {
            lookup.reason = "the batch of offsets " + span_of(*hit.batch) + " holds it";
          }
          return lookup;
        }
        lookup.outcome = Outcome::kControl;
        lookup.reason = "offset " + number(offset) +
                        " is a control record (a transaction marker or the like), which consumers "
                        "never see";
        if (shared_.options.show_control) lookup.next = offset;
      } else {
        lookup.reason = "no record bears offset " + number(offset) + " any more: " +
                        (hit.batch->first_offset() <= offset
                             ? "the batch of offsets " + span_of(*hit.batch) + " has a gap there"
                             : "the next batch begins at " + number(hit.batch->first_offset()));
      }
      break;
    }
  }
  if (!lookup.next) {
    ASSIGN_OR_RETURN(lookup.next, seek_once(reading, offset + 1, Damaged::kPassOver));
  }
  return lookup;
}

void PartitionLog::report(const BatchPlace& place, const std::string& what) const {
  const std::string file = segment_base_name(place.segment_base_offset) + ".log";
  shared_.problems->add({dir_->name_of(below(file)), place.position.value, what});
}

Result<std::optional<Offset>> PartitionLog::seek(Offset offset) const {
  return retried([&]() -> Result<std::optional<Offset>> {
    const Reading current{snapshot(), {}};
    ASSIGN_OR_RETURN(const auto found, seek_once(current, offset, Damaged::kFail));
    if (found) return found;
    const Reading newer{look_again(), {}};
    if (newer.snapshot == current.snapshot) return found;
    return seek_once(newer, offset, Damaged::kFail);
  });
}

// Nothing if it is hidden.
Result<std::optional<Offset>> PartitionLog::shown(const Reading& reading,
                                                  std::optional<Offset> found) const {
  if (!found || !shared_.options.until_high_watermark) return found;
  ASSIGN_OR_RETURN(const Offset end, readable_end(reading));
  return *found < end ? found : std::nullopt;
}

Result<std::optional<Offset>> PartitionLog::seek_once(const Reading& reading, Offset offset,
                                                      Damaged damaged) const {
  if (shared_.options.until_high_watermark) {
    // Damage above the end is nobody's affair.
    ASSIGN_OR_RETURN(const Offset end, readable_end(reading));
    if (std::max(offset, log_start(reading)) >= end) return std::optional<Offset>();
  }
  ASSIGN_OR_RETURN(const auto found, seek_in_log(reading, offset, damaged));
  return shown(reading, found);
}

Result<std::optional<Offset>> PartitionLog::seek_in_log(const Reading& reading, Offset offset,
                                                        Damaged damaged) const {
  offset = std::max(offset, log_start(reading));
  while (true) {
    ASSIGN_OR_RETURN(const Hit hit, locate(reading, offset, Caching::kUse));
    if (hit.kind == Hit::Kind::kNothing) return std::optional<Offset>();
    if (hit.kind == Hit::Kind::kDamaged) {
      if (damaged == Damaged::kFail) {
        return fail(Errc::kCorrupt, hit.file + ": position " +
                                        std::to_string(hit.damage.position.value) + ": " +
                                        hit.damage.what);
      }
      offset = std::max(offset + 1, *hit.damage.next);
      continue;
    }
    const BatchHeader& header = hit.place.header;
    if (!header.is_control() || shared_.options.show_control) {
      const auto record = hit.batch->record_at_or_after(offset);
      if (record && *record && (*record)->offset < hit.next_base_offset) {
        return std::optional((*record)->offset);
      }
      if (!record) {
        report(hit.place, record.error().what);
        if (damaged == Damaged::kFail) return fail(Error(record.error()));
      }
    }
    offset = std::min(std::max(offset, header.last_offset) + 1, hit.next_base_offset);
  }
}

Result<std::optional<Offset>> PartitionLog::first_record() const { return seek(Offset{INT64_MIN}); }

Result<std::optional<Offset>> PartitionLog::last_record() const {
  return retried([this] { return last_once(Reading{look_again(), {}}); });
}

Result<std::optional<Offset>> PartitionLog::last_once(const Reading& reading) const {
  ASSIGN_OR_RETURN(const Offset end, readable_end(reading));
  return last_below(reading, end);
}

// The last visible record below `end`, which lies in the log or is its end.
Result<std::optional<Offset>> PartitionLog::last_below(const Reading& reading, Offset end) const {
  const Offset start = log_start(reading);
  if (end <= start) return std::optional<Offset>();
  for (std::size_t i = std::min(reading.floor(end + -1) + 1, reading.live().size()); i-- > 0;) {
    ASSIGN_OR_RETURN(const auto last, last_in_segment(reading, i, end));
    if (last) return *last >= start ? last : std::nullopt;
    if (reading.live()[i].base_offset <= start) break;
  }
  return std::optional<Offset>();
}

Result<std::optional<Offset>> PartitionLog::last_in_segment(const Reading& reading,
                                                            std::size_t index, Offset end) const {
  ASSIGN_OR_RETURN(const auto segment, this->segment(reading.live()[index]));
  Position limit{};
  Offset share_end = reading.next_base_offset(index);
  if (reading.is_active(index)) {
    ASSIGN_OR_RETURN(const SegmentTail tail, active_tail(reading));
    limit = tail.end;
    share_end = tail.next_offset;
  } else {
    ASSIGN_OR_RETURN(limit, valid_end_below(reading.live()[index], share_end));
  }
  if (end < share_end) {
    ASSIGN_OR_RETURN(limit, segment->end_below(end, limit));
  }
  // The last batch may have records above alone: then it is another before it.
  while (true) {
    ASSIGN_OR_RETURN(const auto place,
                     segment->last_batch_with_records(limit, shared_.options.show_control));
    if (!place) return std::optional<Offset>();
    ASSIGN_OR_RETURN(const auto last, last_in(*segment, *place, std::min(end, share_end)));
    if (last) return last;
    limit = place->position;
  }
}

// The last record of a batch below `end`: the next segment's offsets, or where readers' log ends.
Result<std::optional<Offset>> PartitionLog::last_in(const Segment& segment, const BatchPlace& place,
                                                    Offset end) const {
  const auto batch = read_through_cache(segment, place, end);
  if (!batch) {
    const Error& error = batch.error();
    const bool unreadable = error.code == Errc::kTooLarge || error.code == Errc::kUnsupported;
    return fail(Error{unreadable ? Errc::kCorrupt : error.code, error.sys_errno, error.what});
  }
  // Compaction may have taken the very last one of the batch.
  RecordReader reader = (*batch)->batch()->records();
  std::optional<Offset> last;
  Record record;
  while (true) {
    switch (reader.next(record)) {
      case RecordReader::Step::kRecord:
        if (record.offset >= end) return last;
        last = record.offset;
        continue;
      case RecordReader::Step::kEnd: return last;
      case RecordReader::Step::kCorrupt: break;
    }
    report(place, reader.why());
    return fail(Errc::kCorrupt,
                "position " + std::to_string(place.position.value) + ": " + reader.why());
  }
}

}  // namespace offsetfs::storage
