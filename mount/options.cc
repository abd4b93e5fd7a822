#include "mount/options.h"

#include <memory>

#include <CLI/CLI.hpp>
#include <fuse_lowlevel.h>

#include "mount/command_line.h"
#include "mount/option_list.h"
#include "mount/subcommand.h"

namespace offsetfs::mount {
namespace {

using storage::Errc;
using storage::fail;
using storage::Result;

constexpr const char* kSettings = R"(
Any topic setting of Kafka, as -o retention.ms=3600000: what retention/ takes instead of the one it finds; with
-o append, what the log is written by, rolled and deleted by too.
)";

constexpr const char* kExamples = R"(
Examples:
  offsetfs /var/lib/kafka/data /mnt/kafka       all partitions of a broker
  offsetfs /var/lib/kafka/data/orders-3 /mnt    one partition
  offsetfs /disk1/kafka /disk2/kafka /mnt       a broker's several disks; also /disk1/kafka,/disk2/kafka
  offsetfs --config server.properties /mnt      the disks that log.dirs names
  offsetfs /srv/logs /mnt -o append             logs of one's own: echo hello >> /mnt/orders-0/append
  mount -t fuse.offsetfs SOURCE MOUNTPOINT      the same through mount(8) and fstab; with -o config=FILE
                                                SOURCE may be 'none'
  fusermount3 -u MOUNTPOINT                     ends it; so do SIGTERM, SIGINT and SIGHUP
)";

constexpr const char* kExitCodes = R"(
Exit codes:
   0  mounted and gone to the background; with -f: unmounted
   1  the command line makes no sense
   2  it was mounted, and broke
  32  it could not be mounted: the line on stderr says why, and what to do
)";

// CLI11's own line says "[OPTIONS] [paths...]".
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: offsetfs SOURCE... MOUNTPOINT [-f] [-o OPTION[=VALUE],...]\n"
           "       offsetfs --config FILE MOUNTPOINT [-f] [-o OPTION[=VALUE],...]\n";
  }
};

std::string version_text() {
  return std::string("offsetfs ") + OFFSETFS_VERSION + "\nlibfuse " + fuse_pkgversion() + "\n";
}

// The last path is the mount point, what stands before it the sources. fstab can't leave its first
// field out, so there `none` says that the config names the sources.
Result<void> take_paths(std::vector<std::string> paths, Options& options) {
  const bool has_config = !options.config.empty();
  if (paths.size() == 2 && paths[0] == "none" && has_config) paths.erase(paths.begin());
  if (paths.empty())
    return fail(Errc::kInvalid, "no MOUNTPOINT given: offsetfs SOURCE... MOUNTPOINT");
  if (paths.size() == 1 && !has_config)
    return fail(Errc::kInvalid,
                "no SOURCE given besides " + paths[0] +
                    ": offsetfs SOURCE... MOUNTPOINT, or --config server.properties MOUNTPOINT");
  for (const auto& path : paths)
    if (path.empty()) return fail(Errc::kInvalid, "a SOURCE or MOUNTPOINT is the empty string");
  options.mount_point = std::move(paths.back());
  paths.pop_back();
  options.sources = std::move(paths);
  return {};
}

}  // namespace

Result<std::variant<Options, Printout>> parse_command_line(
    const std::vector<std::string>& arguments) {
  Options options;
  std::vector<std::string> paths;
  std::vector<std::string> lists;
  bool version = false;

  CLI::App app("Shows an Apache Kafka partition log as files.\n", "offsetfs");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "this text");
  app.add_option("path", paths)->group("");
  app.add_option("-o", lists, "options, below")->allow_extra_args(false)->option_text("OPTION,...");
  app.add_option("--config", options.config,
                 "a broker's server.properties: its log.dirs are the sources")
      ->option_text("FILE");
  app.add_option(
         "--metadata-log", options.metadata_log,
         "where __cluster_metadata-0 lies, if not in a source: topic settings for retention/")
      ->option_text("DIR");
  app.add_option("--log-file", options.log_file, "where to log, instead of stderr (-f) or syslog")
      ->option_text("FILE");
  app.add_flag("--force", options.appending.force,
               "with -o append: even in a directory that belongs to a broker");
  app.add_flag("-f,--foreground", options.foreground, "stay in the foreground");
  app.add_flag("-d,--debug", options.debug, "print every request; implies -f");
  app.add_flag("-V,--version", version, "versions of offsetfs and libfuse");
  app.footer("Options of -o:\n" + describe_option_list() + kSettings + kExamples +
             "\nBesides mounting:\n" + describe_subcommands() + kExitCodes);

  ASSIGN_OR_RETURN(auto help, parse_arguments(app, arguments));
  if (help) return std::move(*help);
  if (version) return Printout{version_text()};

  for (const auto& list : lists) RETURN_IF_ERROR(apply_option_list(list, options));
  RETURN_IF_ERROR(take_paths(std::move(paths), options));
  if (options.debug) options.foreground = true;
  options.tree.default_permissions = options.default_permissions;
  if (options.appending.force) options.given_for_append = "force";
  if (!options.append && !options.given_for_append.empty())
    return fail(Errc::kInvalid, "-o " + options.given_for_append +
                                    ": nothing is written without -o append; add that, or leave "
                                    "this out");
  return options;
}

}  // namespace offsetfs::mount
