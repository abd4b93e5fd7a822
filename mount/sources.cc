#include "mount/sources.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <system_error>
#include <thread>

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mount/mount_point.h"
#include "mount/mount_table.h"
#include "storage/dir.h"
#include "storage/java_properties.h"
#include "storage/segment_files.h"
#include "storage/topic_partition.h"

namespace offsetfs::mount {
namespace {

using storage::Errc;
using storage::fail;
using storage::Result;
using storage::SourceDir;

// How many directories of a wrong SOURCE are looked into for the right one.
constexpr int kMostGuesses = 200;
constexpr off_t kMostConfigBytes = 1 << 20;

enum class DirectoryKind { kEmpty, kOther, kLogDir, kPartition };

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of_user(uid_t user) {
  const passwd* entry = ::getpwuid(user);
  return entry ? entry->pw_name : "user " + std::to_string(user);
}

// By its own name or by what it holds: a partition that was copied may be called anything.
Result<DirectoryKind> kind_of(const SourceDir& dir, const std::string& below) {
  auto kind = DirectoryKind::kEmpty;
  RETURN_IF_ERROR(dir.list(below, [&](const SourceDir::Entry& entry) {
    const bool is_directory = entry.kind == SourceDir::Kind::kDirectory;
    if (!is_directory && storage::parse_segment_file(entry.name)) {
      kind = DirectoryKind::kPartition;
      return false;
    }
    if (entry.name == "meta.properties" ||
        (is_directory && storage::parse_partition_dir(entry.name)))
      kind = DirectoryKind::kLogDir;
    else if (kind == DirectoryKind::kEmpty)
      kind = DirectoryKind::kOther;
    return true;
  }));
  return kind;
}

// A directory directly below that would do as a source; empty: none.
std::string better_source_below(const SourceDir& dir) {
  std::vector<std::string> names;
  const auto listed = dir.list("", [&](const SourceDir::Entry& entry) {
    if (entry.kind == SourceDir::Kind::kDirectory) names.emplace_back(entry.name);
    return names.size() < kMostGuesses;
  });
  if (!listed) return {};
  std::ranges::sort(names);
  for (const auto& name : names) {
    const auto kind = kind_of(dir, name);
    if (kind && *kind == DirectoryKind::kLogDir) return name;
  }
  return {};
}

tl::unexpected<storage::Error> describe_unreachable(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
      return fail(Errc::kNotFound,
                  path + ": the source does not exist; give a Kafka data directory (log.dirs in " +
                      "server.properties)");
    case ENOTDIR:
      return fail(Errc::kInvalid, path + ": a part of the path is no directory; check it");
    case EACCES: {
      struct stat status {};
      const bool known = ::stat(path.c_str(), &status) == 0;
      const std::string owner =
          known ? name_of_user(status.st_uid) : std::string("the owner of the data");
      return fail(Errc::kIo, path +
                                 ": the source can't be read: Permission denied; run offsetfs as " +
                                 (owner == "root" ? owner : owner + " or as root"));
    }
    case ENOTCONN:
      return fail(Errc::kIo, path + ": the source lies on a file system whose daemon is dead; " +
                                 "unmount it and mount it again");
    default: return storage::fail_errno(error, path + ": the source can't be read");
  }
}

tl::unexpected<storage::Error> describe_file(const std::string& path) {
  const auto name = path.substr(path.rfind('/') + 1);
  const bool is_segment = storage::parse_segment_file(name).has_value();
  return fail(Errc::kInvalid,
              path + ": the source is a file; give " +
                  (is_segment ? "its directory: " + parent_of(path) : "a Kafka data directory"));
}

tl::unexpected<storage::Error> describe_alien(const SourceDir& dir, DirectoryKind kind) {
  const auto& path = dir.path();
  if (kind == DirectoryKind::kEmpty)
    return fail(Errc::kInvalid, path + ": the source is empty; give a Kafka data directory " +
                                    "(log.dirs in server.properties)");
  const auto better = better_source_below(dir);
  return fail(Errc::kInvalid,
              path + ": the source holds no partition and no segment; " +
                  (better.empty() ? "give a Kafka data directory (log.dirs in server.properties)"
                                  : "give " + path + (path.ends_with('/') ? "" : "/") + better));
}

Result<void> check_file_system(const std::string& path, dev_t dev) {
  ASSIGN_OR_RETURN(const auto table, read_mount_table());
  const auto* there = mount_of_device(table, dev);
  if (there == nullptr || !there->is_offsetfs()) return {};
  return fail(Errc::kInvalid, path + ": the source lies on an offsetfs mount; give what that one " +
                                  "shows: " + there->source);
}

// The source's absolute path.
Result<std::string> check_source(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return describe_unreachable(path, errno);
  if (!S_ISDIR(status.st_mode)) return describe_file(path);
  RETURN_IF_ERROR(check_file_system(path, status.st_dev));

  static const auto plain_reads = storage::make_io_backend(storage::IoChoice::kPread, nullptr);
  auto dir = SourceDir::open(path, plain_reads);
  if (!dir) return describe_unreachable(path, dir.error().sys_errno);
  const auto kind = kind_of(**dir, "");
  if (!kind) return describe_unreachable(path, kind.error().sys_errno);
  if (*kind == DirectoryKind::kLogDir || *kind == DirectoryKind::kPartition)
    return (*dir)->real_path();
  return describe_alien(**dir, *kind);
}

// The same, of a source that may not answer: the thread that asks it is left behind then, and gone
// before anything else is begun where it answers.
Result<std::string> check_source_in_time(const std::string& path,
                                         std::chrono::milliseconds timeout) {
  const auto check = std::make_shared<std::packaged_task<Result<std::string>()>>(
      [path] { return check_source(path); });
  auto checked = check->get_future();
  std::thread asker;
  try {
    asker = std::thread([check] { (*check)(); });
  } catch (const std::system_error&) {
    return check_source(path);  // no thread can be made: asked without a limit, then
  }
  if (checked.wait_for(timeout) == std::future_status::ready) {
    asker.join();
    return checked.get();
  }
  asker.detach();
  return fail(Errc::kIo, path +
                             ": the source does not answer (-o io_timeout); is the server or the " +
                             "daemon of its file system alive?");
}

Result<std::string> read_config(const std::string& path) {
  struct stat status {};
  std::ifstream file(path);
  const bool is_config = ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
                         status.st_size <= kMostConfigBytes;
  if (!is_config || !file.is_open())
    return fail(Errc::kIo, path + ": the config can't be read; give a broker's server.properties");
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

Result<std::vector<std::string>> named_sources(const Options& options) {
  std::vector<std::string> paths;
  for (const auto& source : options.sources)
    for (auto& path : split_source(source, exists)) paths.push_back(std::move(path));
  if (!paths.empty() || options.config.empty()) return paths;
  ASSIGN_OR_RETURN(const auto text, read_config(options.config));
  return log_dirs_of(text, options.config);
}

}  // namespace

Result<storage::ConfigMap> server_properties(const Options& options) {
  if (options.config.empty()) return storage::ConfigMap{};
  ASSIGN_OR_RETURN(const auto text, read_config(options.config));
  return storage::parse_java_properties(text, options.config);
}

std::vector<std::string> split_source(const std::string& source,
                                      const std::function<bool(const std::string&)>& exists) {
  if (source.find(',') == std::string::npos || exists(source)) return {source};
  std::vector<std::string> paths(1);
  for (std::size_t i = 0; i < source.size(); ++i) {
    const bool is_escaped_comma = source.compare(i, 2, "\\,") == 0;
    if (source[i] == ',')
      paths.emplace_back();
    else
      paths.back() += source[is_escaped_comma ? ++i : i];
  }
  for (auto& path : paths) path = trimmed(path);
  std::erase(paths, "");
  return paths;
}

Result<std::vector<std::string>> log_dirs_of(std::string_view properties, const std::string& file) {
  ASSIGN_OR_RETURN(const auto settings, storage::parse_java_properties(properties, file));
  for (const char* key : {"log.dirs", "log.dir"}) {
    const auto found = settings.find(key);
    if (found == settings.end()) continue;
    auto paths = split_source(found->second, [](const std::string&) { return false; });
    if (!paths.empty()) return paths;
  }
  return fail(Errc::kInvalid,
              file + ": names no log.dirs and no log.dir; give the data directory as SOURCE");
}

Result<SourcePaths> find_sources(const Options& options) {
  ASSIGN_OR_RETURN(auto given, named_sources(options));
  if (given.empty()) return fail(Errc::kInvalid, "SOURCE names no directory; give one");
  const std::chrono::milliseconds timeout(options.tree.io_timeout_ms);
  SourcePaths sources;
  for (auto& path : given) {
    ASSIGN_OR_RETURN(auto real, check_source_in_time(path, timeout));
    if (!path.starts_with('/')) path = real;
    sources.real.push_back(std::move(real));
  }
  sources.given = std::move(given);
  return sources;
}

Result<void> check_log_file(const std::string& log_file, const SourcePaths& sources) {
  if (log_file.empty()) return {};
  const auto directory = parent_of(log_file);
  for (const auto& source : sources.real) {
    const auto within = lies_within(directory, source);
    if (!within)
      return fail(Errc::kIo, log_file + ": can't log there: " + within.error().what +
                                 "; give a file in a directory that exists");
    if (*within)
      return fail(Errc::kInvalid, log_file + ": a log inside the source " + source +
                                      " would change it; give a file outside");
  }
  return {};
}

}  // namespace offsetfs::mount
