#include "mount/libfuse_log.h"

#include <array>
#include <cstdarg>
#include <cstdio>

#include <fcntl.h>
#include <fuse_log.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mount/logging.h"

namespace offsetfs::mount {
namespace {

std::string join_lines(std::string_view text) {
  std::string joined;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    if (end > 0) joined += (joined.empty() ? "" : "; ") + std::string(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return joined;
}

fs::LogLevel to_log_level(fuse_log_level level) {
  if (level <= FUSE_LOG_ERR) return fs::LogLevel::kError;
  if (level <= FUSE_LOG_WARNING) return fs::LogLevel::kWarning;
  return fs::LogLevel::kInfo;
}

void log_message(fuse_log_level level, const char* format, va_list arguments) {
  std::array<char, 1024> text{};
  std::vsnprintf(text.data(), text.size(), format, arguments);
  log_line(to_log_level(level), join_lines(text.data()));
}

}  // namespace

CaughtStderr::CaughtStderr()
    : real_stderr_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)),
      memory_(::memfd_create("stderr", MFD_CLOEXEC)) {
  if (real_stderr_ && memory_) ::dup2(memory_.get(), STDERR_FILENO);
}

CaughtStderr::~CaughtStderr() {
  if (real_stderr_ && memory_) ::dup2(real_stderr_.get(), STDERR_FILENO);
}

std::string CaughtStderr::said() const {
  std::array<char, 4096> text{};
  const auto size = memory_ ? ::pread(memory_.get(), text.data(), text.size(), 0) : 0;
  return join_lines({text.data(), size > 0 ? static_cast<std::size_t>(size) : 0});
}

void log_libfuse_messages() { ::fuse_set_log_func(&log_message); }

}  // namespace offsetfs::mount
