#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "storage/deleted_files.h"
#include "storage/log_writer.h"
#include "storage/result.h"
#include "storage/retention.h"
#include "storage/units.h"

namespace offsetfs::storage {

// Carries out what retention.h says of a log that is written by us, in a broker's two steps: a run
// renames the files of the segments it takes to .deleted (the active one is rolled first if all go,
// so that offsets are never used again), and the files are unlinked file.delete.delay.ms later.
//
// Has no clock and no timer: whoever owns it calls run() every log.retention.check.interval.ms and
// unlink_due() when due. What waits is forgotten with the object, and unlinked by the next opening
// of the log. One thread; appends may go on meanwhile.
class LogRetention {
 public:
  struct Run {
    std::size_t segments = 0;
    std::vector<std::string> renamed;  // to these names, in order
  };

  // The writer must outlive this.
  explicit LogRetention(LogWriter& log) : log_(log) {}

  // After a failure segments may have gone all the same, the oldest; the next run takes the others.
  Result<Run> run(TimestampMs now);
  // How many files went.
  Result<std::size_t> unlink_due(TimestampMs now);
  // When unlink_due has something to do; kNever: nothing waits.
  TimestampMs next_due() const { return waiting_.next_due(); }

 private:
  LogWriter& log_;
  DeletedFiles waiting_;
};

}  // namespace offsetfs::storage
