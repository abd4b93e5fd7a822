#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mount/options.h"
#include "storage/log_config.h"
#include "storage/result.h"

namespace offsetfs::mount {

// One word of the -o list. A new option is one row of the table: --help, the errors and the
// suggestions come from it.
struct OptionRow {
  std::string_view name;
  std::string_view value;  // what may follow '=', as --help shows it; empty: nothing may
  std::string_view help;   // with the default
  // False: not a value of this kind.
  bool (*apply)(std::string_view value, Options& options);
};

std::span<const OptionRow> option_rows();

// Reads one `-o` argument: words joined by commas ("\," is a comma in a value). Words that mount(8)
// or fstab send along and that mean nothing to a read-only mount are passed over. kInvalid for any
// other word, naming the nearest known one.
storage::Result<void> apply_option_list(std::string_view list, Options& options);

// The same list for a subcommand: topic settings only, into `settings`.
storage::Result<void> apply_setting_list(std::string_view list, storage::ConfigMap& settings);

// "4096", "256M": K, M, G, T are powers of 1024.
std::optional<std::int64_t> parse_bytes(std::string_view text);

// The table as text, for --help.
std::string describe_option_list();

}  // namespace offsetfs::mount
