#include "fs/log_pieces.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "storage/segment_files.h"

namespace offsetfs::fs {

using storage::Errc;
using storage::MutexLock;
using storage::Offset;
using storage::PartitionLog;
using storage::Position;
using storage::Result;
using storage::Segment;
using storage::SegmentEntry;

namespace {

bool is_same_file(const storage::FileInfo& a, const storage::FileInfo& b) {
  return a.dev == b.dev && a.ino == b.ino;
}

// Whether it may have been written after the truncation that took `last`: then it has a later
// epoch, or in the same one a time that is no earlier. Where times are in no order a stream may end
// a little before it must.
bool may_be_newer(const storage::BatchHeader& batch, const storage::BatchHeader& last) {
  return std::tie(batch.leader_epoch, batch.max_timestamp) >=
         std::tie(last.leader_epoch, last.max_timestamp);
}

}  // namespace

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
  SegmentEntry entry;
  ASSIGN_OR_RETURN(const auto last_segment, segment(last, entry));
  ASSIGN_OR_RETURN(end_, end_in(entry, *last_segment));
  last_file_ = last_segment;
  ASSIGN_OR_RETURN(const auto first_segment, segment(0, entry));
  ASSIGN_OR_RETURN(const Position first_end, last == 0
                                                 ? Result<Position>(end_)
                                                 : log_->valid_end_below(entry, records_end(0)));
  ASSIGN_OR_RETURN(begin_, begin_in(*first_segment, first_end));
  first_file_ = first_segment;
  return {};
}

Result<Position> LogPieces::begin_in(const Segment& segment, Position end) const {
  const auto place = segment.find_batch(span_.from, end);
  if (place) return place->position;
  if (place.error().code == Errc::kNotFound) return end;
  if (place.error().code == Errc::kIo) return storage::fail(place.error());
  return Position{};
}

Result<Position> LogPieces::end_in(const SegmentEntry& entry, const Segment& segment) const {
  ASSIGN_OR_RETURN(const Position end, log_->valid_end_below(entry, records_end(count_ - 1)));
  if (span_.to <= Offset{}) return end;
  return segment.end_below(span_.to, end);
}

// `entry`: what it is found under now.
Result<std::shared_ptr<const Segment>> LogPieces::segment(std::size_t piece,
                                                          SegmentEntry& entry) const {
  entry = (*entries_)[first_ + piece];
  constexpr int kMostTries = 3;
  for (int tries = 1;; ++tries) {
    auto found = log_->segment(entry);
    if (found || found.error().code != Errc::kNotFound) return found;
    // While compaction puts another file in its place, it is under another name, or under none.
    log_->refresh();
    const auto now = log_->segments();
    const auto at =
        std::ranges::lower_bound(*now, entry.base_offset, {}, &SegmentEntry::base_offset);
    const bool listed = at != now->end() && at->base_offset == entry.base_offset;
    if (!listed || tries == kMostTries) break;
    entry = *at;
  }
  // Renamed for deletion, its bytes are there for a while.
  entry.suffix = storage::SegmentSuffix::kDeleted;
  auto deleted = log_->segment(entry);
  if (deleted || deleted.error().code != Errc::kNotFound) return deleted;
  return storage::fail(gone(piece, "taken away, by retention or compaction"));
}

storage::Error LogPieces::gone(std::size_t piece, const char* how) const {
  const SegmentEntry& entry = (*entries_)[first_ + piece];
  const Offset from = std::max(entry.base_offset, span_.from);
  const Offset to = std::min(records_end(piece), span_.to);
  return {Errc::kNotFound, 0,
          log_->topic_partition().to_string() + ": segment " +
              storage::segment_base_name(entry.base_offset) + " with the offsets " +
              std::to_string(from.value) + " to " + std::to_string(to.value - 1) + " was " + how};
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

Result<StreamPiece> LogPieces::glance(std::size_t piece) const {
  if (auto value = opened(piece)) return *std::move(value);
  return look_into(piece);
}

Result<void> LogPieces::hold_front(bool stays) const {
  if (count_ == 0) return {};
  find_last();
  stays_ = stays && count_ > 1 && count_ <= kMostCounted;
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
  if (span_.admit) RETURN_IF_ERROR(span_.admit((*entries_)[first_ + piece]));
  constexpr int kMostTries = 3;
  for (int tries = 1;; ++tries) {
    SegmentEntry entry;
    ASSIGN_OR_RETURN(StreamPiece value, look_at(piece, entry));
    // What was found of its ends is of another file if that took its place just now.
    if (tries < kMostTries && !is_current(entry, *value.segment)) continue;
    RETURN_IF_ERROR(check_same(piece, entry, value));
    return value;
  }
}

Result<StreamPiece> LogPieces::look_at(std::size_t piece, SegmentEntry& entry) const {
  StreamPiece value;
  ASSIGN_OR_RETURN(value.segment, segment(piece, entry));
  value.file = &value.segment->log();
  value.segment_base_offset = entry.base_offset;
  value.records_end = records_end(piece);
  if (piece + 1 < count_) {
    // One that was taken meanwhile, but is open, ends where its file does.
    const auto end = log_->valid_end_below(entry, value.records_end);
    value.end = end ? *end : Position{value.segment->opened_info().size_bytes};
  } else if (value.segment == last_file_.lock()) {
    value.end = end_;
  } else {
    ASSIGN_OR_RETURN(value.end, end_in(entry, *value.segment));
  }
  if (piece == 0 && value.segment == first_file_.lock()) {
    value.begin = begin_;
  } else if (piece == 0) {
    ASSIGN_OR_RETURN(value.begin, begin_in(*value.segment, value.end));
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

// False: another file has its name now.
bool LogPieces::is_current(const SegmentEntry& entry, const Segment& segment) const {
  const auto now = log_->segment(entry);
  if (!now) return true;
  return is_same_file((*now)->opened_info(), segment.opened_info());
}

// Of a stream with a size: what a piece held when it was first looked into, it still does.
Result<void> LogPieces::check_same(std::size_t piece, const SegmentEntry& entry,
                                   const StreamPiece& value) const {
  if (!stays_ || value.begin == value.end) return {};
  ASSIGN_OR_RETURN(const auto last, last_in(entry, value.segment, value.end));
  const Seen seen = last ? Seen{last->position, last->header.crc} : Seen{};
  const MutexLock lock(mutex_);
  if (seen_.emplace(piece, seen).first->second == seen) return {};
  return storage::fail(gone(piece, "compacted, or written anew,"));
}

// --- Truncation ---------------------------------------------------------------------------------

// Without one, there is nothing to be lost: no batch lies there, or none that can be read.
void LogPieces::find_last() const {
  constexpr std::size_t kMostEmpty = 8;
  for (std::size_t left = count_; left > 0 && count_ - left < kMostEmpty; --left) {
    const std::size_t piece = left - 1;
    SegmentEntry entry;
    const auto held = segment(piece, entry);
    if (!held) continue;
    const auto end =
        left == count_ ? end_in(entry, **held) : log_->valid_end_below(entry, records_end(piece));
    if (!end) continue;
    auto last = last_in(entry, *held, *end);
    if (!last || !*last) continue;
    last_batch_ = std::move(*last);
    return;
  }
}

// The last batch of a piece.
Result<std::optional<PlacedBatch>> LogPieces::last_in(const SegmentEntry& entry,
                                                      const std::shared_ptr<const Segment>& segment,
                                                      Position end) const {
  const auto placed = [&](Position position, const storage::BatchHeader& header) {
    return PlacedBatch{entry.base_offset, segment, position, header};
  };
  const auto tail = log_->tail(entry);
  if (tail && tail->end == end && tail->last_batch)
    return std::optional(placed(*tail->last_batch, tail->last_header));
  ASSIGN_OR_RETURN(const auto place, segment->last_batch_with_records(end, true));
  if (!place) return std::optional<PlacedBatch>();
  return std::optional(placed(place->position, place->header));
}

// Whether the last batch lies where it lay, in the file that has the segment's name. This is asked
// for each read: in a large directory that changes all the time a listing would take longer.
bool LogPieces::last_stands() const {
  const auto segment = last_batch_->segment.lock();
  if (segment == nullptr) return false;
  const std::string name = storage::segment_file_name(
      {last_batch_->segment_base_offset, storage::SegmentFile::kLog, {}});
  const auto named = log_->dir()->info(log_->below(name));
  if (!named || !is_same_file(*named, segment->opened_info())) return false;
  const auto there = lies_there(*last_batch_, *segment);
  return there && *there;
}

Result<bool> LogPieces::is_cut() const {
  if (!last_batch_) return false;
  if (cut_) return true;
  if (last_stands()) return false;
  // Only a truncation changes a file in place, whatever became of its name since.
  if (const auto held = last_batch_->segment.lock()) {
    ASSIGN_OR_RETURN(const bool there, lies_there(*last_batch_, *held));
    if (!there) {
      cut_ = true;
      return true;
    }
  }
  log_->refresh();
  // Deleted as a whole: what is held of it is what it was.
  if (log_->segments()->empty()) return false;
  ASSIGN_OR_RETURN(const PlacedState state, state_now(*last_batch_));
  if (state == PlacedState::kReplaced) cut_ = true;
  return state == PlacedState::kReplaced;
}

Result<PlacedState> LogPieces::state_now(const PlacedBatch& batch) const {
  auto state = state_of(batch, *log_, log_->log_start_offset());
  if (!state) return storage::fail({Errc::kIo, state.error().sys_errno, state.error().what});
  return state;
}

Result<LogPieces::Standing> LogPieces::standing(std::span<const PlacedBatch> given) const {
  ASSIGN_OR_RETURN(const bool cut, is_cut());
  for (const PlacedBatch& batch : given) {
    if (cut && may_be_newer(batch.header, last_batch_->header)) return Standing::kCut;
    if (cut) {
      ASSIGN_OR_RETURN(const PlacedState state, state_now(batch));
      if (state == PlacedState::kReplaced) return Standing::kCut;
    }
    // Nor was its own file cut before retention or compaction took that.
    const auto segment = batch.segment.lock();
    if (segment == nullptr) continue;
    ASSIGN_OR_RETURN(const bool there, lies_there(batch, *segment));
    if (!there) return Standing::kCut;
  }
  return cut ? Standing::kCutAhead : Standing::kWhole;
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
