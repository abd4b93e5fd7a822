#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace offsetfs::mount {

// What the program does besides mounting: `offsetfs NAME ...`. A new one is one row of the table in
// subcommand.cc; the line of offsetfs --help comes from it. A source that is called like one is
// given as ./NAME.
struct Subcommand {
  std::string_view name;
  std::string_view usage;  // what follows `offsetfs `, as --help shows it
  std::string_view help;
  // Gets what follows its name, and gives the process's exit code. Failures are one line on stderr.
  int (*run)(const std::vector<std::string>& arguments);
};

std::span<const Subcommand> subcommands();

// Null: the arguments (without the program's name) are those of a mount.
const Subcommand* find_subcommand(const std::vector<std::string>& arguments);

// The table as text, for --help.
std::string describe_subcommands();

}  // namespace offsetfs::mount
