#include "fs/what_if.h"

#include <string>

namespace offsetfs::fs {

std::optional<storage::ConfigMap> parse_what_if(std::string_view text) {
  storage::ConfigMap settings;
  std::string* last = nullptr;
  while (true) {
    const auto comma = text.find(',');
    const auto part = text.substr(0, comma);
    const auto equals = part.find('=');
    if (equals != std::string_view::npos) {
      const auto [place, is_new] =
          settings.emplace(part.substr(0, equals), part.substr(equals + 1));
      if (!is_new) return std::nullopt;
      last = &place->second;
    } else if (last != nullptr) {
      last->append(",").append(part);
    } else {
      return std::nullopt;
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  for (const auto& [name, value] : settings)
    if (!storage::check_setting(name, value)) return std::nullopt;
  return settings;
}

}  // namespace offsetfs::fs
