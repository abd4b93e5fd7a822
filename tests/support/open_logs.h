#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/log_dir.h"
#include "storage/partition_log.h"

namespace offsetfs::tests {

// Sources over directories that a test made; all throw std::runtime_error with the reason.
std::shared_ptr<const storage::LogDir> open_source(const std::vector<std::string>& paths,
                                                   storage::LogDir::Options options = {});
// The partition that the mount would show by this name.
std::shared_ptr<const storage::PartitionLog> open_log(const storage::LogDir& source,
                                                      const std::string& name);

}  // namespace offsetfs::tests
