#pragma once

#include <optional>
#include <string_view>

#include "storage/log_config.h"

namespace offsetfs::fs {

// `K=V,K=V` of retention/what-if/: settings by their topic names. Nothing for what is no such list:
// an unknown setting, a value it can't have, a setting twice. `cleanup.policy=compact,delete` is
// told from a list by there being no '=' behind its comma.
std::optional<storage::ConfigMap> parse_what_if(std::string_view text);

}  // namespace offsetfs::fs
