#include "mount/logging.h"

#include <memory>
#include <vector>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>

namespace offsetfs::mount {
namespace {

using spdlog::level::level_enum;

level_enum to_spdlog(fs::LogLevel level) {
  switch (level) {
    case fs::LogLevel::kInfo: return level_enum::info;
    case fs::LogLevel::kWarning: return level_enum::warn;
    case fs::LogLevel::kError: return level_enum::err;
  }
  return level_enum::err;
}

// %* in a pattern: the message, escaped. Done here, so that no caller can forget it.
class EscapedMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const auto line = escape_controls({message.payload.data(), message.payload.size()});
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return spdlog::details::make_unique<EscapedMessage>();
  }
};

void set_pattern(spdlog::sinks::sink& sink, const char* pattern) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<EscapedMessage>('*').set_pattern(pattern);
  sink.set_formatter(std::move(formatter));
}

constexpr const char* kDatedLine = "%Y-%m-%dT%H:%M:%S.%e%z %l %*";

spdlog::sink_ptr file_sink(const std::string& path) {
  auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
  set_pattern(*sink, kDatedLine);
  return sink;
}

spdlog::sink_ptr syslog_sink() {
  constexpr bool kFormat = true;
  auto sink =
      std::make_shared<spdlog::sinks::syslog_sink_mt>("offsetfs", LOG_PID, LOG_DAEMON, kFormat);
  set_pattern(*sink, "%*");
  return sink;
}

spdlog::sink_ptr stderr_sink(bool dated) {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  if (!dated) sink->set_level(level_enum::warn);  // a command that works is silent
  set_pattern(*sink, dated ? kDatedLine : "offsetfs: %*");
  return sink;
}

std::vector<spdlog::sink_ptr> make_sinks(const LogSettings& settings) {
  std::vector<spdlog::sink_ptr> sinks;
  if (!settings.file.empty())
    sinks.push_back(file_sink(settings.file));
  else if (!settings.foreground)
    sinks.push_back(syslog_sink());
  if (settings.file.empty() || !settings.foreground)
    sinks.push_back(stderr_sink(settings.foreground));
  return sinks;
}

}  // namespace

storage::Result<void> start_logging(const LogSettings& settings) {
  try {
    const auto sinks = make_sinks(settings);
    auto logger = std::make_shared<spdlog::logger>("offsetfs", sinks.begin(), sinks.end());
    logger->set_level(to_spdlog(settings.level));
    logger->flush_on(level_enum::info);  // lines are few, and wanted when the process is killed
    spdlog::set_default_logger(std::move(logger));
  } catch (const spdlog::spdlog_ex& error) {
    return storage::fail(storage::Errc::kIo,
                         settings.file + ": can't log there: " + error.what() +
                             "; give a file that can be written, or leave --log-file out");
  }
  return {};
}

void log_line(fs::LogLevel level, const std::string& line) {
  spdlog::default_logger_raw()->log(to_spdlog(level), spdlog::string_view_t(line));
}

std::string escape_controls(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string line;
  line.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool is_c1 = byte == 0xC2 && next >= 0x80 && next <= 0x9F;
    if (byte == '\n') {
      line += "\\n";
    } else if (byte == '\t') {
      line += "\\t";
    } else if (byte < 0x20 || byte == 0x7F || is_c1) {
      if (is_c1) ++i;
      const auto shown = is_c1 ? next : byte;
      line += {'\\', 'x', kHex[shown >> 4], kHex[shown & 15]};
    } else {
      line += text[i];
    }
  }
  return line;
}

}  // namespace offsetfs::mount
