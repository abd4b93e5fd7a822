#pragma once

#include <string>
#include <string_view>

#include "storage/log_config.h"
#include "storage/result.h"
#include "storage/write_dir.h"

namespace offsetfs::storage {

// The topic settings of a log that has no cluster: `offsetfs.properties` in its partition
// directory, where a broker keeps them in the metadata log (and passes this file over). They stand
// at the level of a topic's overrides.
//
//   text := a properties file (java_properties.h), setting=value

inline constexpr const char* kLogSettingsFile = "offsetfs.properties";

// Empty where there is no such file. kCorrupt: no properties, or a setting that can't be taken.
Result<ConfigMap> read_log_settings(const WriteDir& partition_dir);
Result<ConfigMap> parse_log_settings(std::string_view text, const std::string& name);
std::string render_log_settings(const ConfigMap& settings);

}  // namespace offsetfs::storage
