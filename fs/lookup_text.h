#pragma once

#include <optional>
#include <string>

#include "storage/partition_log.h"
#include "storage/units.h"

namespace offsetfs::fs {

// The content of `offsets/N.lookup`: `key: value` lines, of which the first is `result:`. Lines are
// only ever added, and the first words after `result:` never change their meaning.
std::string lookup_text(const storage::RecordLookup& lookup);

// The content of `time/TS.lookup`. `written` is TS as it was typed, `time` what that means.
std::string time_lookup_text(const std::string& written, storage::TimestampMs time,
                             const storage::TimeLookup& lookup);

}  // namespace offsetfs::fs
