#pragma once

#include <string>
#include <string_view>

#include "fs/log_sink.h"
#include "storage/result.h"

namespace offsetfs::mount {

struct LogSettings {
  bool foreground = false;
  std::string file = {};  // empty: stderr in the foreground, else syslog
  fs::LogLevel level = fs::LogLevel::kInfo;
};

// Sets the process's log up; call once, before anything is logged. A process that is to go to the
// background logs to stderr too: as long as that is open somebody waits at the other end.
// A line is one line whatever it holds: control characters are escaped.
storage::Result<void> start_logging(const LogSettings& settings);

// Any thread.
void log_line(fs::LogLevel level, const std::string& line);

// Control characters as \n, \t or \xHH, among them those that UTF-8 spells in two bytes (U+0080 to
// U+009F): names from a source must not drive the terminal that shows them.
std::string escape_controls(std::string_view text);

}  // namespace offsetfs::mount
