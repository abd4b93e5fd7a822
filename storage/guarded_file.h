#pragma once

#include <memory>

#include "storage/file.h"
#include "storage/source_guard.h"

namespace offsetfs::storage {

// A file whose reads are given up after a while. They go through a buffer of their own, which they
// keep should they never end.
std::unique_ptr<File> guarded(std::unique_ptr<File> file, std::shared_ptr<const SourceGuard> guard);

}  // namespace offsetfs::storage
