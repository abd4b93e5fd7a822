#pragma once

#include <cstdint>
#include <optional>

#include "storage/settings.h"
#include "storage/units.h"

namespace offsetfs::fs {

// What `-o` says to the tree of names. Plain values: mount/ parses and checks them.
struct FileSystemOptions {
  static constexpr std::int64_t kListAll = INT64_MAX;

  // How many names a listing of offsets/ gives before it ends with EFBIG (`list=N`, `list=all`).
  std::int64_t list_limit = 100'000;
  // Control records are records (`control`). The source's PartitionLogs must be told the same.
  bool show_control = false;
  // What `now` means in time expressions (`now=TIME`); nothing: the clock.
  std::optional<storage::TimestampMs> now;
  // What one batch may decompress to. The source's PartitionLogs must be told the same.
  std::int64_t decompressed_limit_bytes = 256LL << 20;
  // The kernel checks modes (`default_permissions`): then link targets are told accordingly.
  bool default_permissions = false;
  // Requests answered at once by the FUSE loop. Opens that scan have threads of their own.
  int threads = 10;
  // Where settings come from, as far as the command line says: topic settings by hand, a
  // server.properties, a metadata log. What the source itself has is added to it.
  storage::Settings::Sources settings;
  // After how long a read of the source is given up.
  std::int64_t io_timeout_ms = 30'000;
  // Segments that may be open ahead of readers of several, at three descriptors each.
  std::int64_t segments_ahead = 64;
};

}  // namespace offsetfs::fs
