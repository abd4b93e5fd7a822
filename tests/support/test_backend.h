#pragma once

#include <memory>

#include "storage/file.h"

namespace offsetfs::tests {

// The backend that the environment names (OFFSETFS_TEST_IO=pread or ring), else whatever the kernel
// grants: the same tests run over both.
std::shared_ptr<const storage::IoBackend> test_backend();

}  // namespace offsetfs::tests
