#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/batch_cache.h"
#include "storage/log_dir_files.h"
#include "storage/mutex.h"
#include "storage/open_segments.h"
#include "storage/problems.h"
#include "storage/record_batch.h"
#include "storage/result.h"
#include "storage/segment.h"
#include "storage/segment_list.h"
#include "storage/topic_partition.h"
#include "storage/units.h"

namespace offsetfs::storage {

// The offsets of a partition, as far as a directory tells without its broker:
//   log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset
struct LogOffsets {
  Offset log_start_offset{};
  Offset log_end_offset{};            // the next offset to be written
  Offset high_watermark{};            // a lower bound, clamped into [start, end]: checkpointed, or
                                      // what this process has written (count_as_replicated)
  bool high_watermark_known = false;  // one of them is; else it is the log start offset
  // What readers are shown ends here (exclusive): the log end, or with
  // Options::until_high_watermark the high watermark.
  Offset readable_end{};
  std::optional<Offset> recovery_point;
  std::optional<Offset> cleaner_offset;
};

// What is at an offset, and how that was found: the content of `offsets/N` and `offsets/N.lookup`.
struct RecordLookup {
  enum class Outcome {
    kPresent,
    kControl,    // a transaction marker or another control record
    kCompacted,  // a gap: no record bears this offset any more
    kBelowLogStart,
    kPastLogEnd,          // at or past the log end offset
    kDamaged,             // its batch can't be read; `reason` says why
    kAboveHighWatermark,  // in the log, but hidden (Options::until_high_watermark)
  };
  Outcome outcome = Outcome::kPastLogEnd;
  // kPresent, kControl: what `record` views is kept by `bytes`.
  Record record;
  std::shared_ptr<const void> bytes;
  Offset batch_base_offset{};  // of the batch's first record: a legacy wrapper's header has none
  std::optional<BatchPlace> place;  // of the batch that holds N, or the first after it
  std::optional<Offset> next;       // the offset a consumer that seeks to N reads next
  std::string reason;               // one sentence
};

// What a time leads to.
struct TimeLookup {
  std::optional<Offset> kafka;   // offsetsForTimes' answer: may be a marker, or none
  std::optional<Offset> record;  // the first visible record at or after X (namespace.md, "Times")
  std::optional<BatchPlace> place;
};

// The largest timestamp of a segment, as retention and `offsetsForTimes` take it.
struct SegmentTimestamp {
  TimestampMs largest = kNoTimestamp;  // of its batches; kNoTimestamp: none has any
  TimestampMs mtime = kNoTimestamp;    // of its `.log`: what a broker goes by then
};

// The log of one topic partition: its segments in base-offset order, and lookups across them.
//
// Readers work on a snapshot: replaced as a whole when the directory changed, never edited. A
// segment in use stays readable after retention has unlinked it. Any thread; no lock is held across
// I/O.
//
// The directory is looked at (its mtime) once in kRecheckMs at most; the active segment's size at
// every call that depends on the log end. What seems to be beyond the end, or gone, is looked for
// in a fresh listing before that is answered. refresh() looks at once: for those who were told of a
// change. Of a source that is slow to answer the last listing counts until then.
class PartitionLog {
 public:
  static constexpr std::int64_t kRecheckMs = 50;

  struct Options {
    DecodeLimits limits;
    bool show_control = false;  // control records are visible (-o control)
    // Lookups end at the high watermark; where none is known, at the log start. The segments
    // themselves are what they are.
    bool until_high_watermark = false;
  };
  // What all partitions of a mount share.
  struct Shared {
    std::shared_ptr<OpenSegments> open_segments;
    std::shared_ptr<BatchCache> batches;
    std::shared_ptr<Problems> problems;
    Options options;
  };

  // `below`: the partition's directory in `dir`; "" if it is `dir` itself. `files` null: there is
  // no log directory to ask for checkpoints.
  PartitionLog(std::shared_ptr<const SourceDir> dir, std::string below,
               TopicPartition topic_partition, std::shared_ptr<const LogDirFiles> files,
               Shared shared, DirState state = DirState::kLive);
  ~PartitionLog();
  PartitionLog(const PartitionLog&) = delete;
  PartitionLog& operator=(const PartitionLog&) = delete;

  const TopicPartition& topic_partition() const { return topic_partition_; }
  // Where it lies: other files of the partition are read through these. The directory may be
  // renamed under a log that is in use (to -delete, or from -future).
  const std::shared_ptr<const SourceDir>& dir() const { return dir_; }
  std::string below(const std::string& file) const;
  // The whole of a small file beside the segments; nothing if there is none. One that is no regular
  // file (a link is never followed) is none, and named in problems.
  Result<std::optional<std::string>> read_beside(const std::string& name,
                                                 std::size_t limit_bytes) const;
  // The same, opened: null if there is none.
  Result<std::unique_ptr<File>> open_beside(const std::string& name) const;
  void moved_to(std::string below, DirState state) const;
  // What the directory's name says. To one that is deleted nothing is appended any more.
  DirState state() const { return state_; }
  // The broker whose directory this is; nothing where meta.properties doesn't tell.
  std::optional<std::int32_t> node_id() const;
  const Options& options() const { return shared_.options; }

  // Live segments by base offset, start-up resolution (.swap, .cleaned, .deleted) already applied
  // in memory; and the others, which are part of no view but their own directory.
  std::shared_ptr<const std::vector<SegmentEntry>> segments() const;
  std::shared_ptr<const std::vector<SegmentEntry>> set_aside() const;
  std::shared_ptr<const SegmentList> segment_list() const;
  // Opens a segment, or finds it among the open ones (a bounded number stays open). kNotFound:
  // gone.
  Result<std::shared_ptr<const Segment>> segment(const SegmentEntry& entry) const;
  // The end of the whole batches of a segment: its file size where sealed and sound. A last batch
  // with a bad CRC is left out on the active segment while it may still be being written: where
  // that was written to in the last seconds, and the batch begins at or above the high watermark
  // and the recovery point that are checkpointed. Else it is left in (as damage).
  Result<Position> valid_end(const SegmentEntry& entry) const;
  // The same, but before the first batch that begins at or above `next_base_offset`, the next
  // segment's: a search by offset comes to what lies there in that segment, so it counts there. The
  // last batch below may reach over it. A log whose segments overlap so is named in problems.
  Result<Position> valid_end_below(const SegmentEntry& entry, Offset next_base_offset) const;
  static constexpr Offset kNoNextSegment{INT64_MAX};
  // What was lost off the end of a segment that is not the last: bytes lie there that are no whole
  // batch, and the offsets from there to the next segment's are nowhere. Named in problems.
  Result<std::optional<Damage>> lost_behind(const SegmentEntry& entry,
                                            Offset next_base_offset) const;
  Result<SegmentTail> tail(const SegmentEntry& entry) const;
  Result<SegmentTimestamp> largest_timestamp(const SegmentEntry& entry) const;

  Result<LogOffsets> offsets() const;
  // One of them, without a look at any segment.
  Offset log_start_offset() const;

  // How often something of the log was taken away or replaced (retention, compaction, a
  // truncation), as far as was noticed: where it did not move, all that was read before still
  // stands.
  std::uint64_t losses() const { return losses_.load(std::memory_order_acquire); }
  // Something else made void what was told of the log: modes or owners of its files changed.
  void count_loss() const { losses_.fetch_add(1, std::memory_order_release); }
  // Told by whoever writes this log in this process, after each append: what is below `end` is in
  // the log. The writer is its sole replica, and a sole replica's high watermark is its log's end;
  // the checkpoint, which it writes once a minute, may be behind that, and then counts no more.
  void count_as_replicated(Offset end) const;

  // Floor search over segment names, binary search in the sparse index, short scan. An Error is an
  // I/O failure; everything else is an outcome.
  Result<RecordLookup> find(Offset offset) const;
  // The same, found anew and not in a cache: what it took (`place`) depends on the files alone.
  Result<RecordLookup> find_afresh(Offset offset) const;
  // The first visible record at or after `offset`: none at the log end. kCorrupt: damage lies
  // before it (damage is never passed over in silence).
  Result<std::optional<Offset>> seek(Offset offset) const;
  Result<std::optional<Offset>> first_record() const;
  Result<std::optional<Offset>> last_record() const;
  // Damaged batches have no time and are passed over. The mount's answer is exact by the batches'
  // headers; of a time index it believes what Segment::max_timestamp says.
  Result<TimeLookup> find_time(TimestampMs target) const;

  // Lists the directory now if it changed. True if it had.
  bool refresh() const;

 private:
  // Long ago on any clock, yet a time that can be subtracted.
  static constexpr std::int64_t kNeverChecked = INT64_MIN / 2;

  struct Snapshot;
  struct Reading;
  struct ActiveTail;
  struct Times;
  struct ActiveTimes;
  enum class Damaged { kFail, kPassOver };
  enum class Caching { kUse, kNone };

  struct Replaced {  // a segment whose file is another one now, or gone
    SegmentEntry entry;
    Offset next{};  // its offsets: [entry.base_offset, next)
  };
  std::shared_ptr<const Snapshot> snapshot() const;  // at most kRecheckMs old
  // As the directory is now; `list`: whatever its mtime says. `outrun` (may be null): somebody else
  // who looked at the same time was faster, and may have looked earlier.
  std::shared_ptr<const Snapshot> look_again(bool list = false, bool* outrun = nullptr) const;
  // False: the directory can't be listed.
  bool list_into(Snapshot& fresh, const std::string& directory) const;
  std::optional<Offset> next_offset_of_swap(Offset base_offset) const;
  std::shared_ptr<const Snapshot> publish(const std::shared_ptr<const Snapshot>& old,
                                          const std::shared_ptr<Snapshot>& fresh,
                                          std::int64_t now) const;
  static std::vector<Replaced> compare(const Snapshot& old, Snapshot& fresh);
  static void count_generations(const Snapshot& old, Snapshot& fresh);

  Result<std::shared_ptr<const Segment>> open_segment(const SegmentEntry& entry) const;
  LogDirFiles::Checkpointed checkpointed() const;  // the high watermark as above
  bool is_checkpointed() const;
  Offset log_start(const Reading& reading) const;
  Result<Offset> log_end(const Reading& reading) const;
  Result<Offset> readable_end(const Reading& reading) const;
  static Offset high_watermark(const LogDirFiles::Checkpointed& checkpointed, Offset log_start,
                               Offset log_end);
  Result<SegmentTail> active_tail(const Reading& reading) const;
  Offset settled_offset(const FileInfo& log) const;
  Result<SegmentTail> look_at_active_tail(const SegmentEntry& entry) const;
  Result<SegmentTail> sealed_tail(const SegmentEntry& entry) const;
  Result<Position> search_limit(const Reading& reading, std::size_t index,
                                const Segment& segment) const;
  void report_overlap(const SegmentEntry& entry, Offset next_base_offset, Position end) const;

  // What stands at an offset, over segments: the first batch with last_offset >= target, or damage.
  struct Hit;
  Result<Hit> locate(const Reading& reading, Offset target, Caching caching) const;
  Result<RecordLookup> find_once(Offset offset, Caching caching) const;
  std::optional<RecordLookup> find_in_checked(const Reading& reading, Offset offset) const;
  void remember_checked(const Segment& segment, const CachedBatch& batch,
                        std::uint64_t forgets) const;
  Result<RecordLookup> judge(const Reading& reading, Offset offset, const Hit& hit,
                             Caching caching) const;
  void report(const BatchPlace& place, const std::string& what) const;
  Result<std::optional<Offset>> seek_once(const Reading& reading, Offset offset,
                                          Damaged damaged) const;
  Result<std::optional<Offset>> seek_in_log(const Reading& reading, Offset offset,
                                            Damaged damaged) const;
  Result<std::optional<Offset>> shown(const Reading& reading, std::optional<Offset> found) const;
  Result<std::optional<Offset>> last_once(const Reading& reading) const;
  Result<std::optional<Offset>> last_below(const Reading& reading, Offset end) const;
  Result<std::optional<Offset>> last_in_segment(const Reading& reading, std::size_t index,
                                                Offset end) const;
  Result<std::optional<Offset>> last_in(const Segment& segment, const BatchPlace& place,
                                        Offset end) const;
  Result<TimeLookup> find_time_once(TimestampMs target) const;
  Result<std::optional<Offset>> first_at_time(const Reading& reading, std::size_t index,
                                              TimestampMs target, Offset from,
                                              std::optional<BatchPlace>& place) const;
  Result<Times> times_of(const Reading& reading, std::size_t index) const;
  Result<TimestampMs> largest_of_active(const Reading& reading, const Segment& segment) const;
  enum class By { kLargest, kKafka };
  Result<std::size_t> first_segment_at(const Reading& reading, TimestampMs target, By by) const;
  Result<std::shared_ptr<const CachedBatch>> read_through_cache(const Segment& segment,
                                                                const BatchPlace& place,
                                                                Offset next_base_offset) const;
  template <class Call>
  auto retried(const Call& call) const -> decltype(call());

  const std::shared_ptr<const SourceDir> dir_;
  const TopicPartition topic_partition_;
  const std::shared_ptr<const LogDirFiles> files_;
  const Shared shared_;
  const std::uint64_t owner_;

  mutable Mutex mutex_;
  mutable std::string below_ GUARDED_BY(mutex_);  // with a slash at its end, or empty
  mutable std::shared_ptr<const Snapshot> snapshot_ GUARDED_BY(mutex_);
  // The directory's, once seen: another one under its name is another incarnation's, where numbers
  // are stable.
  mutable std::optional<ino_t> dir_ino_ GUARDED_BY(mutex_);
  mutable std::shared_ptr<const ActiveTail> active_tail_ GUARDED_BY(mutex_);
  mutable std::shared_ptr<const ActiveTimes> active_times_ GUARDED_BY(mutex_);
  struct SealedTail {
    ino_t ino = 0;
    std::int64_t size_bytes = 0;
    SegmentTail tail;
  };
  mutable std::unordered_map<Offset, SealedTail> sealed_tails_ GUARDED_BY(mutex_);  // bounded
  mutable std::atomic<std::int64_t> checked_ms_ = kNeverChecked;
  mutable std::atomic<DirState> state_;
  mutable std::atomic<std::int64_t> replicated_end_ = -1;  // -1: others write the log, or nobody
  mutable std::atomic<std::uint64_t> losses_ = 0;
};

}  // namespace offsetfs::storage
