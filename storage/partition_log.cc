#include "storage/partition_log.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "storage/partition_snapshot.h"

namespace offsetfs::storage {

namespace {

constexpr std::size_t kMostSealedTails = 4096;
// A batch is written at one go: one that is bad so long after the last write is damaged.
constexpr std::int64_t kWritingNs = 10'000'000'000;

std::int64_t realtime_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

std::string with_slash(std::string below) {
  if (!below.empty() && below.back() != '/') below.push_back('/');
  return below;
}

}  // namespace

PartitionLog::PartitionLog(std::shared_ptr<const SourceDir> dir, std::string below,
                           TopicPartition topic_partition, std::shared_ptr<const LogDirFiles> files,
                           Shared shared, DirState state)
    : dir_(std::move(dir)),
      topic_partition_(std::move(topic_partition)),
      files_(std::move(files)),
      shared_(std::move(shared)),
      owner_(shared_.batches->new_owner()),
      below_(with_slash(std::move(below))),
      state_(state) {}

PartitionLog::~PartitionLog() {
  shared_.open_segments->forget_owner(owner_);
  shared_.batches->forget(owner_, Offset{INT64_MIN}, Offset{INT64_MAX});
}

std::string PartitionLog::below(const std::string& file) const {
  const MutexLock lock(mutex_);
  return below_ + file;
}

Result<std::unique_ptr<File>> PartitionLog::open_beside(const std::string& name) const {
  auto file = dir_->open_file(below(name));
  if (file) return file;
  if (file.error().code == Errc::kInvalid) {
    shared_.problems->add({dir_->name_of(below(name)), -1, "is no regular file: not opened"});
  } else if (file.error().code != Errc::kNotFound) {
    return file;
  }
  return std::unique_ptr<File>();
}

Result<std::optional<std::string>> PartitionLog::read_beside(const std::string& name,
                                                             std::size_t limit_bytes) const {
  ASSIGN_OR_RETURN(const auto file, open_beside(name));
  if (file == nullptr) return std::optional<std::string>();
  ASSIGN_OR_RETURN(std::string text, storage::read_whole(*file, limit_bytes));
  return std::optional(std::move(text));
}

void PartitionLog::moved_to(std::string below, DirState state) const {
  state_ = state;
  below = with_slash(std::move(below));
  const MutexLock lock(mutex_);
  if (below_ == below) return;
  below_ = std::move(below);
  checked_ms_ = kNeverChecked;
}

std::optional<std::int32_t> PartitionLog::node_id() const {
  return files_ ? files_->node_id() : std::nullopt;
}

std::shared_ptr<const std::vector<SegmentEntry>> PartitionLog::segments() const {
  const auto current = snapshot();
  return {current, &current->list.live};
}

std::shared_ptr<const std::vector<SegmentEntry>> PartitionLog::set_aside() const {
  const auto current = snapshot();
  return {current, &current->list.set_aside};
}

std::shared_ptr<const SegmentList> PartitionLog::segment_list() const {
  const auto current = snapshot();
  return {current, &current->list};
}

Result<std::shared_ptr<const Segment>> PartitionLog::segment(const SegmentEntry& entry) const {
  auto opened = shared_.open_segments->get({owner_, entry.base_offset, entry.suffix},
                                           [&] { return open_segment(entry); });
  if (!opened && opened.error().code != Errc::kNotFound) {
    const std::string log = segment_file_name({entry.base_offset, SegmentFile::kLog, entry.suffix});
    shared_.problems->add({dir_->name_of(below(log)), -1, opened.error().what});
  }
  return opened;
}

Result<std::shared_ptr<const Segment>> PartitionLog::open_segment(const SegmentEntry& entry) const {
  // Before it is opened: it may grow and be sealed between a look at its size and one behind that.
  std::uint64_t sealed_in = 0;
  {
    const MutexLock lock(mutex_);
    if (snapshot_ && !snapshot_->live().empty() &&
        entry.base_offset < snapshot_->live().back().base_offset)
      sealed_in = snapshot_->number;
  }
  ASSIGN_OR_RETURN(auto segment, Segment::open(dir_, below(""), entry, shared_.problems));
  if (sealed_in != 0) segment->opened_sealed(sealed_in);
  return segment;
}

// --- The ends -----------------------------------------------------------------------------------

// Checkpoints speak of the live partition of a name, not of one that was deleted or lost.
bool PartitionLog::is_checkpointed() const {
  const DirState state = state_;
  return files_ != nullptr && (state == DirState::kLive || state == DirState::kFuture);
}

LogDirFiles::Checkpointed PartitionLog::checkpointed() const {
  LogDirFiles::Checkpointed known;
  if (is_checkpointed()) known = files_->checkpointed(topic_partition_);
  const Offset replicated{replicated_end_.load(std::memory_order_acquire)};
  if (replicated >= known.high_watermark.value_or(Offset{0})) known.high_watermark = replicated;
  return known;
}

void PartitionLog::count_as_replicated(Offset end) const {
  std::int64_t known = replicated_end_.load(std::memory_order_relaxed);
  while (known < end.value && !replicated_end_.compare_exchange_weak(known, end.value)) {
  }
}

Offset PartitionLog::log_start(const Reading& reading) const {
  const Offset base = reading.snapshot->first_base_offset();
  if (!is_checkpointed()) return base;
  return std::max(base, files_->log_start_offset(topic_partition_).value_or(base));
}

Offset PartitionLog::log_start_offset() const { return log_start(Reading{snapshot(), {}}); }

Result<Offset> PartitionLog::log_end(const Reading& reading) const {
  if (reading.live().empty()) return log_start(reading);
  ASSIGN_OR_RETURN(const SegmentTail tail, active_tail(reading));
  return tail.next_offset;
}

Offset PartitionLog::high_watermark(const LogDirFiles::Checkpointed& checkpointed, Offset log_start,
                                    Offset log_end) {
  const Offset start = std::min(log_start, log_end);
  return std::clamp(checkpointed.high_watermark.value_or(start), start, log_end);
}

Result<Offset> PartitionLog::readable_end(const Reading& reading) const {
  ASSIGN_OR_RETURN(const Offset end, log_end(reading));
  if (!shared_.options.until_high_watermark) return end;
  return high_watermark(checkpointed(), log_start(reading), end);
}

// Where a search in a segment ends. Of a sealed one that is its file's size: a torn tail is met
// only by who comes to it.
Result<Position> PartitionLog::search_limit(const Reading& reading, std::size_t index,
                                            const Segment& segment) const {
  if (reading.is_active(index)) {
    ASSIGN_OR_RETURN(const SegmentTail tail, active_tail(reading));
    return tail.end;
  }
  bool changed = false;
  ASSIGN_OR_RETURN(const Position size, segment.sealed_size(reading.snapshot->number, changed));
  // Cut, and written on, and sealed again since it was looked at.
  if (changed) {
    shared_.batches->forget(owner_, segment.base_offset(), Offset{INT64_MAX});
    losses_.fetch_add(1, std::memory_order_release);
  }
  return size;
}

Result<SegmentTail> PartitionLog::active_tail(const Reading& reading) const {
  if (!reading.tail) {
    ASSIGN_OR_RETURN(reading.tail, look_at_active_tail(reading.live().back()));
  }
  return *reading.tail;
}

// What begins below this was written to its end: a bad last batch there is damage.
Offset PartitionLog::settled_offset(const FileInfo& log) const {
  if (realtime_ns() - log.mtime_ns > kWritingNs) return Offset{INT64_MAX};
  const LogDirFiles::Checkpointed known = checkpointed();
  return std::max(known.high_watermark.value_or(Segment::kNoneSettled),
                  known.recovery_point.value_or(Segment::kNoneSettled));
}

Result<SegmentTail> PartitionLog::look_at_active_tail(const SegmentEntry& entry) const {
  ASSIGN_OR_RETURN(const auto segment, this->segment(entry));
  // Before the file is looked at: what others found in a longer one since is no truncation.
  std::shared_ptr<const ActiveTail> known;
  {
    const MutexLock lock(mutex_);
    known = active_tail_;
  }
  ASSIGN_OR_RETURN(const FileInfo info, segment->log().info());
  const bool same_file = known && known->base_offset == entry.base_offset && known->ino == info.ino;
  // In a preallocated file an append changes neither the size nor, within a tick, the mtime.
  if (same_file && known->size_bytes == info.size_bytes && known->mtime_ns == info.mtime_ns &&
      !known->tail.zero_tail && (!known->tail.torn || known->settled == settled_offset(info))) {
    return known->tail;
  }
  const Offset settled = settled_offset(info);
  auto fresh = std::make_shared<ActiveTail>();
  fresh->base_offset = entry.base_offset;
  fresh->ino = info.ino;
  fresh->size_bytes = info.size_bytes;
  fresh->mtime_ns = info.mtime_ns;
  fresh->settled = settled;
  const Position size{info.size_bytes};
  bool truncated = false;
  if (same_file && info.size_bytes >= known->tail.end.value) {
    auto tail = segment->extend_tail(known->tail, size, true, settled);
    if (!tail && tail.error().code != Errc::kOutOfRange) return tail;
    truncated = !tail || tail->end < known->tail.end;
    if (tail) fresh->tail = std::move(*tail);
    if (!tail) {
      ASSIGN_OR_RETURN(fresh->tail, segment->find_tail(size, true, settled));
    }
  } else {
    truncated = same_file;
    ASSIGN_OR_RETURN(fresh->tail, segment->find_tail(size, true, settled));
  }
  // After a truncation whatever was read of this segment may have been written anew.
  if (truncated) shared_.batches->forget(owner_, entry.base_offset, Offset{INT64_MAX});
  const MutexLock lock(mutex_);
  if (!truncated && active_tail_ != known && active_tail_->base_offset == fresh->base_offset &&
      active_tail_->ino == fresh->ino && active_tail_->tail.end > fresh->tail.end) {
    return active_tail_->tail;  // somebody looked later
  }
  active_tail_ = fresh;
  if (truncated) {
    active_times_.reset();
    losses_.fetch_add(1, std::memory_order_release);
  }
  return fresh->tail;
}

Result<SegmentTail> PartitionLog::sealed_tail(const SegmentEntry& entry) const {
  ASSIGN_OR_RETURN(const auto segment, this->segment(entry));
  ASSIGN_OR_RETURN(const FileInfo info, segment->log().info());
  {
    const MutexLock lock(mutex_);
    const auto known = sealed_tails_.find(entry.base_offset);
    if (entry.suffix == SegmentSuffix::kNone && known != sealed_tails_.end() &&
        known->second.ino == info.ino && known->second.size_bytes == info.size_bytes) {
      return known->second.tail;
    }
  }
  ASSIGN_OR_RETURN(const SegmentTail tail, segment->find_tail(Position{info.size_bytes}, false));
  if (entry.suffix != SegmentSuffix::kNone) return tail;
  const MutexLock lock(mutex_);
  if (sealed_tails_.size() >= kMostSealedTails) sealed_tails_.clear();
  sealed_tails_.insert_or_assign(entry.base_offset, SealedTail{info.ino, info.size_bytes, tail});
  return tail;
}

Result<SegmentTail> PartitionLog::tail(const SegmentEntry& entry) const {
  const auto current = snapshot();
  // Not the whole entry: a reader may have it from when the broker had not made the indexes yet.
  if (!current->live().empty() && entry.suffix == current->live().back().suffix &&
      entry.base_offset == current->live().back().base_offset) {
    return look_at_active_tail(entry);
  }
  return sealed_tail(entry);
}

Result<Position> PartitionLog::valid_end(const SegmentEntry& entry) const {
  ASSIGN_OR_RETURN(const SegmentTail found, tail(entry));
  return found.end;
}

Result<Position> PartitionLog::valid_end_below(const SegmentEntry& entry,
                                               Offset next_base_offset) const {
  ASSIGN_OR_RETURN(const SegmentTail found, tail(entry));
  if (found.next_offset <= next_base_offset) return found.end;
  ASSIGN_OR_RETURN(const auto segment, this->segment(entry));
  ASSIGN_OR_RETURN(const Position end, segment->end_below(next_base_offset, found.end));
  report_overlap(entry, next_base_offset, end);
  return end;
}

Result<std::optional<Damage>> PartitionLog::lost_behind(const SegmentEntry& entry,
                                                        Offset next_base_offset) const {
  if (next_base_offset == kNoNextSegment) return std::optional<Damage>();
  ASSIGN_OR_RETURN(const SegmentTail found, tail(entry));
  if (!found.torn || found.next_offset >= next_base_offset) return std::optional<Damage>();
  ASSIGN_OR_RETURN(const auto segment, this->segment(entry));
  ASSIGN_OR_RETURN(const FileInfo info, segment->log().info());
  const Damage lost{found.end, Position{info.size_bytes}, found.next_offset, next_base_offset,
                    "the last " + std::to_string(info.size_bytes - found.end.value) +
                        " bytes are no whole batch, and the next segment begins at offset " +
                        std::to_string(next_base_offset.value) + ": offsets " +
                        std::to_string(found.next_offset.value) + " to " +
                        std::to_string(next_base_offset.value - 1) + " are lost"};
  shared_.problems->add(
      {segment->log().name(), lost.position.value,
       lost.what + "; go on from offset " + std::to_string(next_base_offset.value)});
  return std::optional(lost);
}

// Unless compaction put another file in the place of several meanwhile.
void PartitionLog::report_overlap(const SegmentEntry& entry, Offset next_base_offset,
                                  Position end) const {
  const auto current = look_again();
  const std::size_t index = current->floor(entry.base_offset);
  if (index + 1 >= current->live().size() || current->live()[index] != entry ||
      current->live()[index + 1].base_offset != next_base_offset) {
    return;
  }
  const auto now = tail(entry);
  if (!now || now->next_offset <= next_base_offset) return;
  const std::string log = segment_file_name({entry.base_offset, SegmentFile::kLog, entry.suffix});
  shared_.problems->add({dir_->name_of(below(log)), end.value,
                         "holds offsets up to " + std::to_string(now->next_offset.value - 1) +
                             ", expected them to end below the next segment's base offset " +
                             std::to_string(next_base_offset.value) +
                             ": from there on they are read in that segment"});
}

Result<LogOffsets> PartitionLog::offsets() const {
  return retried([this]() -> Result<LogOffsets> {
    const Reading current{look_again(), {}};
    LogOffsets offsets;
    offsets.log_start_offset = log_start(current);
    ASSIGN_OR_RETURN(offsets.log_end_offset, log_end(current));
    if (offsets.log_start_offset > offsets.log_end_offset) {
      shared_.problems->add(
          {dir_->name_of(below("")), -1,
           "log start offset checkpoint " + std::to_string(offsets.log_start_offset.value) +
               " lies beyond the log end " + std::to_string(offsets.log_end_offset.value) +
               ": a broker would drop the log, nothing of it is shown"});
      offsets.log_end_offset = offsets.log_start_offset;
    }
    const LogDirFiles::Checkpointed checkpointed = this->checkpointed();
    offsets.high_watermark =
        high_watermark(checkpointed, offsets.log_start_offset, offsets.log_end_offset);
    offsets.high_watermark_known = checkpointed.high_watermark.has_value();
    offsets.readable_end =
        shared_.options.until_high_watermark ? offsets.high_watermark : offsets.log_end_offset;
    offsets.recovery_point = checkpointed.recovery_point;
    offsets.cleaner_offset = checkpointed.cleaner_offset;
    return offsets;
  });
}

}  // namespace offsetfs::storage
