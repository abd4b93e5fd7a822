#pragma once

#include <string>
#include <variant>
#include <vector>

#include "fs/append_options.h"
#include "fs/node.h"
#include "mount/options.h"
#include "storage/log_config.h"
#include "storage/result.h"

namespace offsetfs::mount {

// `offsetfs append DIR [--jsonl] [--key-separator TEXT]`: lines of stdin become records of a log,
// as by a mount's `append` and `append.jsonl`, without a mount.

struct AppendRequest {
  std::string dir;  // a partition's directory, or a log directory that holds one
  fs::Form form = fs::Form::kRaw;
  fs::AppendOptions options;
  storage::ConfigMap settings;  // by hand
};

// kInvalid: one line that says what is wrong and what to do.
storage::Result<std::variant<AppendRequest, Printout>> parse_append(
    const std::vector<std::string>& arguments);

int run_append(const std::vector<std::string>& arguments);

}  // namespace offsetfs::mount
