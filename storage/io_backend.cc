#include <utility>

#include "storage/file.h"
#include "storage/pread_file.h"
#include "storage/ring_file.h"

namespace offsetfs::storage {

std::shared_ptr<const IoBackend> make_io_backend(IoChoice choice, std::string* refusal) {
  if (refusal != nullptr) refusal->clear();
  if (choice != IoChoice::kPread) {
    auto ring = RingBackend::create();
    if (ring) return *ring;
    if (refusal != nullptr) *refusal = std::move(ring.error().what);
  }
  return std::make_shared<PreadBackend>();
}

}  // namespace offsetfs::storage
