#include "mount/run.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <malloc.h>
#include <sys/resource.h>

#include "fs/file_system.h"
#include "fs/settings_sources.h"
#include "fs/written_logs.h"
#include "mount/background.h"
#include "mount/fuse_access.h"
#include "mount/logging.h"
#include "mount/mount_point.h"
#include "mount/mounted.h"
#include "mount/sources.h"
#include "mount/stop_signals.h"
#include "storage/log_dir.h"

namespace offsetfs::mount {
namespace {

using storage::Result;

// Left to itself glibc gives each of the serving threads a heap of its own, and each keeps what its
// largest request once took: 120,000 random lookups by ten readers in logs of all codecs left 97 MB
// resident, with these settings 34 MB, in the same time.
void keep_heap_small() {
  ::mallopt(M_ARENA_MAX, 2);
  ::mallopt(M_MMAP_THRESHOLD, 256 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

// Readers hold files open, as many as they like: so this process takes all the descriptors that it
// may have. Returns how many it was given, which segments that are kept open go by: more of those
// would cost memory, and gain little.
std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  const std::uint64_t given = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // else it stays as it is
  return given;
}

void log_problem(const storage::Problem& problem) {
  const auto place = problem.position < 0 ? "" : ", position " + std::to_string(problem.position);
  log_line(fs::LogLevel::kWarning, problem.file + place + ": " + problem.what);
}

std::shared_ptr<const storage::IoBackend> start_io(storage::IoChoice choice) {
  std::string refusal;
  auto io = storage::make_io_backend(choice, &refusal);
  if (!refusal.empty())
    log_line(fs::LogLevel::kInfo, "io_uring is refused (" + refusal + "); reading with pread");
  return io;
}

Result<std::shared_ptr<const storage::LogDir>> open_source(const Options& options,
                                                           const SourcePaths& sources,
                                                           std::uint64_t descriptors) {
  storage::LogDir::Options settings;
  settings.log.limits.decompressed_bytes = options.tree.decompressed_limit_bytes;
  settings.log.show_control = options.tree.show_control;
  settings.descriptors = descriptors;
  settings.on_problem = log_problem;
  settings.log.until_high_watermark = options.until_high_watermark;
  settings.io_timeout = std::chrono::milliseconds(options.tree.io_timeout_ms);
  settings.watch = options.watch;
  settings.on_notice = [](const std::string& line) { log_line(fs::LogLevel::kInfo, line); };
  ASSIGN_OR_RETURN(auto log_dir,
                   storage::LogDir::open(sources.given, start_io(options.io), std::move(settings)));
  return log_dir;
}

// Where retention/ takes settings from: the config, a metadata log that was pointed to, the broker
// whose directories these are.
Result<storage::Settings::Sources> settings_of(const Options& options,
                                               const storage::LogDir& source) {
  auto settings = options.tree.settings;
  ASSIGN_OR_RETURN(settings.server_properties, server_properties(options));
  settings.broker = source.files().front()->node_id();
  if (options.metadata_log.empty()) return settings;
  ASSIGN_OR_RETURN(settings.metadata_dir,
                   storage::SourceDir::open(options.metadata_log, source.dirs().front()->io()));
  storage::Problems problems;
  if (auto loaded = storage::ClusterMetadata::load(*settings.metadata_dir, problems); !loaded)
    return storage::fail(storage::Errc::kInvalid,
                         "--metadata-log " + loaded.error().what +
                             "; give the metadata.log.dir of a KRaft node, or its "
                             "__cluster_metadata-0");
  return settings;
}

std::string joined(const std::vector<std::string>& paths) {
  std::string text;
  for (const auto& path : paths) text += (text.empty() ? "" : ",") + path;
  return text;
}

MountRequest mount_request(const Options& options, const SourcePaths& sources,
                           std::string mount_point) {
  return {.mount_point = std::move(mount_point),
          .shown_source = joined(sources.real),
          .writable = options.append,
          .allow_other = options.allow_other,
          .default_permissions = options.default_permissions,
          .debug = options.debug};
}

// The one place from which a mount comes to change its source.
Result<std::shared_ptr<fs::WrittenLogs>> open_to_write(const Options& options,
                                                       const storage::LogDir& source,
                                                       const storage::Settings::Sources& given) {
  const storage::Settings settings(fs::settings_sources(source, given), source.problems());
  return fs::WrittenLogs::open(source, settings, {.append = options.appending, .log = &log_line});
}

Result<void> serve(Mounted& mounted, StopSignals& signals, int threads) {
  signals.watch([&](int signal) {
    log_line(fs::LogLevel::kInfo, "signal " + std::to_string(signal) + ": unmounting");
    mounted.stop();
  });
  auto served = mounted.serve(threads);
  signals.unwatch();
  return served;
}

// A mount that stands, ready to serve: the file system before the mount, so that it goes after it.
struct Standing {
  std::shared_ptr<fs::WrittenLogs> written;  // with -o append, else null
  std::unique_ptr<fs::FileSystem> file_system;
  std::unique_ptr<Mounted> mounted;
  int threads = 0;
};

// Those who wait for a source that does not answer must leave some who serve the rest.
int threads_for(const Options& options, const storage::LogDir& source) {
  for (const auto& dir : source.dirs())
    if (dir->is_guarded()) return options.tree.threads + 2 * storage::SourceGuard::kMostWaiting;
  return options.tree.threads;
}

// A mount that never served leaves its directories as they were.
void give_back(const Standing& standing) {
  if (standing.written != nullptr) (void)standing.written->close();  // it logs what fails
}

// Everything that can fail while somebody still waits for the command.
Result<Standing> stand_up(const Options& options, const SourcePaths& sources,
                          std::uint64_t descriptors) {
  RETURN_IF_ERROR(start_logging(
      {.foreground = options.foreground, .file = options.log_file, .level = options.log_level}));
  RETURN_IF_ERROR(check_fuse_access(FuseAccess::of_this_process(options.allow_other)));
  ASSIGN_OR_RETURN(
      auto mount_point,
      prepare_mount_point({.path = options.mount_point,
                           .sources = sources.real,
                           .nonempty = options.nonempty,
                           .log = [](const auto& l) { log_line(fs::LogLevel::kWarning, l); }}));
  ASSIGN_OR_RETURN(auto source, open_source(options, sources, descriptors));

  Standing standing;
  auto tree = options.tree;
  ASSIGN_OR_RETURN(tree.settings, settings_of(options, *source));
  tree.segments_ahead = static_cast<std::int64_t>(storage::OpenSegments::most_for(descriptors));
  standing.threads = threads_for(options, *source);
  if (options.append) {
    ASSIGN_OR_RETURN(standing.written, open_to_write(options, *source, tree.settings));
  }
  standing.file_system =
      std::make_unique<fs::FileSystem>(std::move(source), tree, &log_line, standing.written);
  auto mounted = Mounted::mount(*standing.file_system,
                                mount_request(options, sources, std::move(mount_point)));
  if (!mounted) {
    give_back(standing);
    return storage::fail(std::move(mounted.error()));
  }
  standing.mounted = std::move(*mounted);
  return standing;
}

Result<SourcePaths> look_at_sources(const Options& options) {
  ASSIGN_OR_RETURN(auto sources, find_sources(options));
  RETURN_IF_ERROR(check_log_file(options.log_file, sources));
  return sources;
}

}  // namespace

int fail_with(ExitCode code, const std::string& line) {
  std::fprintf(stderr, "offsetfs: %s\n", escape_controls(line).c_str());
  return code;
}

int run(const Options& options) {
  const auto sources = look_at_sources(options);
  if (!sources) return fail_with(kExitNotMounted, sources.error().what);

  auto background = options.foreground ? Background() : Background::enter();
  keep_heap_small();
  StopSignals signals;
  const auto standing = stand_up(options, *sources, raise_descriptor_limit());
  if (!standing) return fail_with(kExitNotMounted, standing.error().what);
  if (!background.ready()) {
    give_back(*standing);
    return kExitNotMounted;
  }

  log_line(fs::LogLevel::kInfo, joined(sources->real) + " is mounted" +
                                    (options.append ? ", and what is appended is written" : ""));
  const auto served = serve(*standing->mounted, signals, standing->threads);
  if (!served) log_line(fs::LogLevel::kError, served.error().what);
  // Before the mount goes: who waits for that may mount again at once. It logs what fails.
  const bool closed = standing->written == nullptr || standing->written->close();
  return served && closed ? kExitOk : kExitBroken;
}

}  // namespace offsetfs::mount
