#include "storage/deleted_files.h"

namespace offsetfs::storage {

void DeletedFiles::add(const std::vector<std::string>& names, TimestampMs now,
                       const LogConfig& config) {
  const TimestampMs due = add_saturated(now, config.file_delete_delay_ms);
  for (const auto& name : names) waiting_.push_back({due, name});
}

Result<std::size_t> DeletedFiles::unlink_due(LogWriter& log, TimestampMs now) {
  std::size_t gone = 0;
  while (!waiting_.empty() && waiting_.front().due <= now) {
    RETURN_IF_ERROR(log.unlink_deleted(waiting_.front().name));
    waiting_.pop_front();
    ++gone;
  }
  return gone;
}

}  // namespace offsetfs::storage
