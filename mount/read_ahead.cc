#include "mount/read_ahead.h"

#include <fstream>

#include <sys/sysmacros.h>

#include "mount/mount_table.h"

namespace offsetfs::mount {
namespace {

constexpr int kReadAheadKib = 1024;

}  // namespace

void widen_read_ahead(const std::string& mount_point) {
  const auto table = read_mount_table();
  if (!table) return;
  const MountEntry* entry = mount_at(*table, mount_point);
  if (entry == nullptr || !entry->is_offsetfs()) return;
  std::ofstream file("/sys/class/bdi/" + std::to_string(major(entry->dev)) + ":" +
                     std::to_string(minor(entry->dev)) + "/read_ahead_kb");
  file << kReadAheadKib << '\n';
}

}  // namespace offsetfs::mount
