#include "storage/log_writer.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "storage/batch_builder.h"
#include "storage/check.h"
#include "storage/partition_metadata.h"
#include "storage/record_batch.h"
#include "storage/segment_files.h"

namespace offsetfs::storage {
namespace {

constexpr const char* kLeaderEpochs = "leader-epoch-checkpoint";
constexpr const char* kPartitionMetadata = "partition.metadata";

std::string file_of(Offset base_offset, SegmentFile file) {
  return segment_file_name({base_offset, file, SegmentSuffix::kNone});
}

std::string in_bytes(std::int64_t bytes) { return std::to_string(bytes) + " bytes"; }

}  // namespace

Result<void> LogWriter::check_config(const LogConfig& config) {
  if (config.segment_bytes < kLeastSegmentBytes)
    return fail(Errc::kInvalid, "Invalid value " + std::to_string(config.segment_bytes) +
                                    " for configuration segment.bytes: Value must be at least " +
                                    std::to_string(kLeastSegmentBytes));
  if (config.segment_bytes > INT32_MAX)
    return fail(Errc::kInvalid, "segment.bytes " + std::to_string(config.segment_bytes) +
                                    ": positions in a segment are 32 bits wide");
  // Kafka takes 4 to 11 and then can't make a log with them: a time index has no slot.
  if (config.segment_index_bytes < 12)
    return fail(Errc::kInvalid, "segment.index.bytes " +
                                    std::to_string(config.segment_index_bytes) +
                                    ": a time index needs 12 bytes at least");
  return {};
}

LogWriter::LogWriter(std::shared_ptr<WriteDir> dir, std::shared_ptr<LogDirWriter> log_dir,
                     TopicPartition topic_partition, Options options)
    : dir_(std::move(dir)),
      log_dir_(std::move(log_dir)),
      topic_partition_(std::move(topic_partition)),
      options_(std::move(options)),
      random_(options_.jitter_seed) {}

LogWriter::~LogWriter() = default;

Result<std::unique_ptr<LogWriter>> LogWriter::open(std::shared_ptr<WriteDir> dir,
                                                   std::shared_ptr<LogDirWriter> log_dir,
                                                   TopicPartition topic_partition, Options options,
                                                   RecoveryReport* report) {
  RETURN_IF_ERROR(check_config(options.config));
  RecoveryOptions recovery;
  recovery.config = options.config;
  std::optional<Offset> first_dirty_offset;
  if (log_dir) {
    const auto checkpointed = log_dir->checkpointed(topic_partition);
    recovery.recovery_point = checkpointed.recovery_point;
    recovery.high_watermark = checkpointed.high_watermark;
    recovery.log_start_offset = checkpointed.log_start_offset;
    recovery.first_dirty_offset = checkpointed.first_dirty_offset;
    recovery.clean = log_dir->opened(topic_partition);
    first_dirty_offset = checkpointed.first_dirty_offset;
  }
  ASSIGN_OR_RETURN(RecoveredLog recovered, recover_log(*dir, recovery));
  if (report != nullptr) *report = recovered.report;
  std::unique_ptr<LogWriter> writer(new LogWriter(std::move(dir), std::move(log_dir),
                                                  std::move(topic_partition), std::move(options)));
  const MutexLock guard(writer->mutex_);
  writer->first_dirty_offset_ = first_dirty_offset;
  RETURN_IF_ERROR(writer->take_over(std::move(recovered)));
  return writer;
}

Result<void> LogWriter::take_over(RecoveredLog recovered) {
  if (options_.topic_id && !dir_->info(kPartitionMetadata))
    RETURN_IF_ERROR(
        dir_->replace(kPartitionMetadata, render_partition_metadata({0, *options_.topic_id})));
  ASSIGN_OR_RETURN(active_, SegmentWriter::open(*dir_, recovered.segments.back(), options_.config));
  recovered.segments.pop_back();
  sealed_ = std::move(recovered.segments);
  producers_ = std::move(recovered.producers);
  snapshot_offset_ = recovered.snapshot_offset;
  leader_epochs_ = std::move(recovered.leader_epochs);
  log_start_offset_ = recovered.log_start_offset;
  recovery_point_ = recovered.recovery_point;
  segment_created_ = flushed_at_ = now();
  draw_jitter();
  return begin_epoch(
      options_.leader_epoch.value_or(leader_epochs_.latest().value_or(LeaderEpoch{0})));
}

TimestampMs LogWriter::now() const {
  if (options_.now) return options_.now();
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

void LogWriter::draw_jitter() {
  const auto bound = std::min(options_.config.segment_jitter_ms, options_.config.segment_ms);
  jitter_ms_ = bound <= 0 ? 0 : std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random_);
}

// A leader notes its epoch before it has written anything.
Result<void> LogWriter::begin_epoch(LeaderEpoch epoch) {
  if (const auto latest = leader_epochs_.latest(); latest && epoch < *latest)
    return fail(Errc::kInvalid, topic_partition_.to_string() + ": leader epoch " +
                                    std::to_string(epoch.value) + ", the log has " +
                                    std::to_string(latest->value) + " already");
  epoch_ = epoch;
  if (!leader_epochs_.assign(epoch, active_->segment().next_offset)) return {};
  return write_epochs();
}

Result<void> LogWriter::write_epochs() {
  return dir_->replace(kLeaderEpochs, render_leader_epochs(leader_epochs_));
}

Error LogWriter::fail_for_good(Error error) {
  if (!failure_) {
    failure_ = std::move(error);
    failure_->what +=
        "; what was written since the last sync may be lost, and the log must be "
        "opened anew";
  }
  return *failure_;
}

Result<void> LogWriter::check_usable() {
  if (active_->is_broken() && !failure_)
    (void)fail_for_good(
        {Errc::kReadOnly, 0,
         topic_partition_.to_string() + ": half an append could not be taken back"});
  if (!failure_ && !closed_ && !active_->has_name()) {
    const std::string name = file_of(active_->segment().base_offset, SegmentFile::kLog);
    (void)fail_for_good(
        {Errc::kIo, ESTALE, dir_->name_of(name) + ": was removed while it was written"});
  }
  if (failure_) return fail(Errc::kReadOnly, failure_->what);
  if (closed_) return fail(Errc::kReadOnly, topic_partition_.to_string() + ": closed");
  return {};
}

Result<void> LogWriter::check(Bytes batch, BatchHeader& header) const {
  const auto size = static_cast<std::int64_t>(batch.size());
  std::string why;
  switch (parse_batch_header(batch, header, &why)) {
    case HeaderStatus::kOk: break;
    case HeaderStatus::kDamaged: return fail(Errc::kInvalid, "no record batch: " + why);
    case HeaderStatus::kNeedMore:
    case HeaderStatus::kZeros:
      return fail(Errc::kInvalid, "no record batch: " + in_bytes(size) + " without a header");
  }
  if (!header.is_v2())
    return fail(Errc::kInvalid,
                "a batch of magic " + std::to_string(header.magic) + ", expected 2");
  if (header.size_bytes != size)
    return fail(Errc::kInvalid, "a batch of " + in_bytes(header.size_bytes) +
                                    " by its header, found " + in_bytes(size));
  if (header.max_timestamp < kNoTimestamp || header.base_timestamp < kNoTimestamp)
    return fail(Errc::kInvalid,
                "a batch with a timestamp of " +
                    std::to_string(std::min(header.base_timestamp, header.max_timestamp).value) +
                    ", expected -1 (none) or more");
  if (header.codec_id() > 4)
    return fail(Errc::kUnsupported, "codec " + std::to_string(header.codec_id()));
  if (size > options_.config.max_message_bytes)
    return fail(Errc::kTooLarge, "The record batch size is " + in_bytes(size) +
                                     " which exceeds the maximum configured value of " +
                                     std::to_string(options_.config.max_message_bytes) +
                                     " (max.message.bytes)");
  if (size > options_.config.segment_bytes)
    return fail(Errc::kTooLarge, "Message batch size is " + in_bytes(size) +
                                     " which exceeds the maximum configured segment size of " +
                                     std::to_string(options_.config.segment_bytes));
  if (compute_batch_crc(header, batch) != header.crc)
    return fail(Errc::kInvalid, "a batch whose CRC does not match its bytes");
  if (options_.config.cleanup_policy.compact && !options_.allow_missing_keys &&
      !header.is_control())
    return check_keys(batch);
  return {};
}

// A record without a key would be taken at the first compaction.
Result<void> LogWriter::check_keys(Bytes batch) const {
  ASSIGN_OR_RETURN(const auto decoded, DecodedBatch::decode(batch));
  RecordReader records = decoded->records();
  Record record;
  for (;;) {
    const auto step = records.next(record);
    if (step == RecordReader::Step::kEnd) return {};
    if (step == RecordReader::Step::kCorrupt)
      return fail(Errc::kInvalid, "a batch that can't be read: " + records.why());
    if (!record.key)
      return fail(Errc::kInvalid,
                  "Compacted topic cannot accept message without key in topic partition " +
                      topic_partition_.to_string() + ".");
  }
}

Result<LogWriter::Appended> LogWriter::append(std::span<char> batch) {
  BatchHeader header;
  const Bytes bytes(batch.data(), batch.size());
  RETURN_IF_ERROR(check(bytes, header));
  const std::int64_t last_delta = header.last_offset - header.base_offset;

  const MutexLock guard(mutex_);
  RETURN_IF_ERROR(check_usable());
  Appended appended;
  appended.base_offset = active_->segment().next_offset;
  appended.last_offset = appended.base_offset + last_delta;
  assign_offsets(batch, appended.base_offset, epoch_);
  if (options_.config.log_append_time) assign_append_time(batch, now());
  CHECK(parse_batch_header(bytes, header, nullptr) == HeaderStatus::kOk);
  if (must_roll(header)) {
    if (auto rolled = roll_locked(); !rolled) {
      RETURN_IF_ERROR(check_usable());
      return fail(std::move(rolled.error()));
    }
    appended.rolled = true;
  }
  const auto aborted = producers_.note(header, bytes);
  if (auto written = active_->append(header, bytes, aborted); !written) {
    producers_.take_back();
    return fail(std::move(written.error()));
  }
  if (appended.last_offset - recovery_point_ + 1 >= options_.config.flush_messages) {
    if (auto flushed = flush_locked(); !flushed) {
      // It is in the log, and may be lost: nobody can be told that it is neither.
      return fail(check_usable().error());
    }
  }
  return appended;
}

bool LogWriter::must_roll(const BatchHeader& header) const {
  const WrittenSegment& segment = active_->segment();
  const LogConfig& config = options_.config;
  if (segment.size_bytes + header.size_bytes > config.segment_bytes) return segment.size_bytes > 0;
  if (active_->indexes_are_full()) return true;
  if (header.last_offset - segment.base_offset > INT32_MAX) return true;
  if (segment.size_bytes == 0) return false;
  const std::int64_t roll_ms =
      (config.cleanup_policy.compact ? std::min(config.max_compaction_lag_ms, config.segment_ms)
                                     : config.segment_ms) -
      jitter_ms_;
  const TimestampMs first = segment.first_timestamp.value_or(kNoTimestamp);
  const std::int64_t waited =
      first.value >= 0 ? header.max_timestamp - first : now() - segment_created_;
  return waited > roll_ms;
}

Result<void> LogWriter::roll() {
  const MutexLock guard(mutex_);
  RETURN_IF_ERROR(check_usable());
  return active_->segment().size_bytes == 0 ? Result<void>{} : roll_locked();
}

// The old one is durable before the new one is there. If making the new one fails, the old one is
// opened again, and the next append tries anew.
Result<void> LogWriter::roll_locked() {
  if (auto done = active_->seal(); !done)
    return fail(active_->is_broken() ? fail_for_good(std::move(done.error())) : done.error());
  const WrittenSegment sealed = active_->segment();
  auto fresh = SegmentWriter::create(*dir_, sealed.next_offset, options_.config);
  if (!fresh) {
    // An empty segment left there would lie in the middle of what is appended to the old one.
    if (!dir_->unlink_if_there(file_of(sealed.next_offset, SegmentFile::kLog)))
      return fail(fail_for_good(std::move(fresh.error())));
    auto again = SegmentWriter::open(*dir_, sealed, options_.config);
    if (!again) return fail(fail_for_good(std::move(again.error())));
    active_ = std::move(*again);
    return fail(std::move(fresh.error()));
  }
  sealed_.push_back(sealed);
  active_ = std::move(*fresh);
  recovery_point_ = sealed.next_offset;
  segment_created_ = flushed_at_ = now();
  draw_jitter();
  return write_snapshot();
}

Result<void> LogWriter::write_snapshot() {
  const Offset end = active_->segment().next_offset;
  if (end == snapshot_offset_ || (sealed_.empty() && active_->segment().size_bytes == 0)) return {};
  RETURN_IF_ERROR(
      dir_->replace(file_of(end, SegmentFile::kProducerSnapshot), producers_.snapshot()));
  snapshot_offset_ = end;
  return {};
}

Result<void> LogWriter::flush() {
  const MutexLock guard(mutex_);
  return flush_locked();
}

Result<void> LogWriter::flush_locked() {
  if (closed_) return {};
  if (auto usable = check_usable(); !usable) return fail(failure_.value_or(usable.error()));
  if (auto synced = active_->sync_log(); !synced)
    return fail(fail_for_good(std::move(synced.error())));
  recovery_point_ = active_->segment().next_offset;
  flushed_at_ = now();
  return {};
}

Result<void> LogWriter::flush_if_due(TimestampMs at) {
  const MutexLock guard(mutex_);
  const bool something = recovery_point_ < active_->segment().next_offset;
  if (!something || at - flushed_at_ < options_.config.flush_ms) return {};
  return flush_locked();
}

Result<void> LogWriter::checkpoint() {
  if (!start_is_written_) RETURN_IF_ERROR(write_epochs());
  if (log_dir_) {
    const auto log_start = log_start_offset_ > first_base_offset()
                               ? std::optional<Offset>(log_start_offset_)
                               : std::nullopt;
    RETURN_IF_ERROR(log_dir_->checkpoint(topic_partition_, recovery_point_, log_start));
  }
  start_is_written_ = true;
  return {};
}

Result<void> LogWriter::checkpoint_offsets() {
  const MutexLock guard(mutex_);
  if (failure_) return fail(*failure_);
  return closed_ ? Result<void>{} : checkpoint();
}

Result<void> LogWriter::close() {
  const MutexLock guard(mutex_);
  if (closed_) return {};
  if (failure_) return fail(*failure_);
  RETURN_IF_ERROR(check_usable());
  if (auto done = active_->seal(); !done)
    return fail(active_->is_broken() ? fail_for_good(std::move(done.error())) : done.error());
  RETURN_IF_ERROR(write_snapshot());
  if (auto synced = dir_->sync_dir(); !synced)
    return fail(fail_for_good(std::move(synced.error())));
  recovery_point_ = active_->segment().next_offset;
  RETURN_IF_ERROR(checkpoint());
  closed_ = true;
  if (log_dir_) log_dir_->closed_cleanly(topic_partition_);
  return {};
}

std::vector<WrittenSegment> LogWriter::segments() const {
  const MutexLock guard(mutex_);
  std::vector<WrittenSegment> all = sealed_;
  all.push_back(active_->segment());
  return all;
}

Offset LogWriter::log_start_offset() const {
  const MutexLock guard(mutex_);
  return log_start_offset_;
}

Offset LogWriter::log_end_offset() const {
  const MutexLock guard(mutex_);
  return active_->segment().next_offset;
}

Offset LogWriter::recovery_point() const {
  const MutexLock guard(mutex_);
  return recovery_point_;
}

TimestampMs LogWriter::mtime_of(const WrittenSegment& segment) const {
  const auto info = dir_->info(file_of(segment.base_offset, SegmentFile::kLog));
  return info ? TimestampMs{info->mtime_ns / 1'000'000} : kNoTimestamp;
}

Result<void> LogWriter::raise_log_start(Offset offset) {
  const MutexLock guard(mutex_);
  const Offset end = active_->segment().next_offset;
  if (offset > end)
    return fail(Errc::kOutOfRange, topic_partition_.to_string() + ": the log ends at " +
                                       std::to_string(end.value) + ", before " +
                                       std::to_string(offset.value));
  begin_log_at(offset);
  return start_is_written_ ? Result<void>{} : checkpoint();
}

void LogWriter::begin_log_at(Offset offset) {
  if (offset <= log_start_offset_) return;
  log_start_offset_ = offset;
  leader_epochs_.truncate_from_start(offset);
  start_is_written_ = false;
}

Offset LogWriter::first_base_offset() const {
  return sealed_.empty() ? active_->segment().base_offset : sealed_.front().base_offset;
}

// Renaming takes no room, all that comes after it does: on a full disk room is made all the same.
// The roll comes late for that reason too.
Result<void> LogWriter::remove_segments(Offset end, std::vector<std::string>& renamed) {
  const MutexLock guard(mutex_);
  RETURN_IF_ERROR(check_usable());
  auto taken = take_out_sealed(end, renamed);
  const WrittenSegment& active = active_->segment();
  if (taken && active.next_offset <= end && active.size_bytes > 0) {
    taken = roll_locked();
    if (taken) taken = take_out_sealed(end, renamed);
  }
  begin_log_at(first_base_offset());
  if (renamed.empty() && start_is_written_) return taken;
  auto written = dir_->sync_dir();
  if (written) written = checkpoint();
  return taken ? written : taken;
}

// From the oldest on, and never past one that could not be renamed: that would be a hole. With its
// `.log` a segment is out of the log; the other files that stay then are no part of it.
Result<void> LogWriter::take_out_sealed(Offset end, std::vector<std::string>& renamed) {
  while (!sealed_.empty() && sealed_.front().next_offset <= end) {
    const Offset base = sealed_.front().base_offset;
    RETURN_IF_ERROR(rename_to_deleted(file_of(base, SegmentFile::kLog), renamed));
    sealed_.erase(sealed_.begin());
    for (const auto file : {SegmentFile::kOffsetIndex, SegmentFile::kTimeIndex,
                            SegmentFile::kTransactionIndex, SegmentFile::kProducerSnapshot})
      RETURN_IF_ERROR(rename_to_deleted(file_of(base, file), renamed));
  }
  return {};
}

Result<void> LogWriter::rename_to_deleted(const std::string& name,
                                          std::vector<std::string>& renamed) {
  auto done = dir_->rename(name, name + ".deleted");
  if (!done && done.error().code == Errc::kNotFound) return {};  // an index that never was
  if (done) renamed.push_back(name + ".deleted");
  return done;
}

Result<void> LogWriter::unlink_deleted(const std::string& name) {
  return dir_->unlink_if_there(name);
}

Offset LogWriter::last_stable_offset() const {
  const MutexLock guard(mutex_);
  return producers_.first_open_transaction().value_or(active_->segment().next_offset);
}

std::vector<ProducerSnapshotEntry> LogWriter::producers() const {
  const MutexLock guard(mutex_);
  return producers_.producers();
}

std::optional<Offset> LogWriter::first_dirty_offset() const {
  const MutexLock guard(mutex_);
  return first_dirty_offset_;
}

Result<void> LogWriter::checkpoint_first_dirty(Offset offset) {
  const MutexLock guard(mutex_);
  first_dirty_offset_ = offset;
  return log_dir_ ? log_dir_->checkpoint_cleaner(topic_partition_, offset) : Result<void>{};
}

Result<std::vector<std::string>> LogWriter::replace_segments(
    const std::vector<Offset>& base_offsets, const WrittenSegment& cleaned) {
  const MutexLock guard(mutex_);
  RETURN_IF_ERROR(check_usable());
  CHECK(!base_offsets.empty() && base_offsets.front() == cleaned.base_offset);
  const auto first = std::ranges::find(sealed_, base_offsets.front(), &WrittenSegment::base_offset);
  const auto count = static_cast<std::ptrdiff_t>(base_offsets.size());
  if (sealed_.end() - first < count ||
      !std::equal(base_offsets.begin(), base_offsets.end(), first,
                  [](Offset base, const auto& segment) { return base == segment.base_offset; }))
    return fail(Errc::kOutOfRange,
                topic_partition_.to_string() + ": segments were deleted while they were compacted");
  std::vector<std::string> renamed;
  if (auto swapped = swap_in(base_offsets, renamed); !swapped)
    return fail(Errc::kReadOnly, fail_for_good(std::move(swapped.error())).what);
  *first = cleaned;
  sealed_.erase(first + 1, first + count);
  return renamed;
}

// Each step is durable before the next: a `.swap` whose originals are gone is complete.
Result<void> LogWriter::swap_in(const std::vector<Offset>& base_offsets,
                                std::vector<std::string>& renamed) {
  const auto files = {SegmentFile::kLog, SegmentFile::kOffsetIndex, SegmentFile::kTimeIndex,
                      SegmentFile::kTransactionIndex};
  std::vector<std::string> plain_names;
  for (const auto file : files) {
    const std::string name = file_of(base_offsets.front(), file);
    auto done = dir_->rename(name + ".cleaned", name + ".swap");
    if (done) plain_names.push_back(name);
    if (!done && done.error().code != Errc::kNotFound) return done;
  }
  RETURN_IF_ERROR(dir_->sync_dir());
  for (const Offset base : base_offsets) {
    for (const auto file : files) RETURN_IF_ERROR(rename_to_deleted(file_of(base, file), renamed));
    if (base != base_offsets.front())
      RETURN_IF_ERROR(rename_to_deleted(file_of(base, SegmentFile::kProducerSnapshot), renamed));
  }
  RETURN_IF_ERROR(dir_->sync_dir());
  for (const auto& name : plain_names) RETURN_IF_ERROR(dir_->rename(name + ".swap", name));
  return dir_->sync_dir();
}

}  // namespace offsetfs::storage
