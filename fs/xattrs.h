#pragma once

#include <string>
#include <vector>

#include "storage/partition_log.h"

namespace offsetfs::fs {

// The extended attributes of a plain `offsets/N` that was found, all in user.kafka: what a record
// has beside its value. Keys and headers are bytes as they lie; names that are not UTF-8 or too
// long and values over 64 KiB are left out.
struct Xattr {
  std::string name;  // with its "user." in front
  std::string value;
};
std::vector<Xattr> record_xattrs(const storage::RecordLookup& lookup);

}  // namespace offsetfs::fs
