#pragma once

#include "storage/recovery_report.h"
#include "storage/result.h"
#include "storage/write_dir.h"

namespace offsetfs::storage {

// Settles what a compaction that was cut short left in a partition directory, as segment_list.h
// says, in its order: a `.swap` that is complete takes the place of what it was made from, and
// `.cleaned` files, `.swap` files of a split that did not get through, and `.deleted` files go. No
// file bears a suffix afterwards. The report has what was adopted and what was removed.
//
// kCorrupt: a `.log.swap` is damaged. What it was made from stays, by whatever name, and the
// message says where it is. kIo: some steps were done; the next call does the rest.
//
// Source: Kafka's LogLoader.load.
Result<void> settle_interrupted_compaction(WriteDir& dir, RecoveryReport& report);

}  // namespace offsetfs::storage
