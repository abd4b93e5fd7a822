#pragma once

#include "mount/options.h"

namespace offsetfs::mount {

// Mounts what the options name, serves it until it is unmounted, and returns the process's exit
// code. Failures before it serves are one line on stderr. Without -f only a child returns from
// here.
int run(const Options& options);

// Prints the one line.
int fail_with(ExitCode code, const std::string& line);

}  // namespace offsetfs::mount
