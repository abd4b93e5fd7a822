#include "storage/file.h"
#include "storage/pread_file.h"

namespace offsetfs::storage {

std::shared_ptr<const IoBackend> make_io_backend(IoChoice choice, std::string* refusal) {
  if (refusal != nullptr) refusal->clear();
  (void)choice;
  return std::make_shared<PreadBackend>();
}

}  // namespace offsetfs::storage
