#pragma once

#include <string>
#include <variant>
#include <vector>

#include "fs/append_options.h"
#include "fs/log_sink.h"
#include "fs/mount_options.h"
#include "storage/file.h"
#include "storage/log_watcher.h"
#include "storage/result.h"

namespace offsetfs::mount {

// The command line as a struct. Nothing here was looked up yet: paths are as the user typed them.
struct Options {
  std::vector<std::string> sources;  // a SOURCE may still be several, joined by commas
  std::string mount_point;
  std::string config;        // a server.properties; empty: none
  std::string metadata_log;  // where __cluster_metadata-0 lies; empty: in the source, if anywhere

  fs::FileSystemOptions tree;
  storage::IoChoice io = storage::IoChoice::kAuto;
  storage::LogWatcher::How watch = storage::LogWatcher::How::kAuto;

  // Nothing in a source is ever changed, unless `append`.
  bool append = false;
  fs::AppendOptions appending;
  std::string given_for_append;  // an option that means nothing without it

  bool until_high_watermark = false;  // hide what lies above the checkpointed high watermark
  bool allow_other = false;           // never without default_permissions
  bool default_permissions = false;   // the kernel checks the modes
  bool nonempty = false;              // the mount point may hold files

  bool foreground = false;
  bool debug = false;    // libfuse prints every request; implies foreground
  std::string log_file;  // empty: stderr in the foreground, else syslog
  fs::LogLevel log_level = fs::LogLevel::kInfo;
};

// What --help and --version ask for: text for stdout, then exit code 0.
struct Printout {
  std::string text;
};

// Understands what people type and what mount(8) passes on: `offsetfs SOURCE MOUNTPOINT -o
// rw,dev,suid,...`. kInvalid: one line that says what is wrong and what to do.
storage::Result<std::variant<Options, Printout>> parse_command_line(
    const std::vector<std::string>& arguments);  // without the program's name

// How the process ends; mount(8) gives a helper's exit code as its own, so these are its numbers.
enum ExitCode {
  kExitOk = 0,      // in the background: it is mounted; in the foreground: it was unmounted
  kExitUsage = 1,   // the command line makes no sense
  kExitBroken = 2,  // it was mounted and serving, and broke
  kExitFailed = 2,  // of a subcommand: it could not do it
  kExitNotMounted = 32,
};

}  // namespace offsetfs::mount
