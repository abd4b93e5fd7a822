#pragma once

#include <sys/stat.h>

#include "storage/file.h"

namespace offsetfs::storage {

FileInfo to_file_info(const struct stat& st);

}  // namespace offsetfs::storage
