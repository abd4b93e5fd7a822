#include "storage/log_settings.h"

#include "storage/java_properties.h"

namespace offsetfs::storage {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

}  // namespace

Result<ConfigMap> read_log_settings(const WriteDir& partition_dir) {
  auto text = partition_dir.read_whole(kLogSettingsFile, kMostBytes);
  if (!text && text.error().code == Errc::kNotFound) return ConfigMap{};
  if (!text) return fail(std::move(text.error()));
  return parse_log_settings(*text, partition_dir.name_of(kLogSettingsFile));
}

Result<ConfigMap> parse_log_settings(std::string_view text, const std::string& name) {
  ASSIGN_OR_RETURN(auto settings, parse_java_properties(text, name));
  for (const auto& [key, value] : settings)
    if (const auto known = check_setting(key, value); !known)
      return fail(Errc::kCorrupt, name + ": " + known.error().what);
  return settings;
}

std::string render_log_settings(const ConfigMap& settings) {
  return "# Settings of this log, as offsetfs create was given them.\n" +
         render_java_properties(settings);
}

}  // namespace offsetfs::storage
