#include "storage/ring_file.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "storage/kernel_file.h"

namespace offsetfs::storage {
namespace {

// More threads than this don't read at once in the mount; each ring costs a descriptor.
constexpr std::size_t kMostRings = 16;
// A large gap is read in pieces, so that the device has more than one to do.
constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

class RingFile final : public KernelFile {
 public:
  RingFile(int fd, std::string name, CacheTraits traits, std::shared_ptr<IoRingPool> rings)
      : KernelFile(fd, std::move(name), traits), rings_(std::move(rings)) {}

 private:
  Result<void> fill(std::span<Gap> gaps, int rwf_flags) const override {
    auto ring = rings_->take();
    if (!ring) return fill_by_pread(gaps, rwf_flags);
    auto pieces = cut(gaps);
    if (!ring->read_all(fd(), pieces, rwf_flags)) {
      ring.reset();
      rings_->lost();
      return fill_by_pread(gaps, rwf_flags);
    }
    rings_->give_back(std::move(ring));
    return join(gaps, pieces);
  }

  static std::vector<RingRead> cut(std::span<const Gap> gaps) {
    std::vector<RingRead> pieces;
    for (const auto& gap : gaps) {
      for (std::size_t from = 0; from < gap.buffer.size(); from += kPieceBytes) {
        const auto size = std::min(kPieceBytes, gap.buffer.size() - from);
        pieces.emplace_back(gap.position + static_cast<std::int64_t>(from),
                            gap.buffer.subspan(from, size));
      }
    }
    return pieces;
  }

  Result<void> join(std::span<Gap> gaps, std::span<const RingRead> pieces) const {
    auto piece = pieces.begin();
    for (auto& gap : gaps) {
      gap.bytes_read = 0;
      bool ended = false;
      for (std::size_t from = 0; from < gap.buffer.size(); from += kPieceBytes, ++piece) {
        if (piece->sys_errno() != 0) return read_failed(piece->sys_errno(), piece->position());
        if (!ended) gap.bytes_read += piece->bytes_read();
        ended = ended || !piece->buffer().empty();
      }
    }
    return {};
  }

  const std::shared_ptr<IoRingPool> rings_;
};

}  // namespace

RingBackend::RingBackend(bool allow_dontcache)
    : traits_(allow_dontcache), rings_(std::make_shared<IoRingPool>(kMostRings)) {}

Result<std::shared_ptr<const RingBackend>> RingBackend::create(bool allow_dontcache) {
  ASSIGN_OR_RETURN(auto ring, IoRing::create());
  std::shared_ptr<const RingBackend> backend(new RingBackend(allow_dontcache));
  backend->rings_->add(std::move(ring));
  return backend;
}

std::unique_ptr<File> RingBackend::adopt(int fd, std::string name) const {
  return std::make_unique<RingFile>(fd, std::move(name), traits_.of(fd), rings_);
}

}  // namespace offsetfs::storage
