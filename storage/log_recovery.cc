#include "storage/log_recovery.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "storage/batch_scanner.h"
#include "storage/interrupted_compaction.h"
#include "storage/producer_snapshot.h"
#include "storage/segment_end.h"
#include "storage/segment_files.h"
#include "storage/segment_walk.h"

namespace offsetfs::storage {
namespace {

constexpr const char* kLeaderEpochs = "leader-epoch-checkpoint";
constexpr std::size_t kMostSmallFileBytes = 64 << 20;

std::string file_of(Offset base_offset, SegmentFile file) {
  return segment_file_name({base_offset, file});
}

class Recovery {
 public:
  Recovery(WriteDir& dir, const RecoveryOptions& options) : dir_(dir), options_(options) {}

  Result<RecoveredLog> run() {
    RETURN_IF_ERROR(list());
    if (log_.segments.empty()) RETURN_IF_ERROR(first_segment());
    RETURN_IF_ERROR(read_leader_epochs());
    const std::size_t from = first_to_walk();
    const bool look_behind_index = from == log_.segments.size();
    RETURN_IF_ERROR(start_producers(std::min(from, log_.segments.size() - 1), look_behind_index));
    for (std::size_t i = 0; i < log_.segments.size(); ++i) {
      if (i >= from || lost_index_[i])
        RETURN_IF_ERROR(walk(i));
      else if (is_active(i))
        RETURN_IF_ERROR(open_clean(i));
      else
        RETURN_IF_ERROR(take_sealed(i));
    }
    RETURN_IF_ERROR(settle());
    return std::move(log_);
  }

 private:
  // --- What is there -----------------------------------------------------------------------------

  Result<void> list() {
    RETURN_IF_ERROR(settle_interrupted_compaction(dir_, log_.report));
    ASSIGN_OR_RETURN(const auto names, dir_.list_files());
    std::set<Offset> bases;
    for (const auto& name : names) {
      const auto parsed = parse_segment_file(name);
      if (!parsed || parsed->suffix != SegmentSuffix::kNone) continue;
      if (parsed->file == SegmentFile::kLog)
        bases.insert(parsed->base_offset);
      else if (parsed->file == SegmentFile::kProducerSnapshot)
        snapshots_.insert(parsed->base_offset);
    }
    for (const auto& name : names) {
      const auto parsed = parse_segment_file(name);
      if (parsed && parsed->suffix == SegmentSuffix::kNone &&
          parsed->file != SegmentFile::kProducerSnapshot && !bases.contains(parsed->base_offset))
        RETURN_IF_ERROR(remove(name));
    }
    for (const Offset base : bases) {
      WrittenSegment segment;
      segment.base_offset = segment.next_offset = base;
      ASSIGN_OR_RETURN(const FileInfo info, dir_.info(file_of(base, SegmentFile::kLog)));
      segment.size_bytes = info.size_bytes;
      log_.segments.push_back(segment);
      lost_index_.push_back(info.size_bytes > 0 &&
                            !dir_.info(file_of(base, SegmentFile::kOffsetIndex)));
    }
    return {};
  }

  Result<void> remove(const std::string& name) {
    RETURN_IF_ERROR(dir_.unlink_if_there(name));
    log_.report.removed.push_back(dir_.name_of(name));
    return {};
  }

  Result<void> first_segment() {
    const Offset base = options_.log_start_offset.value_or(Offset{0});
    ASSIGN_OR_RETURN(const auto made, SegmentWriter::create(dir_, base, options_.config));
    WrittenSegment segment;
    segment.base_offset = segment.next_offset = base;
    log_.segments.push_back(segment);
    lost_index_.push_back(false);
    return {};
  }

  Result<void> read_leader_epochs() {
    auto text = dir_.read_whole(kLeaderEpochs, kMostSmallFileBytes);
    if (!text && text.error().code == Errc::kNotFound) return {};
    if (!text) return fail(std::move(text.error()));
    ASSIGN_OR_RETURN(log_.leader_epochs, parse_leader_epochs(*text, dir_.name_of(kLeaderEpochs)));
    epochs_as_found_ = log_.leader_epochs.entries();
    return {};
  }

  // The segment that holds the recovery point; past all of them where there is nothing to walk.
  std::size_t first_to_walk() const {
    if (options_.clean) return log_.segments.size();
    std::size_t found = 0;
    for (std::size_t i = 0; i < log_.segments.size(); ++i)
      if (log_.segments[i].base_offset <= options_.recovery_point) found = i;
    return found;
  }

  bool is_active(std::size_t i) const { return i + 1 == log_.segments.size(); }

  Offset upper_bound_of(std::size_t i) const {
    return is_active(i) ? Offset{INT64_MAX} : log_.segments[i + 1].base_offset;
  }

  // --- Producers ---------------------------------------------------------------------------------

  // From the newest readable snapshot at or below the segment, then by the batches up to it. With
  // the clean mark any snapshot will do: the end one was written when the log was closed.
  Result<void> start_producers(std::size_t segment, bool any) {
    const Offset until = log_.segments[segment].base_offset;
    log_.producers = ProducerState(log_.segments.front().base_offset, {});
    for (auto it = snapshots_.rbegin(); it != snapshots_.rend(); ++it) {
      if (!any && *it > until) continue;
      const std::string name = file_of(*it, SegmentFile::kProducerSnapshot);
      const auto bytes = dir_.read_whole(name, kMostSmallFileBytes);
      if (!bytes) return fail(bytes.error());
      const auto producers = parse_producer_snapshot(*bytes, dir_.name_of(name));
      if (!producers) {
        log_.report.notes.push_back(producers.error().what + "; an older one is taken");
        continue;
      }
      log_.producers = ProducerState(*it, *producers);
      break;
    }
    for (std::size_t i = 0; i < segment; ++i)
      if (upper_bound_of(i) > log_.producers.next_offset()) RETURN_IF_ERROR(replay(i));
    return {};
  }

  // Of a segment that is not walked: damage there is for readers to find.
  Result<void> replay(std::size_t i) {
    ASSIGN_OR_RETURN(const auto file, dir_.open_for_reading(file_of(log_.segments[i].base_offset,
                                                                    SegmentFile::kLog)));
    BatchScanner scanner(*file, {0}, {log_.segments[i].size_bytes});
    for (;;) {
      const auto step = scanner.next();
      if (step == BatchScanner::Step::kIo) return fail(scanner.error());
      if (step != BatchScanner::Step::kBatch) return {};
      (void)log_.producers.note(scanner.batch().header, scanner.batch().entry);
    }
  }

  // --- Segments that are not walked --------------------------------------------------------------

  Result<void> take_sealed(std::size_t i) {
    WrittenSegment& segment = log_.segments[i];
    if (!options_.config.cleanup_policy.compact)
      if (const auto end = end_by_index(dir_, segment)) note_gap(i, *end);
    segment.next_offset = upper_bound_of(i);
    return take_last_time(dir_, segment);
  }

  void note_gap(std::size_t i, Offset end) {
    const Offset next = upper_bound_of(i);
    const bool compacted = options_.config.cleanup_policy.compact ||
                           log_.segments[i].base_offset < options_.first_dirty_offset;
    if (end >= next || compacted) return;
    log_.report.gaps.push_back("the offsets " + std::to_string(end.value) + " to " +
                               std::to_string((next - 1).value) + ", before " +
                               file_of(next, SegmentFile::kLog) +
                               ", are in no segment: one is lost, unless the log was compacted "
                               "once. Readers pass over them");
  }

  // The active segment under a clean mark: one that is not as a clean stop leaves it is walked.
  Result<void> open_clean(std::size_t i) {
    WrittenSegment segment = log_.segments[i];
    ASSIGN_OR_RETURN(const bool as_left, open_by_index(dir_, segment, log_.producers));
    if (as_left) {
      log_.segments[i] = segment;
      return {};
    }
    log_.report.notes.push_back(dir_.name_of(file_of(segment.base_offset, SegmentFile::kLog)) +
                                ": not as a clean stop leaves it, in spite of the clean mark");
    return walk(i);
  }

  // --- The walk ----------------------------------------------------------------------------------

  Result<void> walk(std::size_t i) {
    WalkOptions walking;
    walking.index_interval_bytes = options_.config.index_interval_bytes;
    if (!is_active(i)) walking.next_base_offset = upper_bound_of(i);
    walking.recovery_point = options_.recovery_point;
    walking.may_end_at = [this](Offset end) { return check_end(end); };
    WrittenSegment& segment = log_.segments[i];
    ASSIGN_OR_RETURN(segment, walk_segment(dir_, segment, walking,
                                           {log_.producers, log_.leader_epochs, log_.report}));
    if (!is_active(i)) {
      note_gap(i, segment.next_offset);
      segment.next_offset = upper_bound_of(i);
    }
    return take_snapshot(segment.next_offset);
  }

  Result<void> take_snapshot(Offset offset) {
    if (offset == log_.segments.front().base_offset) return {};
    if (log_.producers.next_offset() > offset) return {};
    RETURN_IF_ERROR(
        dir_.replace(file_of(offset, SegmentFile::kProducerSnapshot), log_.producers.snapshot()));
    snapshots_.insert(offset);
    return {};
  }

  // --- The end -----------------------------------------------------------------------------------

  Offset log_start_offset() const {
    return std::max(options_.log_start_offset.value_or(Offset{0}),
                    log_.segments.front().base_offset);
  }

  std::string dir_path() const {
    std::string path = dir_.name_of("");
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path;
  }

  // Whether the log may end there: offsets that were given once are never given again.
  Result<void> check_end(Offset end) const {
    if (end < log_start_offset())
      return fail(Errc::kCorrupt,
                  dir_path() + ": the log ends at " + std::to_string(end.value) +
                      ", before its start at " + std::to_string(log_start_offset().value) +
                      " (log-start-offset-checkpoint). Its last segments are missing: bring them "
                      "back, or lower its entry there");
    const auto [once, file] =
        options_.recovery_point >= options_.high_watermark
            ? std::pair(options_.recovery_point, "recovery-point-offset-checkpoint")
            : std::pair(options_.high_watermark, "replication-offset-checkpoint");
    if (end < once)
      return fail(
          Errc::kCorrupt,
          dir_path() + ": the log ends at offset " + std::to_string(end.value) + ", and " +
              (once == options_.recovery_point ? "was flushed" : "had acknowledged records") +
              " up to " + std::to_string(once.value) + " once (" + file +
              "): a segment is lost, or its end. "
              "Offsets are never given twice, so nothing is appended here: restore the "
              "segment from a copy or a replica; or, if all readers may meet other records "
              "at these offsets, lower its entries in recovery-point-offset-checkpoint and "
              "replication-offset-checkpoint");
    return {};
  }

  Result<void> settle() {
    const WrittenSegment& active = log_.segments.back();
    log_.log_end_offset = active.next_offset;
    log_.log_start_offset = log_start_offset();
    RETURN_IF_ERROR(check_end(log_.log_end_offset));
    log_.recovery_point = options_.clean ? log_.log_end_offset
                                         : std::min(options_.recovery_point, log_.log_end_offset);
    // A broker's cache ends where the log does; one that begins there has not written yet. It
    // begins where the log does too: segments go first, and a crash may have come before it was
    // written.
    log_.leader_epochs.truncate_from_end(log_.log_end_offset);
    note_lost_start();
    log_.leader_epochs.truncate_from_start(log_.log_start_offset);
    if (log_.leader_epochs.entries() != epochs_as_found_)
      RETURN_IF_ERROR(dir_.replace(kLeaderEpochs, render_leader_epochs(log_.leader_epochs)));
    RETURN_IF_ERROR(settle_snapshots());
    log_.report.was_clean = options_.clean && log_.report.segments_walked == 0;
    return {};
  }

  // Where segments are removed, their leader epochs go at once, and the files only later.
  void note_lost_start() {
    const Offset first = log_.segments.front().base_offset;
    if (epochs_as_found_.empty() || epochs_as_found_.front().start_offset >= first) return;
    const auto& removed = log_.report.removed;
    if (std::ranges::any_of(removed, [](const auto& name) { return name.ends_with(".deleted"); }))
      return;
    log_.report.gaps.push_back(
        "the offsets " + std::to_string(epochs_as_found_.front().start_offset.value) + " to " +
        std::to_string((first - 1).value) + ", which the log began with (" + kLeaderEpochs +
        "), are in no segment: the first ones are lost, unless a crash cut their removal short");
  }

  // Every clean stop leaves one at the log's end: of those that lie at no segment's base a broker
  // keeps the newest, if it lies behind the last base.
  Result<void> settle_snapshots() {
    std::optional<Offset> stray;
    for (const Offset snapshot : snapshots_) {
      if (snapshot > log_.log_end_offset) {
        RETURN_IF_ERROR(remove(file_of(snapshot, SegmentFile::kProducerSnapshot)));
        continue;
      }
      log_.snapshot_offset = snapshot;
      if (std::ranges::binary_search(log_.segments, snapshot, {}, &WrittenSegment::base_offset))
        continue;
      if (stray) RETURN_IF_ERROR(unlink_snapshot(*stray));
      stray = snapshot;
    }
    if (stray && *stray < log_.segments.back().base_offset) return unlink_snapshot(*stray);
    return {};
  }

  Result<void> unlink_snapshot(Offset offset) {
    return dir_.unlink_if_there(file_of(offset, SegmentFile::kProducerSnapshot));
  }

  WriteDir& dir_;
  const RecoveryOptions options_;
  RecoveredLog log_;
  std::vector<bool> lost_index_;  // by segment
  std::set<Offset> snapshots_;
  std::vector<LeaderEpochs::Entry> epochs_as_found_;
};

}  // namespace

Result<RecoveredLog> recover_log(WriteDir& dir, const RecoveryOptions& options) {
  return Recovery(dir, options).run();
}

}  // namespace offsetfs::storage
