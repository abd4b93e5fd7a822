#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "storage/leader_epochs.h"
#include "storage/log_config.h"
#include "storage/log_dir_writer.h"
#include "storage/log_recovery.h"
#include "storage/mutex.h"
#include "storage/producer_state.h"
#include "storage/result.h"
#include "storage/segment_writer.h"
#include "storage/topic_partition.h"
#include "storage/units.h"
#include "storage/uuid.h"
#include "storage/write_dir.h"

namespace offsetfs::storage {

// Appends to the log of one partition, in a directory that is ours and that a broker can load.
//
// What is written, and when, is as a sole replica's leader does it: base offset and leader epoch
// put into each batch, LogAppendTime where that is configured, index entries by the rules of
// index_writer.h, a roll before the append that does not fit, `leader-epoch-checkpoint` when an
// epoch begins, a producer snapshot at each roll and at a clean stop. Indexes of the active segment
// are preallocated (sparse) to segment.index.bytes, and trimmed at the roll and at the end. Unlike
// a broker, a roll makes the old segment durable before the new one is made: so a crash can tear
// the active segment only.
//
// A roll comes before an append, if one of these holds (there is no timer):
//   the segment has bytes, and with these would exceed segment.bytes
//   it has bytes, and the append's max timestamp lies more than segment.ms (less a jitter drawn for
//     each segment) past that of the segment's first batch; without timestamps the clock counts,
//     from when the segment was made or opened
//   an index is full
//   an offset would lie more than 2^31 - 1 past the segment's base
//
// With `preallocate` a new segment's `.log` has segment.bytes of zeros up to then as well. What is
// appended is made durable by flush(), at rolls, and by flush.messages and flush.ms. A batch is
// stored as it comes: compression.type and message.timestamp.*.max.ms are for whoever makes it.
//
// Any thread: appends are taken one after the other, a batch is never interleaved.
// Source: Kafka 4.3.1, UnifiedLog, LogSegment, LocalLog.
class LogWriter {
 public:
  struct Options {
    LogConfig config;
    std::optional<LeaderEpoch> leader_epoch;  // nothing: the log's latest, or 0
    std::optional<Uuid> topic_id;             // for partition.metadata, where there is none
    std::function<TimestampMs()> now;         // null: the system's clock
    std::uint64_t jitter_seed = 0;            // for segment.jitter.ms
    // A compacted log takes records without a key, as one that was not always compacted has them.
    bool allow_missing_keys = false;
  };
  struct Appended {
    Offset base_offset{};
    Offset last_offset{};
    bool rolled = false;
  };

  // The least segment.bytes, as in Kafka 4: less is kInvalid, in Kafka's words.
  static constexpr std::int64_t kLeastSegmentBytes = 1 << 20;
  static Result<void> check_config(const LogConfig& config);

  // Makes the log, or recovers it (log_recovery.h) and goes on. `log_dir` null: there are no
  // checkpoints, everything is walked. `report` may be null. The log is unclean from here to
  // close().
  static Result<std::unique_ptr<LogWriter>> open(std::shared_ptr<WriteDir> dir,
                                                 std::shared_ptr<LogDirWriter> log_dir,
                                                 TopicPartition topic_partition, Options options,
                                                 RecoveryReport* report);
  // Without close() this is a crash.
  ~LogWriter();

  // One whole batch of magic 2, changed in place (offset, epoch, append time). In a compacted log
  // each record has a key (Options). kInvalid: no such
  // batch, or one that breaks its own header; kTooLarge: beyond max.message.bytes or segment.bytes;
  // kIo (ENOSPC, EIO): nothing was appended, and the next try may succeed; kReadOnly: what was
  // written half could not be cut away, or a sync failed, or the active segment was removed by
  // somebody else, or the log is closed: to be opened again.
  Result<Appended> append(std::span<char> batch);

  // Everything appended before this call is durable after it. Moves the recovery point. Once a
  // sync has failed, whoever asked for it, this fails for good, and so does close().
  Result<void> flush();
  // The same once flush.ms have gone by since the last time, if there is something to flush: what
  // an owner calls now and then.
  Result<void> flush_if_due(TimestampMs at);
  // Writes the log directory's checkpoints: what an owner does every minute, as a broker does, so
  // that a crash need not be followed by a walk from the log's start.
  Result<void> checkpoint_offsets();
  // Seals the active segment's files, writes the producer snapshot and the log directory's
  // checkpoints. The mark is the LogDirWriter's to write.
  Result<void> close();

  // Seals the active segment and begins another at the log's end, unless it is empty.
  Result<void> roll();

  std::vector<WrittenSegment> segments() const;  // the last is active
  Offset log_start_offset() const;
  Offset log_end_offset() const;
  Offset recovery_point() const;
  const TopicPartition& topic_partition() const { return topic_partition_; }
  LogConfig config() const { return options_.config; }
  TimestampMs mtime_of(const WrittenSegment& segment) const;  // of its `.log`

  // --- For retention (log_retention.h) -----------------------------------------------------------

  // DeleteRecords: the log begins at `offset` (at or below its end) from now on.
  Result<void> raise_log_start(Offset offset);
  // Takes the segments that end at or below `end` out of the log, the oldest first, by renaming
  // their files to .deleted, in Kafka's order; where that is all of them, an empty segment at the
  // log's end is begun before the last one goes. An active segment that has grown past `end` since
  // the caller looked stays. The log start and the first leader epoch are raised, and checkpointed.
  // `renamed` gets the names, which unlink_deleted takes when their delay is over: after a failure
  // too, for what was renamed is gone from the log. The others are still in it, to be tried again;
  // a start that could not be checkpointed is with the next checkpoint.
  Result<void> remove_segments(Offset end, std::vector<std::string>& renamed);
  Result<void> unlink_deleted(const std::string& name);

  // --- For compaction (log_compaction.h) ---------------------------------------------------------

  WriteDir& dir() const { return *dir_; }
  // Below it every transaction has ended.
  Offset last_stable_offset() const;
  std::vector<ProducerSnapshotEntry> producers() const;
  // The first offset that was never cleaned, as the log directory's checkpoint has it.
  std::optional<Offset> first_dirty_offset() const;
  Result<void> checkpoint_first_dirty(Offset offset);
  // Puts `cleaned`, whose files are written and durable and bear `.cleaned`, in the place of the
  // sealed segments with these base offsets, whose files are renamed to .deleted: through `.swap`,
  // as a broker does it, so that a crash leaves the one or the other. The names, for
  // unlink_deleted. kOutOfRange: those segments are no longer there; nothing was changed. Any other
  // failure is for good: the next opening settles it.
  Result<std::vector<std::string>> replace_segments(const std::vector<Offset>& base_offsets,
                                                    const WrittenSegment& cleaned);

 private:
  LogWriter(std::shared_ptr<WriteDir> dir, std::shared_ptr<LogDirWriter> log_dir,
            TopicPartition topic_partition, Options options);

  Result<void> take_over(RecoveredLog recovered) REQUIRES(mutex_);
  Error fail_for_good(Error error) REQUIRES(mutex_);
  Result<void> check_usable() REQUIRES(mutex_);
  Result<void> check(Bytes batch, BatchHeader& header) const;
  Result<void> check_keys(Bytes batch) const;
  bool must_roll(const BatchHeader& header) const REQUIRES(mutex_);
  Result<void> roll_locked() REQUIRES(mutex_);
  Result<void> flush_locked() REQUIRES(mutex_);
  Result<void> begin_epoch(LeaderEpoch epoch) REQUIRES(mutex_);
  Result<void> write_epochs() REQUIRES(mutex_);
  Result<void> write_snapshot() REQUIRES(mutex_);
  Result<void> checkpoint() REQUIRES(mutex_);
  void begin_log_at(Offset offset) REQUIRES(mutex_);
  Offset first_base_offset() const REQUIRES(mutex_);
  Result<void> take_out_sealed(Offset end, std::vector<std::string>& renamed) REQUIRES(mutex_);
  Result<void> swap_in(const std::vector<Offset>& base_offsets, std::vector<std::string>& renamed)
      REQUIRES(mutex_);
  Result<void> rename_to_deleted(const std::string& name, std::vector<std::string>& renamed)
      REQUIRES(mutex_);
  void draw_jitter() REQUIRES(mutex_);
  TimestampMs now() const;

  const std::shared_ptr<WriteDir> dir_;
  const std::shared_ptr<LogDirWriter> log_dir_;  // may be null
  const TopicPartition topic_partition_;
  const Options options_;

  mutable Mutex mutex_;
  std::vector<WrittenSegment> sealed_ GUARDED_BY(mutex_);
  std::unique_ptr<SegmentWriter> active_ GUARDED_BY(mutex_);
  ProducerState producers_ GUARDED_BY(mutex_);
  Offset snapshot_offset_ GUARDED_BY(mutex_){-1};
  LeaderEpochs leader_epochs_ GUARDED_BY(mutex_);
  LeaderEpoch epoch_ GUARDED_BY(mutex_);
  Offset log_start_offset_ GUARDED_BY(mutex_);
  // False: it was raised, and the leader epochs or the checkpoint of it were not written since.
  bool start_is_written_ GUARDED_BY(mutex_) = true;
  Offset recovery_point_ GUARDED_BY(mutex_);
  std::optional<Offset> first_dirty_offset_ GUARDED_BY(mutex_);
  TimestampMs segment_created_ GUARDED_BY(mutex_);
  TimestampMs flushed_at_ GUARDED_BY(mutex_);
  std::int64_t jitter_ms_ GUARDED_BY(mutex_) = 0;
  std::mt19937_64 random_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;           // cleanly
  std::optional<Error> failure_ GUARDED_BY(mutex_);  // for good
};

}  // namespace offsetfs::storage
