#include "storage/pread_file.h"

#include <utility>

#include "storage/kernel_file.h"

namespace offsetfs::storage {
namespace {

class PreadFile final : public KernelFile {
 public:
  PreadFile(int fd, std::string name, CacheTraits traits)
      : KernelFile(fd, std::move(name), traits) {}

 private:
  Result<void> fill(std::span<Gap> gaps, int rwf_flags) const override {
    return fill_by_pread(gaps, rwf_flags);
  }
};

}  // namespace

std::unique_ptr<File> PreadBackend::adopt(int fd, std::string name) const {
  return std::make_unique<PreadFile>(fd, std::move(name), traits_.of(fd));
}

}  // namespace offsetfs::storage
