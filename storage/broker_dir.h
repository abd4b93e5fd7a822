#pragma once

#include <string>

#include "storage/result.h"
#include "storage/write_dir.h"

namespace offsetfs::storage {

// Makes a log directory fit for a KRaft broker of one node to be started on at once, with no
// `kafka-storage format` before it: beside the partitions that are there (log_creation.h),
//
//   meta.properties       node 1, a new cluster's id, a directory id (as they are, if they are
//                         there: a directory can be made anew after more partitions were created)
//   bootstrap.checkpoint  every partition as a replica of that node (bootstrap_checkpoint.h)
//   server.properties     ports 9092 and 9093 on loopback; as it is, if it is there
//
// meta.properties comes last, without which no broker starts. Precondition: the caller holds the
// directory's lock. kReadOnly, with a cure, once a broker was started on it: it reads
// bootstrap.checkpoint no more. kInvalid: something there that no broker would take.
Result<void> make_broker_dir(const std::string& log_dir);

// The first of these refusals alone.
Result<void> check_no_broker_was_started(const WriteDir& log_dir);

}  // namespace offsetfs::storage
