#pragma once

#include <deque>
#include <string>
#include <vector>

#include "storage/log_writer.h"
#include "storage/result.h"
#include "storage/retention.h"
#include "storage/units.h"

namespace offsetfs::storage {

// Files of a log that were renamed to .deleted and wait for their unlinking,
// file.delete.delay.ms later. What waits is forgotten with the object: the log's next opening
// unlinks it. One thread.
class DeletedFiles {
 public:
  void add(const std::vector<std::string>& names, TimestampMs now, const LogConfig& config);
  // How many went.
  Result<std::size_t> unlink_due(LogWriter& log, TimestampMs now);
  // When unlink_due has something to do; kNever: nothing waits.
  TimestampMs next_due() const { return waiting_.empty() ? kNever : waiting_.front().due; }

 private:
  struct Waiting {
    TimestampMs due;
    std::string name;
  };
  std::deque<Waiting> waiting_;
};

}  // namespace offsetfs::storage
