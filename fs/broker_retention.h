#pragma once

#include <string>

#include "fs/names.h"
#include "fs/partitions.h"
#include "fs/retention_files.h"
#include "storage/log_source.h"
#include "storage/result.h"

namespace offsetfs::fs {

// `retention/` of a log directory's mount: a line a partition (status.tsv, status.json), a line a
// topic (topics.tsv), and what takes room without being part of a log (removable.tsv). Looks at
// every partition, so it takes its time: open it in a thread of its own. A partition that can't be
// read has a line that says so.
storage::Result<std::string> broker_retention_text(BrokerRetentionFile file,
                                                   const storage::LogSource& source,
                                                   const Partitions& partitions,
                                                   RetentionFiles& retention,
                                                   storage::TimestampMs now);

}  // namespace offsetfs::fs
