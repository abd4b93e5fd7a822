#include "storage/log_cursor.h"

#include <algorithm>
#include <utility>

namespace offsetfs::storage {

LogCursor::LogCursor(std::shared_ptr<const PartitionLog> log, Offset from, Offset until,
                     Options options)
    : log_(std::move(log)), until_(until), options_(options), next_offset_(from) {}

LogCursor::~LogCursor() = default;

LogCursor::Step LogCursor::next() {
  while (next_offset_ < until_) {
    if (!scanner_) {
      auto entered = enter_segment();
      if (!entered) {
        error_ = std::move(entered.error());
        return Step::kIo;
      }
      if (!*entered) return Step::kEnd;
    }
    switch (scanner_->next()) {
      case BatchScanner::Step::kBatch: {
        const BatchHeader& header = scanner_->batch().header;
        if (header.last_offset < next_offset_) continue;
        // A wrapper's header does not tell where it begins.
        const bool wrapper = !header.is_v2() && header.codec_id() != 0;
        if (header.base_offset >= until_ && !wrapper) {
          next_offset_ = until_;
          return Step::kEnd;
        }
        next_offset_ = std::min(header.next_offset(), segment_end_);
        return Step::kBatch;
      }
      case BatchScanner::Step::kEnd:
        if (!lost_behind()) continue;
        return error_.code == Errc::kIo ? Step::kIo : Step::kDamaged;
      case BatchScanner::Step::kIo:
        error_ = scanner_->error();
        leave_segment();
        return Step::kIo;
      case BatchScanner::Step::kTornTail:
      case BatchScanner::Step::kDamaged:
        if (options_.headers_only && stepped_over()) continue;
        if (damaged()) return error_.code == Errc::kIo ? Step::kIo : Step::kDamaged;
        continue;
    }
  }
  return Step::kEnd;
}

// Without CRCs a batch that lies about its length leads astray, and it was handed out already (who
// reads it will be told). True: the scanner stands at the next batch again.
bool LogCursor::stepped_over() {
  const auto found = segment_->search(next_offset_, limit_, log_->options().limits);
  if (!found || found->outcome != BatchSearch::Outcome::kFound) return false;
  if (found->place.position == stepped_to_) return false;  // once is enough
  stepped_to_ = found->place.position;
  scanner_->resume_at(found->place.position);
  return true;
}

// The scanner stands where it can't go on. False: that is a torn tail, and the segment's end.
bool LogCursor::damaged() {
  const Position position = scanner_->position();
  auto damage = segment_->damage_at(position, next_offset_, limit_);
  if (!damage) {
    error_ = std::move(damage.error());
    leave_segment();
    return true;
  }
  damage_ = std::move(*damage);
  if (damage_.end == position) {
    leave_segment();
    return false;
  }
  error_ = {Errc::kCorrupt, 0,
            segment_->log().name() + ": position " + std::to_string(position.value) + ": " +
                damage_.what};
  if (damage_.next) {
    next_offset_ = std::max(next_offset_, std::min(*damage_.next, segment_end_));
  }
  if (damage_.end >= limit_) {
    leave_segment();
  } else {
    scanner_->resume_at(damage_.end);
  }
  return true;
}

// Leaves the segment at its end. True: something was lost there, as error_ says.
bool LogCursor::lost_behind() {
  auto lost = log_->lost_behind(entry_, segment_end_);
  leave_segment();
  if (!lost) {
    error_ = std::move(lost.error());
    return error_.code == Errc::kIo;
  }
  if (!*lost || next_offset_ >= segment_end_) return false;
  damage_ = std::move(**lost);
  error_ = {Errc::kCorrupt, 0,
            segment_->log().name() + ": position " + std::to_string(damage_.position.value) + ": " +
                damage_.what};
  next_offset_ = segment_end_;
  return true;
}

void LogCursor::leave_segment() {
  if (segment_) left_ = segment_->base_offset();
  scanner_.reset();
}

// False: there is nothing at or after next_offset_ yet.
Result<bool> LogCursor::enter_segment() {
  constexpr int kMostTries = 3;
  for (int tries = 1;; ++tries) {
    auto entered = try_to_enter();
    if (entered || tries == kMostTries) return entered;
    const Errc code = entered.error().code;
    if (code != Errc::kNotFound && code != Errc::kOutOfRange) return entered;
    log_->refresh();  // the segment vanished since the directory was listed
  }
}

Result<bool> LogCursor::try_to_enter() {
  log_->refresh();
  const auto segments = log_->segments();
  auto entry =
      std::upper_bound(segments->begin(), segments->end(), next_offset_,
                       [](Offset offset, const SegmentEntry& e) { return offset < e.base_offset; });
  if (entry != segments->begin()) --entry;
  // Of the segment that was left last, more may have been written, and another begun behind it.
  while (entry != segments->end() && left_ && entry->base_offset < *left_) ++entry;
  for (; entry != segments->end(); ++entry) {
    ASSIGN_OR_RETURN(auto segment, log_->segment(*entry));
    const Offset segment_end =
        entry + 1 == segments->end() ? PartitionLog::kNoNextSegment : (entry + 1)->base_offset;
    ASSIGN_OR_RETURN(const Position limit, log_->valid_end_below(*entry, segment_end));
    Position from{0};
    if (entry->base_offset < next_offset_) {
      ASSIGN_OR_RETURN(const BatchSearch found,
                       segment->search(next_offset_, limit, log_->options().limits));
      if (found.outcome == BatchSearch::Outcome::kPastEnd) continue;
      from = found.outcome == BatchSearch::Outcome::kFound ? found.place.position
                                                           : found.damage.position;
      // Where nothing tells which offsets damage took, a search comes back to it for ever.
      if (found.outcome == BatchSearch::Outcome::kDamaged && left_ == entry->base_offset &&
          from == damage_.position && found.damage.end == damage_.end) {
        from = damage_.end;
      }
    }
    if (from >= limit) continue;
    ASSIGN_OR_RETURN(const auto expected, segment->expected_at(from, limit));
    segment_ = std::move(segment);
    limit_ = limit;
    segment_end_ = segment_end;
    entry_ = *entry;
    scanner_.emplace(segment_->log(), from, limit,
                     BatchScanner::Options{.headers_only = options_.headers_only,
                                           .tail_may_be_torn = false,
                                           .segment_base_offset = entry->base_offset,
                                           .expected = expected,
                                           .piece_bytes = options_.piece_bytes});
    return true;
  }
  return false;
}

Result<std::shared_ptr<const DecodedBatch>> LogCursor::decode() const {
  const BatchScanner::Batch& batch = scanner_->batch();
  if (batch.entry.empty()) {
    BatchPlace place;
    place.header = batch.header;
    place.position = batch.position;
    place.segment_base_offset = segment_->base_offset();
    return segment_->read_batch(place, log_->options().limits);
  }
  auto decoded = DecodedBatch::decode(batch.entry, log_->options().limits);
  if (decoded) return decoded;
  return fail(decoded.error().code, segment_->log().name() + ": position " +
                                        std::to_string(batch.position.value) + ": " +
                                        decoded.error().what);
}

}  // namespace offsetfs::storage
