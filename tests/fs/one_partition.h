#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "fs/partitions.h"
#include "storage/log_dir.h"
#include "tests/support/test_backend.h"

namespace offsetfs::tests {

// A source of one partition directory, and its view.
struct OnePartition {
  explicit OnePartition(const std::string& dir, storage::LogDir::Options options = {}) {
    auto opened = storage::LogDir::open({dir}, test_backend(), std::move(options));
    if (!opened) throw std::runtime_error(opened.error().what);
    source = *opened;
    partitions = std::make_unique<const fs::Partitions>(source);
    view = partitions->view(source->partitions()->front().id).value();
  }

  std::shared_ptr<const storage::LogDir> source;
  std::unique_ptr<const fs::Partitions> partitions;
  std::shared_ptr<const fs::PartitionView> view;
};

}  // namespace offsetfs::tests
