#include "tests/support/test_backend.h"

#include <cstdlib>
#include <string_view>

namespace offsetfs::tests {

std::shared_ptr<const storage::IoBackend> test_backend() {
  const char* named = std::getenv("OFFSETFS_TEST_IO");
  const std::string_view wanted = named == nullptr ? "" : named;
  if (wanted == "pread") return storage::make_io_backend(storage::IoChoice::kPread, nullptr);
  if (wanted == "ring") return storage::make_io_backend(storage::IoChoice::kRing, nullptr);
  return storage::make_io_backend(storage::IoChoice::kAuto, nullptr);
}

}  // namespace offsetfs::tests
