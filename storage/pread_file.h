#pragma once

#include <memory>
#include <string>

#include "storage/file.h"

namespace offsetfs::storage {

// Reads by pread: works everywhere, one read at a time per thread.
class PreadBackend final : public IoBackend {
 public:
  std::unique_ptr<File> adopt(int fd, std::string name) const override;
  const char* kind() const override { return "pread"; }
};

}  // namespace offsetfs::storage
