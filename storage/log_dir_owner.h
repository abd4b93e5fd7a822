#pragma once

#include "storage/result.h"
#include "storage/write_dir.h"

namespace offsetfs::storage {

// Whose a log directory is, as far as files say. Whether anybody holds it just now is the lock's to
// say (dir_lock.h).
enum class LogDirOwner {
  kNobody,  // no meta.properties: never a broker's
  kOurs,    // made by `offsetfs create --broker`, and no broker was started on it yet
  kBroker,
};

// The property of a meta.properties that tells kOurs; brokers pass it over.
inline constexpr const char* kMadeByOffsetfs = "offsetfs.made";

Result<LogDirOwner> owner_of(const WriteDir& log_dir);

// For whoever is about to write without --force: kReadOnly with a cure if it is a broker's.
Result<void> check_not_a_brokers(const WriteDir& log_dir);

}  // namespace offsetfs::storage
