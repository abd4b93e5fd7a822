#pragma once

#include <string_view>

namespace offsetfs::fs {

// The content of `README`: the names of a partition's tree with examples, and of a log directory's.
std::string_view partition_readme();
std::string_view broker_readme();
// CACHEDIR.TAG: backup programs leave a directory alone that holds it (bford.info/cachedir).
std::string_view cache_dir_tag();

}  // namespace offsetfs::fs
