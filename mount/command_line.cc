#include "mount/command_line.h"

#include <cerrno>
#include <cstdio>

#include <CLI/CLI.hpp>

#include "mount/run.h"

namespace offsetfs::mount {

using storage::fail;
using storage::Result;

Result<std::optional<Printout>> parse_arguments(CLI::App& app,
                                                const std::vector<std::string>& arguments) {
  try {
    // CLI11 takes them from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    return Printout{app.help()};
  } catch (const CLI::ParseError& error) {
    return fail(storage::Errc::kInvalid,
                std::string(error.what()) + "; see " + app.get_name() + " --help");
  }
  return std::nullopt;
}

Result<void> print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return {};
  return storage::fail_errno(errno, "stdout can't be written");
}

int show(const Printout& printout) {
  const auto printed = print(printout.text);
  return printed ? kExitOk : fail_with(kExitFailed, printed.error().what);
}

}  // namespace offsetfs::mount
