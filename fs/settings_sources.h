#pragma once

#include "storage/log_source.h"
#include "storage/settings.h"

namespace offsetfs::fs {

// Where settings come from: what was given, and what the source itself has. A broker's own log
// directory tells its cluster's settings. Of a partition that was given alone nothing beside it is
// read but checkpoints and meta.properties, so there they must be pointed to.
storage::Settings::Sources settings_sources(const storage::LogSource& source,
                                            storage::Settings::Sources given);

}  // namespace offsetfs::fs
