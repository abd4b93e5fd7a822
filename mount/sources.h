#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "mount/options.h"
#include "storage/log_config.h"
#include "storage/result.h"

namespace offsetfs::mount {

// The directories to show, found and looked at. Each failure is one line with a cure: most of them
// are a path one level too high or too low.

struct SourcePaths {
  std::vector<std::string> given;  // as the user or the config wrote them; a relative one in full,
                                   // since what is told of it is read elsewhere
  std::vector<std::string> real;   // absolute, links resolved; the same order
};

// What `options` names: SOURCEs, each of which may be several joined by commas, or log.dirs of the
// config. Every one exists, can be listed, holds partitions or segments, and does not lie on an
// offsetfs mount. What sources may be mounted together is LogDir's to say.
storage::Result<SourcePaths> find_sources(const Options& options);

// "/disk1/kafka,/disk2/kafka" -> two, blanks around a comma dropped; a path that exists as it is
// written, commas and all, is one. "\," is a comma of a path.
std::vector<std::string> split_source(const std::string& source,
                                      const std::function<bool(const std::string&)>& exists);

// log.dirs, else log.dir of a server.properties; `file` for the message that it has neither.
storage::Result<std::vector<std::string>> log_dirs_of(std::string_view properties,
                                                      const std::string& file);

// What the config says; empty where none was given.
storage::Result<storage::ConfigMap> server_properties(const Options& options);

// Refused if it would be written inside a source: nothing there is ever changed.
storage::Result<void> check_log_file(const std::string& log_file, const SourcePaths& sources);

}  // namespace offsetfs::mount
