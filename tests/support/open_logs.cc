#include "tests/support/open_logs.h"

#include <stdexcept>
#include <utility>

#include "tests/support/test_backend.h"

namespace offsetfs::tests {

std::shared_ptr<const storage::LogDir> open_source(const std::vector<std::string>& paths,
                                                   storage::LogDir::Options options) {
  auto opened = storage::LogDir::open(paths, test_backend(), std::move(options));
  if (!opened) throw std::runtime_error(opened.error().what);
  return *opened;
}

std::shared_ptr<const storage::PartitionLog> open_log(const storage::LogDir& source,
                                                      const std::string& name) {
  for (const auto partitions = source.partitions(); const auto& partition : *partitions) {
    if (partition.name != name) continue;
    auto log = source.open(partition.id);
    if (!log) throw std::runtime_error(log.error().what);
    return *log;
  }
  throw std::runtime_error("the source shows no partition " + name);
}

}  // namespace offsetfs::tests
