#include <cstdio>

#include "mount/options.h"
#include "mount/run.h"

int main(int argc, char** argv) {
  using namespace offsetfs::mount;
  const auto command_line = parse_command_line({argv + 1, argv + argc});
  if (!command_line) return fail_with(kExitUsage, command_line.error().what);
  if (const auto* printout = std::get_if<Printout>(&*command_line))
    return std::fputs(printout->text.c_str(), stdout) < 0 ? kExitUsage : kExitOk;
  return run(std::get<Options>(*command_line));
}
