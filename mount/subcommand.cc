#include "mount/subcommand.h"

#include <algorithm>

#include "mount/append.h"
#include "mount/create.h"

namespace offsetfs::mount {
namespace {

constexpr Subcommand kSubcommands[] = {
    {"create", "create DIR --topic TOPIC [--partition P]", "makes an empty log, to be appended to",
     run_create},
    {"append", "append DIR [--jsonl] [--key-separator TEXT]",
     "appends what comes on stdin to a log, a record a line", run_append},
};

}  // namespace

std::span<const Subcommand> subcommands() { return kSubcommands; }

const Subcommand* find_subcommand(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return nullptr;
  const auto found = std::ranges::find(kSubcommands, arguments.front(), &Subcommand::name);
  return found == std::end(kSubcommands) ? nullptr : &*found;
}

std::string describe_subcommands() {
  std::string text;
  for (const auto& subcommand : kSubcommands)
    text.append("  offsetfs ")
        .append(subcommand.usage)
        .append("\n      ")
        .append(subcommand.help)
        .append("; see offsetfs ")
        .append(subcommand.name)
        .append(" --help\n");
  return text;
}

}  // namespace offsetfs::mount
