#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "fs/append_options.h"
#include "fs/linger_timer.h"
#include "fs/log_sink.h"
#include "fs/node.h"
#include "fs/record_appender.h"
#include "fs/written_log.h"
#include "storage/log_dir_writer.h"
#include "storage/log_source.h"
#include "storage/mutex.h"
#include "storage/result.h"
#include "storage/settings.h"
#include "storage/write_dir.h"

namespace offsetfs::fs {

// The logs of a source as somebody's to write: -o append, or the command `append`. It is the one
// thing in this program that changes a source; without it there is no way to.
//
// From open() to close() it holds the `.lock` of each log directory (of a partition's directory:
// the one above it), and does by its own clock what a broker does: retention every
// log.retention.check.interval.ms, the first time after 30 s at most; compaction every
// log.cleaner.backoff.ms, where cleanup.policy asks for it; unlinking after file.delete.delay.ms;
// flushes by flush.ms; flush and checkpoints every minute, so that a crash costs a short walk.
//
// Written are the live partitions, but for Kafka's own topics, whose content is a broker's. Any
// thread.
class WrittenLogs {
 public:
  struct Options {
    AppendOptions append;
    LogSink log;  // what recovery and housekeeping did
  };

  // Locks, and recovers what was not closed cleanly. kBusy: somebody holds a directory; kReadOnly:
  // it is a broker's, and not forced; else the one log that was asked for, or a directory, can't be
  // written. A log among several that can't is logged and left out. What fails leaves each
  // directory as it was.
  static storage::Result<std::shared_ptr<WrittenLogs>> open(const storage::LogSource& source,
                                                            const storage::Settings& settings,
                                                            Options options);
  // Without close() this is a crash.
  ~WrittenLogs();
  WrittenLogs(const WrittenLogs&) = delete;
  WrittenLogs& operator=(const WrittenLogs&) = delete;

  // By the id of a LogSource::Partition; null if that is not written.
  std::shared_ptr<WrittenLog> find(std::uint32_t partition) const;
  const std::map<std::uint32_t, std::shared_ptr<WrittenLog>>& logs() const { return logs_; }

  // A writer of a log that is there; `options` come with what is the writer's own, and are
  // completed by what the mount says.
  std::shared_ptr<RecordAppender> add_writer(std::uint32_t partition,
                                             RecordAppender::Options options);

  // What writers have batched up goes to the logs, and the logs are closed: sealed, durable,
  // checkpointed, each directory marked clean where that is true. The first failure; all is tried.
  storage::Result<void> close();

 private:
  struct Directory {
    std::shared_ptr<storage::PosixWriteDir> files;
    std::shared_ptr<storage::LogDirWriter> writer;
  };

  explicit WrittenLogs(Options options);

  storage::Result<void> open_all(const storage::LogSource& source,
                                 const storage::Settings& settings);
  storage::Result<Directory> take_directory(const storage::SourceDir& dir, bool is_partition) const;
  storage::Result<Directory> take_directory(
      const std::string& path, const std::shared_ptr<const storage::IoBackend>& io) const;
  storage::Result<void> open_log(const storage::LogSource& source,
                                 const storage::LogSource::Partition& partition,
                                 const storage::Settings& settings);
  void say(LogLevel level, const std::string& line) const;
  void complain(const storage::Result<void>& done) const;
  // A failure that lasts is said once, and not at every look.
  void complain_of(std::uint32_t partition, const storage::Result<void>& done);

  void keep_house(const std::stop_token& stop);
  void check_retention(storage::TimestampMs now);
  void compact(storage::TimestampMs now);
  void flush_due(storage::TimestampMs now);
  bool unlink_due(storage::TimestampMs now);  // false: to be tried again
  void checkpoint();

  const Options options_;
  const std::shared_ptr<LingerTimer> timer_;  // null: nothing lingers
  // Constant after open().
  std::vector<Directory> directories_;
  std::map<std::uint32_t, std::shared_ptr<WrittenLog>> logs_;
  std::int64_t retention_check_interval_ms_ = 300'000;
  std::int64_t cleaner_backoff_ms_ = 15'000;
  std::int64_t flush_ms_ = INT64_MAX;  // the least of them all

  storage::Mutex mutex_;
  std::vector<std::weak_ptr<RecordAppender>> writers_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;

  std::map<std::uint32_t, std::string> compaction_failures_;  // the housekeeper's own
  std::map<std::uint32_t, std::string> sync_failures_;        // likewise
  std::mutex wait_mutex_;
  std::condition_variable_any wait_;
  std::jthread housekeeper_;
};

}  // namespace offsetfs::fs
