#include "fs/written_logs.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <random>
#include <utility>

#include "storage/check.h"
#include "storage/codec.h"
#include "storage/dir_lock.h"
#include "storage/internal_topics.h"
#include "storage/log_creation.h"
#include "storage/log_dir_owner.h"
#include "storage/log_settings.h"

namespace offsetfs::fs {
namespace {

using namespace std::chrono_literals;
using storage::Errc;
using storage::LogSource;
using storage::MutexLock;
using storage::Result;
using storage::TimestampMs;

constexpr std::int64_t kFirstRetentionCheckMs = 30'000;
constexpr auto kCheckpointInterval = 60s;
constexpr auto kRetryUnlink = 60s;
constexpr std::int64_t kLeastCleanerBackoffMs = 100;
constexpr std::int64_t kLeastFlushCheckMs = 10;
constexpr std::int64_t kMostFlushCheckMs = 3'600'000;
// Who unmounts and mounts again at once meets the lock of the one that is still closing.
constexpr auto kLockPatience = 1s;
constexpr auto kLockRetry = 50ms;

TimestampMs clock_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

std::string parent_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

std::string last_part_of(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

// Of a topic that a broker would have, too: what else a name may hold would not stand in a
// checkpoint.
bool is_written(const std::string& name) {
  const auto parsed = storage::parse_partition_dir(name);
  return parsed && parsed->state == storage::DirState::kLive &&
         parsed->topic_partition.to_string() == name &&
         storage::check_topic_name(parsed->topic_partition.topic) &&
         !storage::is_internal_topic(parsed->topic_partition.topic);
}

// A directory that is mounted alone may bear any name; a second copy of a partition is shown under
// another name than it has.
bool is_written(const LogSource& source, const LogSource::Partition& partition) {
  if (!source.is_single_partition()) return is_written(partition.name);
  return is_written(last_part_of(source.dirs().front()->real_path()));
}

Result<storage::DirLock> acquire_patiently(const std::string& path) {
  const auto give_up = std::chrono::steady_clock::now() + kLockPatience;
  for (;;) {
    auto lock = storage::DirLock::acquire(path);
    const bool is_held = !lock && lock.error().code == Errc::kBusy;
    if (!is_held || std::chrono::steady_clock::now() >= give_up) return lock;
    std::this_thread::sleep_for(kLockRetry);
  }
}

// What the kernel said is a reason; this is what to do about it.
std::string cure_of(const storage::Error& error, const std::string& log_dir) {
  switch (error.code == Errc::kIo ? error.sys_errno : 0) {
    case EACCES:
    case EPERM:
      return "; run this as somebody who may write in " + log_dir +
             ", where the lock and the checkpoints of its logs lie";
    case EROFS: return "; copy the logs to a file system that can be written";
    default: return "";
  }
}

storage::Codec codec_of(const AppendOptions& options, const storage::LogConfig& config) {
  if (options.codec) return *options.codec;
  // Else: producer, uncompressed.
  return storage::codec_named(config.compression_type).value_or(storage::Codec::kNone);
}

}  // namespace

WrittenLogs::WrittenLogs(Options options)
    : options_(std::move(options)),
      timer_(options_.append.linger_ms > 0
                 ? std::make_shared<LingerTimer>(options_.append.linger_ms)
                 : nullptr) {}

WrittenLogs::~WrittenLogs() {
  for (const auto& [id, log] : logs_) log->stop_compaction();
  housekeeper_ = {};
  if (timer_ != nullptr) timer_->stop();
}

void WrittenLogs::say(LogLevel level, const std::string& line) const {
  if (options_.log) options_.log(level, line);
}

void WrittenLogs::complain(const Result<void>& done) const {
  if (!done) say(LogLevel::kError, done.error().what);
}

void WrittenLogs::complain_of(std::uint32_t partition, const Result<void>& done) {
  if (done) return;
  std::string& said = sync_failures_[partition];
  if (said == done.error().what) return;
  said = done.error().what;
  say(LogLevel::kError, said);
}

Result<std::shared_ptr<WrittenLogs>> WrittenLogs::open(const LogSource& source,
                                                       const storage::Settings& settings,
                                                       Options options) {
  std::shared_ptr<WrittenLogs> logs(new WrittenLogs(std::move(options)));
  if (auto opened = logs->open_all(source, settings); !opened) {
    // Gives back what it took: locks, and the marks of directories that were closed cleanly.
    (void)logs->close();
    return storage::fail(std::move(opened.error()));
  }
  const storage::LogConfig common = settings.for_topic("").log;
  logs->retention_check_interval_ms_ = common.retention_check_interval_ms;
  logs->cleaner_backoff_ms_ = std::clamp<std::int64_t>(common.cleaner_backoff_ms,
                                                       kLeastCleanerBackoffMs, kMostFlushCheckMs);
  logs->housekeeper_ =
      std::jthread([self = logs.get()](const std::stop_token& stop) { self->keep_house(stop); });
  return logs;
}

Result<void> WrittenLogs::open_all(const LogSource& source, const storage::Settings& settings) {
  const bool single = source.is_single_partition();
  const auto partitions = source.partitions();
  if (single && !partitions->empty() && !is_written(source, partitions->front()))
    return storage::fail(Errc::kInvalid,
                         source.dirs().front()->path() +
                             ": not to be appended to: it takes a directory <topic>-<partition>, "
                             "of no topic of Kafka's own");
  for (const auto& dir : source.dirs()) {
    ASSIGN_OR_RETURN(Directory directory, take_directory(*dir, single));
    directories_.push_back(std::move(directory));
  }
  for (const auto& partition : *partitions) {
    if (!is_written(source, partition)) continue;
    auto opened = open_log(source, partition, settings);
    if (!opened && single) return opened;
    complain(opened);
  }
  return {};
}

Result<WrittenLogs::Directory> WrittenLogs::take_directory(const storage::SourceDir& dir,
                                                           bool is_partition) const {
  const std::string path = is_partition ? parent_of(dir.real_path()) : dir.real_path();
  auto taken = take_directory(path, dir.io());
  if (!taken) taken.error().what += cure_of(taken.error(), path);
  return taken;
}

Result<WrittenLogs::Directory> WrittenLogs::take_directory(
    const std::string& path, const std::shared_ptr<const storage::IoBackend>& io) const {
  Directory directory;
  ASSIGN_OR_RETURN(directory.files, storage::PosixWriteDir::open(path, io));
  if (!options_.append.force) RETURN_IF_ERROR(storage::check_not_a_brokers(*directory.files));
  ASSIGN_OR_RETURN(storage::DirLock lock, acquire_patiently(path));
  ASSIGN_OR_RETURN(directory.writer, storage::LogDirWriter::open(directory.files, std::move(lock)));
  return directory;
}

Result<void> WrittenLogs::open_log(const LogSource& source, const LogSource::Partition& partition,
                                   const storage::Settings& settings) {
  ASSIGN_OR_RETURN(const auto shown, source.open(partition.id));
  const auto& dirs = source.dirs();
  const auto place = std::ranges::find(dirs, shown->dir());
  CHECK(place != dirs.end());
  const Directory& directory = directories_[static_cast<std::size_t>(place - dirs.begin())];
  std::string name = shown->below("");
  if (source.is_single_partition()) name = last_part_of(shown->dir()->real_path());
  while (name.ends_with('/')) name.pop_back();
  const std::string path = directory.files->name_of(name);

  ASSIGN_OR_RETURN(std::shared_ptr<storage::WriteDir> files, directory.files->open_below(name));
  storage::LogWriter::Options options;
  ASSIGN_OR_RETURN(const auto own, storage::read_log_settings(*files));
  options.config = settings.for_log(partition.topic_partition.topic, own, {}).log;
  flush_ms_ = std::min(flush_ms_, options.config.flush_ms);
  options.jitter_seed = std::random_device{}();
  storage::RecoveryReport report;
  ASSIGN_OR_RETURN(auto writer,
                   storage::LogWriter::open(std::move(files), directory.writer,
                                            partition.topic_partition, options, &report));
  const std::string said = report.to_string();
  for (std::size_t at = 0; at < said.size();) {
    const std::size_t end = std::min(said.find('\n', at), said.size());
    say(report.cuts.empty() && report.gaps.empty() ? LogLevel::kInfo : LogLevel::kWarning,
        path + ": " + said.substr(at, end - at));
    at = end + 1;
  }
  shown->refresh();
  shown->count_as_replicated(writer->log_end_offset());
  auto log = std::make_shared<WrittenLog>(std::move(writer), shown);
  log->tell(&source.changes(), partition.id);
  logs_.emplace(partition.id, std::move(log));
  return {};
}

std::shared_ptr<WrittenLog> WrittenLogs::find(std::uint32_t partition) const {
  const auto found = logs_.find(partition);
  return found == logs_.end() ? nullptr : found->second;
}

std::shared_ptr<RecordAppender> WrittenLogs::add_writer(std::uint32_t partition,
                                                        RecordAppender::Options options) {
  const auto log = find(partition);
  CHECK(log != nullptr);
  options.key_separator = options_.append.key_separator;
  options.batch_bytes = options_.append.batch_bytes;
  options.codec = codec_of(options_.append, log->writer().config());
  auto writer = std::make_shared<RecordAppender>(log, timer_, std::move(options));
  const MutexLock lock(mutex_);
  std::erase_if(writers_, [](const auto& weak) { return weak.expired(); });
  writers_.push_back(writer);
  return writer;
}

Result<void> WrittenLogs::close() {
  for (const auto& [id, log] : logs_) log->stop_compaction();
  housekeeper_ = {};
  if (timer_ != nullptr) timer_->stop();
  std::vector<std::weak_ptr<RecordAppender>> writers;
  {
    const MutexLock lock(mutex_);
    if (closed_) return {};
    closed_ = true;
    writers = std::move(writers_);
  }
  Result<void> first;
  const auto note = [&](const Result<void>& done) {
    complain(done);
    if (!done && first) first = done;
  };
  for (const auto& weak : writers) {
    const auto writer = weak.lock();
    if (writer == nullptr) continue;
    if (writer->has_unfinished_line())
      say(LogLevel::kWarning, "a line that was begun and not ended is dropped");
    note(writer->flush());
  }
  for (const auto& [id, log] : logs_) note(log->writer().close());
  for (const Directory& directory : directories_) {
    auto closed = directory.writer->close();
    note(closed ? Result<void>{} : storage::fail(std::move(closed.error())));
  }
  return first;
}

void WrittenLogs::keep_house(const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  const auto retention_interval = std::chrono::milliseconds(retention_check_interval_ms_);
  auto next_retention = Clock::now() + std::min(retention_interval,
                                                std::chrono::milliseconds(kFirstRetentionCheckMs));
  auto next_checkpoint = Clock::now() + kCheckpointInterval;
  auto earliest_unlink = Clock::now();
  const auto cleaner_backoff = std::chrono::milliseconds(cleaner_backoff_ms_);
  auto next_compaction = Clock::now() + cleaner_backoff;
  // At half the time: a flush comes at most one and a half times flush.ms after the last.
  const auto flush_interval = std::chrono::milliseconds(
      std::clamp<std::int64_t>(flush_ms_ / 2, kLeastFlushCheckMs, kMostFlushCheckMs));
  auto next_flush = Clock::now() + flush_interval;
  while (!stop.stop_requested()) {
    auto next = std::min({next_retention, next_checkpoint, next_compaction, next_flush});
    const TimestampMs now = clock_now();
    for (const auto& [id, log] : logs_) {
      const TimestampMs due = log->next_unlink();
      if (due == storage::kNever) continue;
      const auto unlink =
          Clock::now() + std::chrono::milliseconds(std::max<std::int64_t>(due - now, 0));
      next = std::min(next, std::max(unlink, earliest_unlink));
    }
    {
      std::unique_lock lock(wait_mutex_);
      wait_.wait_until(lock, stop, next, [] { return false; });
    }
    if (stop.stop_requested()) return;
    if (Clock::now() >= earliest_unlink && !unlink_due(clock_now()))
      earliest_unlink = Clock::now() + kRetryUnlink;
    if (Clock::now() >= next_retention) {
      check_retention(clock_now());
      next_retention = Clock::now() + retention_interval;
    }
    if (Clock::now() >= next_compaction) {
      compact(clock_now());
      next_compaction = Clock::now() + cleaner_backoff;
    }
    if (Clock::now() >= next_flush) {
      flush_due(clock_now());
      next_flush = Clock::now() + flush_interval;
    }
    if (Clock::now() >= next_checkpoint) {
      checkpoint();
      next_checkpoint = Clock::now() + kCheckpointInterval;
    }
  }
}

void WrittenLogs::check_retention(TimestampMs now) {
  for (const auto& [id, log] : logs_) {
    const auto run = log->run_retention(now);
    if (!run) {
      say(LogLevel::kError, run.error().what);
    } else if (run->segments > 0) {
      say(LogLevel::kInfo, log->writer().topic_partition().to_string() + ": retention took " +
                               std::to_string(run->segments) + " segments; the log starts at " +
                               std::to_string(log->writer().log_start_offset().value));
    }
  }
}

void WrittenLogs::compact(TimestampMs now) {
  for (const auto& [id, log] : logs_) {
    const auto run = log->run_compaction(now);
    const std::string name = log->writer().topic_partition().to_string();
    if (!run) {
      // Damage stays, and would be said again every quarter of a minute.
      std::string& said = compaction_failures_[id];
      if (run.error().code == Errc::kBusy || said == run.error().what) continue;
      said = run.error().what;
      say(LogLevel::kError, name + ": not compacted: " + said);
    } else if (run->cleaned) {
      say(LogLevel::kInfo, name + ": compacted " + std::to_string(run->segments_before) +
                               " segments of " + std::to_string(run->bytes_before) + " bytes to " +
                               std::to_string(run->segments_after) + " of " +
                               std::to_string(run->bytes_after));
    }
  }
}

void WrittenLogs::flush_due(TimestampMs now) {
  for (const auto& [id, log] : logs_) complain_of(id, log->writer().flush_if_due(now));
}

bool WrittenLogs::unlink_due(TimestampMs now) {
  bool done = true;
  for (const auto& [id, log] : logs_) {
    const auto gone = log->unlink_due(now);
    if (gone) continue;
    say(LogLevel::kError, gone.error().what);
    done = false;
  }
  return done;
}

void WrittenLogs::checkpoint() {
  for (const auto& [id, log] : logs_) complain_of(id, log->checkpoint());
}

}  // namespace offsetfs::fs
