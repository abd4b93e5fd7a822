#include "mount/append.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "fs/settings_sources.h"
#include "fs/written_logs.h"
#include "mount/command_line.h"
#include "mount/option_list.h"
#include "mount/run.h"
#include "mount/sources.h"
#include "mount/stop_signals.h"
#include "storage/codec.h"
#include "storage/log_dir.h"
#include "storage/topic_partition.h"

namespace offsetfs::mount {
namespace {

using storage::Errc;
using storage::fail;
using storage::LogSource;
using storage::Offset;
using storage::Result;

constexpr std::size_t kReadBytes = 1 << 20;

constexpr const char* kFooter = R"(
DIR is a partition's directory, as offsetfs create prints it, or a log directory that holds one partition.
While it is appended to nobody else can: not a broker, not a mount with -o append.

An object has the form that records.jsonl shows: {"payload":"...","key":"...","headers":["name","value"],"ts":MS};
payload is required, null makes a tombstone. What else records.jsonl says is passed over.

When all is read, the records are durable, and one line says what was written:
  orders-0: 4000 records, offsets 0..3999

Examples:
  seq 1000 | offsetfs append /srv/logs/orders-0
  offsetfs append --key-separator : --compression zstd /srv/logs/orders-0 < lines
  cat /mnt/orders-0/records.jsonl | offsetfs append --jsonl /srv/copy/orders-0

Exit codes:
   0  all of stdin is in the log
   1  the command line makes no sense
   2  it could not be appended: the line on stderr says from where on, why, and what to do
)";

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: offsetfs append DIR [--jsonl] [--key-separator TEXT] [-o SETTING=VALUE,...] < "
           "FILE\n";
  }
};

// Ctrl-C ends the reading, not the writing: what was read is appended, and the log closed.
volatile std::sig_atomic_t stopped_by = 0;

void stop_at_signals() {
  struct sigaction action {};
  action.sa_handler = [](int signal) { stopped_by = signal; };  // no SA_RESTART: read() comes back
  for (const int signal : stop_signals()) ::sigaction(signal, &action, nullptr);
}

// What was appended.
struct Tally {
  std::optional<Offset> first;
  Offset last{};
  std::int64_t records = 0;

  void note(const storage::LogWriter::Appended& appended) {
    if (!first) first = appended.base_offset;
    last = appended.last_offset;
    records += last - appended.base_offset + 1;
  }
  std::string text() const {
    if (!first) return "no records";
    return std::to_string(records) + (records == 1 ? " record, offset " : " records, offsets ") +
           std::to_string(first->value) + (records == 1 ? "" : ".." + std::to_string(last.value));
  }
};

// The command that makes a log in a directory, or of its name.
std::string create_command(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const auto name_at = path.rfind('/') + 1;  // 0 where there is no slash
  const auto named = storage::parse_partition_dir(path.substr(name_at));
  if (!named || named->state != storage::DirState::kLive)
    return "offsetfs create " + path + " --topic TOPIC";
  const auto& [topic, partition] = named->topic_partition;
  return "offsetfs create " + (name_at == 0 ? "." : path.substr(0, name_at)) + " --topic " + topic +
         (partition == 0 ? "" : " --partition " + std::to_string(partition));
}

// Whoever appends has no broker whose directory there would be to give.
Result<void> check_holds_something(const std::string& path) {
  std::error_code error;
  if (std::filesystem::status(path, error).type() == std::filesystem::file_type::not_found)
    return fail(Errc::kNotFound,
                path + ": does not exist; make a log there: " + create_command(path));
  if (std::filesystem::is_directory(path, error) && std::filesystem::is_empty(path, error))
    return fail(Errc::kInvalid, path + ": holds no log; make one: " + create_command(path));
  return {};
}

Result<std::shared_ptr<const storage::LogDir>> open_dir(const std::string& path) {
  Options options;
  options.sources = {path};
  RETURN_IF_ERROR(check_holds_something(path));
  RETURN_IF_ERROR(find_sources(options));  // its errors say more
  return storage::LogDir::open({path}, storage::make_io_backend(storage::IoChoice::kPread, nullptr),
                               {});
}

// A log directory with one log in it stands for that.
Result<std::shared_ptr<const storage::LogDir>> open_partition(const std::string& path) {
  ASSIGN_OR_RETURN(auto dir, open_dir(path));
  if (dir->is_single_partition()) return dir;
  const auto partitions = dir->partitions();
  const std::string slash = path.ends_with('/') ? "" : "/";
  if (partitions->empty())
    return fail(Errc::kInvalid, path + ": holds no log; make one: " + create_command(path));
  if (partitions->size() > 1)
    return fail(Errc::kInvalid, path + ": holds " + std::to_string(partitions->size()) +
                                    " logs; give one of them, as " + path + slash +
                                    partitions->front().name);
  return open_dir(path + slash + partitions->front().name);
}

Result<void> append_all(fs::RecordAppender& writer) {
  std::string buffer(kReadBytes, '\0');
  while (stopped_by == 0) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return storage::fail_errno(errno, "stdin");
    if (got == 0) break;
    storage::Bytes bytes(buffer.data(), static_cast<std::size_t>(got));
    while (!bytes.empty()) {
      ASSIGN_OR_RETURN(const std::size_t taken, writer.write(bytes));
      bytes.remove_prefix(taken);
    }
  }
  // A line that a signal cut off is no record.
  return stopped_by != 0 ? writer.flush() : writer.finish_line();
}

// Whoever gives all of it again has what is in the log twice.
const char* what_to_give(const storage::Error& error) {
  const bool is_bad_line = error.sys_errno == EINVAL || error.sys_errno == EMSGSIZE;
  return is_bad_line ? "; mend it, and give what comes behind that again" : "; go on behind that";
}

Result<Tally> append(const AppendRequest& request, std::string& name) {
  ASSIGN_OR_RETURN(const auto source, open_partition(request.dir));
  name = source->partitions()->front().name;
  storage::Settings::Sources given;
  given.command_line = request.settings;
  const storage::Settings settings(fs::settings_sources(*source, std::move(given)),
                                   source->problems());
  std::atomic<bool> closing = false;
  const auto log = [&](fs::LogLevel level, const std::string& line) {
    if (level == fs::LogLevel::kInfo) return;
    if (level == fs::LogLevel::kError && closing) return;  // close() returns it
    fail_with(kExitFailed, "append: " + line);
  };
  ASSIGN_OR_RETURN(const auto logs, fs::WrittenLogs::open(*source, settings,
                                                          {.append = request.options, .log = log}));
  Tally tally;
  fs::RecordAppender::Options options;
  options.name = "stdin";
  options.form = request.form;
  options.on_appended = [&](const auto& appended) { tally.note(appended); };
  auto writer = logs->add_writer(source->partitions()->front().id, std::move(options));
  auto appended = append_all(*writer);
  if (auto flushed = writer->flush(); appended) appended = std::move(flushed);
  closing = true;
  const auto closed = logs->close();
  if (appended && stopped_by != 0)
    appended = fail(Errc::kIo, "stopped by signal " + std::to_string(stopped_by));
  if (appended && closed) return tally;
  const auto& error = appended ? closed.error() : appended.error();
  return fail(Errc::kIo, error.what +
                             (closed ? "; in the log: " : "; in the log, maybe not durable: ") +
                             tally.text() + what_to_give(error));
}

}  // namespace

Result<std::variant<AppendRequest, Printout>> parse_append(
    const std::vector<std::string>& arguments) {
  AppendRequest request;
  std::vector<std::string> lists;
  std::string batch_bytes;
  std::string compression;
  bool jsonl = false;

  CLI::App app("Appends what comes on stdin to a log, a record a line.\n", "offsetfs append");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "this text");
  app.add_option("DIR", request.dir)->group("")->option_text("DIR");
  app.add_flag("--jsonl", jsonl, "lines are objects, as records.jsonl has them");
  app.add_option("--key-separator", request.options.key_separator,
                 "lines are KEY, TEXT, VALUE (lines have no keys)")
      ->option_text("TEXT");
  app.add_option("--compression", compression,
                 "none, gzip, snappy, lz4 or zstd (the topic's compression.type)")
      ->option_text("CODEC");
  app.add_option("--batch-bytes", batch_bytes, "what a batch holds at most, uncompressed (16384)")
      ->option_text("BYTES");
  app.add_option("--linger-ms", request.options.linger_ms,
                 "how long a batch waits for more records (0)")
      ->option_text("MS")
      ->check(CLI::Range(0, 3'600'000));
  app.add_option("-o", lists, "topic settings, instead of those beside the log")
      ->allow_extra_args(false)
      ->option_text("SETTING=VALUE,...");
  app.add_flag("--force", request.options.force, "even in a directory that belongs to a broker");
  app.footer(kFooter);

  ASSIGN_OR_RETURN(auto help, parse_arguments(app, arguments));
  if (help) return std::move(*help);
  if (request.dir.empty())
    return fail(Errc::kInvalid, "append: no DIR given: offsetfs append DIR < FILE");
  if (app.count("--key-separator") > 0 && request.options.key_separator.empty())
    return fail(Errc::kInvalid,
                "append: --key-separator '': expected what stands between key and value; leave it "
                "out where lines have no keys");
  if (jsonl && !request.options.key_separator.empty())
    return fail(
        Errc::kInvalid,
        "append: --jsonl and --key-separator: an object names its key itself; leave one out");
  request.form = jsonl ? fs::Form::kJsonl : fs::Form::kRaw;
  if (!batch_bytes.empty()) {
    const auto bytes = parse_bytes(batch_bytes);
    if (!bytes || *bytes == 0)
      return fail(Errc::kInvalid, "append: --batch-bytes " + batch_bytes +
                                      ": expected a number of bytes, as 16384 or 1M");
    request.options.batch_bytes = *bytes;
  }
  if (!compression.empty()) {
    request.options.codec = storage::codec_named(compression);
    if (!request.options.codec)
      return fail(Errc::kInvalid, "append: --compression " + compression +
                                      ": expected none, gzip, snappy, lz4 or zstd");
  }
  for (const auto& list : lists) RETURN_IF_ERROR(apply_setting_list(list, request.settings));
  return request;
}

int run_append(const std::vector<std::string>& arguments) {
  const auto parsed = parse_append(arguments);
  if (!parsed) return fail_with(kExitUsage, parsed.error().what);
  if (const auto* printout = std::get_if<Printout>(&*parsed)) return show(*printout);
  stop_at_signals();
  std::string name;
  const auto done = append(std::get<AppendRequest>(*parsed), name);
  if (!done) return fail_with(kExitFailed, "append: " + done.error().what);
  const std::string answer = name + ": " + done->text();
  if (const auto said = print(answer + "\n"); !said)
    return fail_with(kExitFailed,
                     "append: " + said.error().what + "; done all the same: " + answer);
  return kExitOk;
}

}  // namespace offsetfs::mount
