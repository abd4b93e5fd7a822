#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/dir.h"
#include "storage/result.h"

// What takes room in log directories and is part of no log: advice for a person, nothing is ever
// removed.

namespace offsetfs::storage {

struct Removable {
  enum class Kind {
    kDeletedSegment,   // NAME.deleted
    kCleanedSegment,   // NAME.cleaned: an unfinished compaction
    kOrphanedIndex,    // an index without its .log
    kTemporary,        // NAME.tmp: an unfinished replacement of a small file
    kDeleteDirectory,  // TOPIC-P.<hex>-delete
    kStrayDirectory,   // TOPIC-P.<hex>-stray
    kHeldOpen,         // unlinked, but a process still holds it: df says full, du says not
  };
  Kind kind = Kind::kDeletedSegment;
  std::string path;          // as the user gave the source, then what lies below it
  std::int64_t bytes = 0;    // on disk
  bool broker_will = false;  // a broker that works on the directory removes it by itself
  std::string reason;        // why it is no part of a log, and when it is safe to remove
};
const char* removable_kind_name(Removable::Kind kind);

// By path. What can't be listed or looked at is passed over (problems name it elsewhere). Reads
// names and inodes only, and for kHeldOpen /proc of the process that holds the directory's `.lock`,
// where that is permitted.
std::vector<Removable> find_removable(const std::vector<std::shared_ptr<const SourceDir>>& dirs);

}  // namespace offsetfs::storage
