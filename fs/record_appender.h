#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "fs/line_parser.h"
#include "fs/linger_timer.h"
#include "fs/node.h"
#include "fs/written_log.h"
#include "storage/batch_builder.h"
#include "storage/mutex.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// One writer of a log: bytes as they come -> lines -> records -> batches -> the log. It is what a
// producer is to a broker: batches are its own, so what others write never stands between the lines
// of one, and what goes wrong is told to whom it concerns.
//
// A line that was begun in one write may be ended in another. Lines, and so records, are whole or
// not there at all. Any thread; writes are taken one after the other.
//
// Errors are those of a write(2), errno and all:
//   EINVAL    a line that makes no record, or one without a key that is for a compacted log; the
//             message says which one, and where in it
//   EMSGSIZE  a line longer than most_line_bytes, a record larger than the log takes; likewise.
//   Each
//             piece of a line that is too long is refused, the last with all that comes in its
//             write
//   else      what appending said: ENOSPC, EIO
// Of a write that fails nothing is in the log. Where lines before the bad one are, the write is
// short instead and ends behind them, and the next one, which begins with the bad line, fails. What
// was batched up and could then not be appended is dropped; whatever is called next tells of it,
// once. So is a bad line that an earlier write began.
class RecordAppender : public std::enable_shared_from_this<RecordAppender> {
 public:
  struct Options {
    std::string name;        // of the file, for messages
    Form form = Form::kRaw;  // kRaw: plain lines; kJsonl: objects
    std::string key_separator;
    storage::Codec codec = storage::Codec::kNone;
    std::int64_t batch_bytes = 16'384;  // no more than the log takes
    std::size_t most_line_bytes = 0;    // 0: as much as a record that the log takes may need
    bool is_durable = false;            // O_SYNC, O_DSYNC: a write returns when it is on the disk
    std::function<storage::TimestampMs()> now;                             // null: the clock
    std::function<void(const storage::LogWriter::Appended&)> on_appended;  // may be null
  };

  // `timer` null: nothing waits, each write ends with what it brought in the log.
  RecordAppender(std::shared_ptr<WrittenLog> log, std::shared_ptr<LingerTimer> timer,
                 Options options);

  // How many of the bytes were taken: all, or some whole lines.
  storage::Result<std::size_t> write(storage::Bytes bytes);
  // What was batched up goes to the log. An unfinished line waits on.
  storage::Result<void> flush();
  // The same, and is durable.
  storage::Result<void> sync();
  // The unfinished line is one, and goes to the log with the rest.
  storage::Result<void> finish_line();
  bool has_unfinished_line() const;

 private:
  // Of one write.
  struct Progress {
    std::size_t taken = 0;  // whole lines in the batch or in the log,
    std::int64_t lines = 0;
    std::size_t in_log = 0;  // and of those, in the log
    std::int64_t lines_in_log = 0;
    std::size_t carried = 0;  // the end of the line that an earlier write began
  };

  storage::Result<void> take_failure() REQUIRES(mutex_);
  storage::Result<std::optional<NewRecord>> parse(storage::Bytes line, std::int64_t number)
      REQUIRES(mutex_);
  storage::Result<std::size_t> take_lines(storage::Bytes bytes, Progress& progress)
      REQUIRES(mutex_);
  // Of the line `number`; line_bytes are with its newline.
  storage::Result<void> add(const NewRecord& record, std::int64_t number, std::size_t line_bytes,
                            Progress& progress) REQUIRES(mutex_);
  storage::Result<void> add_unfinished();
  void begin_batch() REQUIRES(mutex_);
  bool is_full() const REQUIRES(mutex_);
  std::string lines_of_batch() const REQUIRES(mutex_);
  storage::Result<void> push_out() REQUIRES(mutex_);
  storage::Result<std::size_t> end_write(const Progress& progress, storage::Error error)
      REQUIRES(mutex_);
  storage::Result<std::size_t> keep(storage::Bytes rest, const Progress& progress) REQUIRES(mutex_);
  storage::Result<std::size_t> short_write(const Progress& progress) REQUIRES(mutex_);
  void linger_is_over(std::uint64_t batch);
  tl::unexpected<storage::Error> refuse(std::int64_t line, int sys_errno,
                                        const std::string& what) const;
  storage::TimestampMs now() const;

  const std::shared_ptr<WrittenLog> log_;
  const std::shared_ptr<LingerTimer> timer_;
  const Options options_;
  const std::unique_ptr<LineParser> parser_;
  const bool needs_keys_;

  mutable storage::Mutex mutex_;
  std::string unfinished_ GUARDED_BY(mutex_);
  // The line that stands there was too long: the writes up to the one with its end are refused.
  bool skipping_ GUARDED_BY(mutex_) = false;
  std::int64_t lines_ GUARDED_BY(mutex_) = 0;  // ended ones
  storage::BatchBuilder batch_ GUARDED_BY(mutex_);
  std::int64_t batch_first_line_ GUARDED_BY(mutex_) = 0;
  std::int64_t batch_last_line_ GUARDED_BY(mutex_) = 0;
  std::uint64_t batch_number_ GUARDED_BY(mutex_) = 0;
  std::uint64_t lingering_batch_ GUARDED_BY(mutex_) = 0;  // the timer knows of it
  std::optional<storage::Error> failure_ GUARDED_BY(mutex_);
};

}  // namespace offsetfs::fs
