#pragma once

#include <memory>
#include <string>

#include "storage/file.h"
#include "storage/page_cache.h"

namespace offsetfs::storage {

// Reads by pread: works everywhere, one read at a time per thread.
class PreadBackend final : public IoBackend {
 public:
  explicit PreadBackend(bool allow_dontcache = true) : traits_(allow_dontcache) {}
  std::unique_ptr<File> adopt(int fd, std::string name) const override;
  const char* kind() const override { return "pread"; }

 private:
  const CacheTraitsByDevice traits_;
};

}  // namespace offsetfs::storage
