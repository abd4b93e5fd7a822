#pragma once

#include <string>
#include <variant>
#include <vector>

#include "mount/options.h"
#include "storage/log_creation.h"
#include "storage/result.h"

namespace offsetfs::mount {

// `offsetfs create DIR --topic TOPIC [--partition P] [-o SETTING=VALUE,...] [--broker]`: an empty
// log of a partition, in a directory that `offsetfs append`, a mount with -o append and a broker
// take.

// kInvalid: one line that says what is wrong and what to do.
storage::Result<std::variant<storage::NewLog, Printout>> parse_create(
    const std::vector<std::string>& arguments);

int run_create(const std::vector<std::string>& arguments);

}  // namespace offsetfs::mount
