#include <string>
#include <variant>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "mount/command_line.h"
#include "mount/options.h"
#include "mount/run.h"
#include "mount/stop_signals.h"
#include "mount/subcommand.h"

namespace {

// Whoever started us may have closed them: what we open must never pass for one of them.
void open_standard_streams() {
  int fd = 0;
  do fd = ::open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) ::close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace offsetfs::mount;
  open_standard_streams();
  let_writes_fail();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (const auto* subcommand = find_subcommand(arguments))
    return subcommand->run({arguments.begin() + 1, arguments.end()});
  const auto command_line = parse_command_line(arguments);
  if (!command_line) return fail_with(kExitUsage, command_line.error().what);
  if (const auto* printout = std::get_if<Printout>(&*command_line)) return show(*printout);
  return run(std::get<Options>(*command_line));
}
