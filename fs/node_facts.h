#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <sys/stat.h>
#include <sys/types.h>

#include "fs/attributes.h"
#include "fs/memory_file.h"

namespace offsetfs::fs {

// What a node is at the moment: all that LOOKUP and GETATTR tell of it.
//
// Where something is not there the functions that find it fail with kNotFound, and with kOutOfRange
// if it can never come back: records below the log start.
struct NodeFacts {
  mode_t type = S_IFREG;
  Access access;
  std::int64_t size_bytes = 0;
  timespec mtime{};
  double attr_timeout = kNever;
  double entry_timeout = kNever;
  // What was made or read to know the size: the content, of a link its target. Null where the size
  // is known without.
  std::shared_ptr<const Content> content;
  // Of a link whose target tells of a log that not everybody may read: who may. The kernel never
  // asks for a link's own mode.
  std::optional<Access> told_to;
};

inline constexpr mode_t kLinkMode = 0777;

// Long enough to spare a walk through a path its requests, short enough that nobody minds.
inline constexpr double kBriefly = 1;

// Of what is taken back as soon as it is not true any more (invalidator.h). Not for ever: a change
// that the kernel did not tell of must not count for ever either.
inline constexpr double kWhileWatched = 60;

}  // namespace offsetfs::fs
