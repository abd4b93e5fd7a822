#pragma once

#include <string>

#include "fs/followers.h"
#include "fs/node.h"
#include "fs/stats.h"
#include "fs/streams.h"
#include "storage/log_source.h"
#include "storage/problems.h"

namespace offsetfs::fs {

// The files of both roots.
bool is_tree_text(NodeKind kind);

// `stats`: `name value` lines.
std::string stats_text(const Stats& stats, const storage::LogSource& source, const Streams& streams,
                       const Followers& followers);

// `problems.jsonl`: an object for each thing that could not be read: file, position (null: the
// whole file) and what. Only those of files whose name begins with `below`.
std::string problem_lines(const storage::Problems& problems, const std::string& below);

}  // namespace offsetfs::fs
