#include "fs/log_pieces.h"

#include <algorithm>
#include <string>
#include <utility>

#include "storage/segment_files.h"

namespace offsetfs::fs {

using storage::BatchPlace;
using storage::Errc;
using storage::MutexLock;
using storage::Offset;
using storage::PartitionLog;
using storage::Position;
using storage::Result;
using storage::Segment;
using storage::SegmentEntry;

Result<std::shared_ptr<const LogPieces>> LogPieces::make(std::shared_ptr<const PartitionLog> log,
                                                         const Span& span) {
  Entries entries = log->segments();
  const auto above = [&](Offset offset, bool inclusive) {
    return static_cast<std::size_t>(std::partition_point(entries->begin(), entries->end(),
                                                         [&](const SegmentEntry& entry) {
                                                           return inclusive
                                                                      ? entry.base_offset <= offset
                                                                      : entry.base_offset < offset;
                                                         }) -
                                    entries->begin());
  };
  const std::size_t after_first = above(span.from, true);
  const std::size_t first = after_first > 0 ? after_first - 1 : 0;
  const std::size_t end = std::max(first, above(span.to, false));
  std::shared_ptr<LogPieces> pieces(
      new LogPieces(std::move(log), span, std::move(entries), first, end - first));
  RETURN_IF_ERROR(pieces->find_ends());
  return std::shared_ptr<const LogPieces>(std::move(pieces));
}

LogPieces::LogPieces(std::shared_ptr<const PartitionLog> log, const Span& span, Entries entries,
                     std::size_t first, std::size_t count)
    : log_(std::move(log)),
      span_(span),
      entries_(std::move(entries)),
      first_(first),
      count_(count) {}

Result<void> LogPieces::find_ends() {
  if (count_ == 0) return {};
  const std::size_t last = count_ - 1;
  ASSIGN_OR_RETURN(const auto last_segment, segment(last));
  ASSIGN_OR_RETURN(end_, log_->valid_end_below((*entries_)[first_ + last], records_end(last)));
  if (span_.to > Offset{}) {
    ASSIGN_OR_RETURN(end_, last_segment->end_below(span_.to, end_));
  }
  ASSIGN_OR_RETURN(const auto first_segment, segment(0));
  ASSIGN_OR_RETURN(const Position first_end,
                   last == 0 ? Result<Position>(end_)
                             : log_->valid_end_below((*entries_)[first_], records_end(0)));
  const auto place = first_segment->find_batch(span_.from, first_end);
  if (place) {
    begin_ = place->position;
  } else if (place.error().code == Errc::kNotFound) {
    begin_ = first_end;
  } else if (place.error().code == Errc::kIo) {
    return storage::fail(place.error());
  }
  return {};
}

Result<std::shared_ptr<const Segment>> LogPieces::segment(std::size_t piece) const {
  SegmentEntry entry = (*entries_)[first_ + piece];
  auto found = log_->segment(entry);
  if (!found && found.error().code == Errc::kNotFound) {
    // Renamed for deletion, its bytes are there for a while.
    entry.suffix = storage::SegmentSuffix::kDeleted;
    auto deleted = log_->segment(entry);
    if (deleted) return deleted;
    return storage::fail(gone(piece));
  }
  return found;
}

storage::Error LogPieces::gone(std::size_t piece) const {
  const SegmentEntry& entry = (*entries_)[first_ + piece];
  const Offset from = std::max(entry.base_offset, span_.from);
  const Offset to = std::min(records_end(piece), span_.to);
  return {Errc::kNotFound, 0,
          log_->topic_partition().to_string() + ": segment " +
              storage::segment_base_name(entry.base_offset) + " with the offsets " +
              std::to_string(from.value) + " to " + std::to_string(to.value - 1) +
              " was taken away, by retention or compaction"};
}

// Where the next segment begins: what a segment holds beyond that would come twice.
Offset LogPieces::records_end(std::size_t piece) const {
  const std::size_t next = first_ + piece + 1;
  return next < entries_->size() ? (*entries_)[next].base_offset : PartitionLog::kNoNextSegment;
}

Result<bool> LogPieces::is_too_old(std::size_t piece) const {
  if (!span_.from_time) return false;
  ASSIGN_OR_RETURN(const auto largest, log_->largest_timestamp((*entries_)[first_ + piece]));
  return largest.largest == storage::kNoTimestamp || largest.largest < *span_.from_time;
}

LogPieces::~LogPieces() {
  if (span_.room_ahead != nullptr) *span_.room_ahead += static_cast<std::int64_t>(ahead_.size());
}

Result<StreamPiece> LogPieces::open(std::size_t piece) const {
  if (auto value = opened(piece)) return *std::move(value);
  ASSIGN_OR_RETURN(StreamPiece value, look_into(piece));
  bool goes_on = false;
  {
    const MutexLock lock(mutex_);
    goes_on = piece == opened_[0].piece + 1;
    std::swap(opened_[0], opened_[1]);
    opened_[0] = {piece, value};
  }
  if (goes_on) hold_ahead(piece);
  return value;
}

std::optional<StreamPiece> LogPieces::opened(std::size_t piece) const {
  const MutexLock lock(mutex_);
  for (const Opened& opened : opened_) {
    if (opened.piece == piece) return opened.value;
  }
  return std::nullopt;
}

// A piece that is held, or else opened; it is kept nowhere.
Result<StreamPiece> LogPieces::look_into(std::size_t piece) const {
  {
    const MutexLock lock(mutex_);
    if (const auto held = ahead_.find(piece); held != ahead_.end()) return held->second;
  }
  return open_afresh(piece);
}

Result<void> LogPieces::hold_front() const {
  if (count_ == 0) return {};
  RETURN_IF_ERROR(open(0));
  hold_ahead(0);
  return {};
}

// What can't be opened is met when its turn comes.
void LogPieces::hold_ahead(std::size_t piece) const {
  if (span_.room_ahead == nullptr) return;
  let_go(piece);
  const std::size_t end = std::min(count_, piece + 1 + kMostAhead);
  for (std::size_t next = piece + 1; next < end; ++next) {
    if (is_held(next)) continue;
    auto value = open_afresh(next);
    if (!value && value.error().code == Errc::kNotFound) continue;
    if (!value || !hold(next, *std::move(value))) return;
  }
}

// All that is not ahead of `piece`, or too far.
void LogPieces::let_go(std::size_t piece) const {
  std::map<std::size_t, StreamPiece> dropped;  // closed outside the lock
  const MutexLock lock(mutex_);
  for (auto held = ahead_.begin(); held != ahead_.end();) {
    const auto at = held++;
    if (at->first <= piece || at->first > piece + kMostAhead) dropped.insert(ahead_.extract(at));
  }
  *span_.room_ahead += static_cast<std::int64_t>(dropped.size());
}

bool LogPieces::is_held(std::size_t piece) const {
  const MutexLock lock(mutex_);
  return ahead_.contains(piece);
}

// False: there is no room.
bool LogPieces::hold(std::size_t piece, StreamPiece value) const {
  if (span_.room_ahead->fetch_sub(1) <= 0) {
    *span_.room_ahead += 1;
    return false;
  }
  const MutexLock lock(mutex_);
  if (!ahead_.emplace(piece, std::move(value)).second) *span_.room_ahead += 1;
  return true;
}

Result<StreamPiece> LogPieces::open_afresh(std::size_t piece) const {
  const SegmentEntry& entry = (*entries_)[first_ + piece];
  if (span_.admit) RETURN_IF_ERROR(span_.admit(entry));
  StreamPiece value;
  ASSIGN_OR_RETURN(value.segment, segment(piece));
  value.file = &value.segment->log();
  value.segment_base_offset = entry.base_offset;
  value.records_end = records_end(piece);
  value.begin = piece == 0 ? begin_ : Position{};
  if (piece + 1 == count_) {
    value.end = end_;
  } else {
    // One that was taken meanwhile, but is open, ends where its file does.
    const auto end = log_->valid_end_below(entry, value.records_end);
    value.end = end ? *end : Position{value.segment->opened_info().size_bytes};
  }
  value.end = std::max(value.begin, value.end);
  const auto too_old = is_too_old(piece);
  if (too_old && *too_old) {
    value.begin = value.end;
    return value;
  }
  auto lost = log_->lost_behind(entry, value.records_end);
  if (lost && *lost && (*lost)->first < span_.to && (*lost)->next > span_.from)
    value.lost_behind = std::move(*lost);
  return value;
}

Result<bool> LogPieces::exceeds(std::int64_t bytes) const {
  if (count_ > kMostCounted) return true;
  for (std::size_t i = 0; i < count_ && bytes >= 0; ++i) {
    ASSIGN_OR_RETURN(const StreamPiece piece, look_into(i));
    bytes -= std::max<std::int64_t>(0, piece.end - piece.begin);
  }
  return bytes < 0;
}

}  // namespace offsetfs::fs
