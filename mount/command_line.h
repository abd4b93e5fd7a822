#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mount/options.h"
#include "storage/result.h"

namespace CLI {
class App;
}

// What the commands share: how arguments are read, and answers printed.
namespace offsetfs::mount {

// Has `app` take the arguments; a printout: --help was among them. kInvalid: one line that sends to
// the app's --help.
storage::Result<std::optional<Printout>> parse_arguments(CLI::App& app,
                                                         const std::vector<std::string>& arguments);

// To stdout, flushed; kIo.
storage::Result<void> print(const std::string& text);

// Prints it, or says on stderr why not, and gives the process's exit code.
int show(const Printout& printout);

}  // namespace offsetfs::mount
