#pragma once

#include <memory>
#include <string>

#include "storage/file.h"
#include "storage/io_ring.h"
#include "storage/page_cache.h"
#include "storage/result.h"

namespace offsetfs::storage {

// Reads what is not cached through io_uring: the parts of a large read and all of read_many() are
// in flight together. Threads take rings from a pool; one that finds none reads by pread.
class RingBackend final : public IoBackend {
 public:
  // kIo if the kernel grants no ring; the message says why.
  static Result<std::shared_ptr<const RingBackend>> create(bool allow_dontcache = true);

  std::unique_ptr<File> adopt(int fd, std::string name) const override;
  const char* kind() const override { return "io_uring"; }

 private:
  explicit RingBackend(bool allow_dontcache);

  const CacheTraitsByDevice traits_;
  const std::shared_ptr<IoRingPool> rings_;  // files keep it, they may outlive us
};

}  // namespace offsetfs::storage
