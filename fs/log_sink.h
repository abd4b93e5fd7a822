#pragma once

#include <functional>
#include <string>

namespace offsetfs::fs {

enum class LogLevel { kInfo, kWarning, kError };

// Where messages go. One call is one line, without its newline; control characters are escaped by
// who writes it. Called from any thread; empty: nobody listens.
using LogSink = std::function<void(LogLevel, const std::string&)>;

}  // namespace offsetfs::fs
