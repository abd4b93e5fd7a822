#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/compaction_plan.h"
#include "storage/deleted_files.h"
#include "storage/log_writer.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::storage {

// Compacts a log that is written by us, as a broker's cleaner does: of the sealed segments the
// latest record of every key stays (compaction_filter.h says the rest), batches and offsets keep
// their places, and segments that have become small become one. The active segment is never
// touched.
//
// A pass reads the dirty part once, for the keys, and all sealed segments once, to write anew; the
// new files bear `.cleaned` until they are durable, and then take the old ones' place
// (LogWriter::replace_segments). Memory is bound by Options and one batch, whatever the log: where
// not all keys fit, a pass ends early and the next one goes on.
//
// Has no clock and no timer: whoever owns it calls run() every log.cleaner.backoff.ms and
// unlink_due() when due. One thread, the one that runs retention; appends may go on meanwhile.
// Source: Kafka 4.3.1, LogCleaner, Cleaner, LocalLog.replaceSegments.
class LogCompaction {
 public:
  struct Options {
    std::int64_t keys_bytes = 128LL << 20;  // log.cleaner.dedupe.buffer.size
    std::int64_t decompressed_limit_bytes = 256LL << 20;
    // Asked before each batch; true ends the pass with kBusy, and the groups of segments that were
    // not done yet stay as they are. Null: never.
    std::function<bool()> must_stop;
  };
  struct Run {
    bool cleaned = false;
    Offset first_dirty{};  // from here on keys were looked at
    Offset end{};          // up to here (exclusive): the first dirty offset of the next run
    std::size_t segments_before = 0, segments_after = 0;
    std::int64_t bytes_before = 0, bytes_after = 0;
    std::vector<std::string> renamed;  // to these names
  };

  explicit LogCompaction(LogWriter& log) : LogCompaction(log, Options{}) {}
  // The writer must outlive this.
  LogCompaction(LogWriter& log, const Options& options) : log_(log), options_(options) {}

  // Does nothing unless cleanup.policy has `compact`, log.cleaner.enable holds, and enough is dirty
  // (compaction_plan.h). Groups of segments that were done before a failure stay done, which loses
  // nothing; the others are as they were. kCorrupt, kUnsupported (magic 0 or 1, an unknown codec)
  // and kTooLarge name file and position and are for good: until the log is opened anew, every call
  // says the same, and reads and writes nothing.
  Result<Run> run(TimestampMs now);
  // The same, however little is dirty.
  Result<Run> run_at_once(TimestampMs now);

  // How many files went.
  Result<std::size_t> unlink_due(TimestampMs now) { return waiting_.unlink_due(log_, now); }
  TimestampMs next_due() const { return waiting_.next_due(); }

 private:
  Result<Run> clean_once(CompactionInput& input, const CompactionPlan& plan, TimestampMs now);
  Result<Run> clean(CompactionInput& input, const CompactionPlan& plan, TimestampMs now);

  LogWriter& log_;
  const Options options_;
  DeletedFiles waiting_;
  std::optional<Error> uncleanable_;
};

}  // namespace offsetfs::storage
