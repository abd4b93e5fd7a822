#include "fs/settings_sources.h"

namespace offsetfs::fs {

storage::Settings::Sources settings_sources(const storage::LogSource& source,
                                            storage::Settings::Sources given) {
  if (source.is_single_partition()) return given;
  for (const auto& dir : source.dirs())
    if (given.metadata_dir == nullptr && dir->info("__cluster_metadata-0"))
      given.metadata_dir = dir;
  return given;
}

}  // namespace offsetfs::fs
