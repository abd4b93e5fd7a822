#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "storage/result.h"

namespace offsetfs::mount {

// One line of /proc/self/mountinfo.
//
//   line   := id " " parent " " major ":" minor " " root " " mount_point " " options { " " field }
//             " - " type " " source " " super_options
//
// Blanks, newlines and backslashes in paths are octal escapes (\040). Source: proc(5).
struct MountEntry {
  dev_t dev = 0;
  std::string mount_point;
  std::string type;  // "fuse.offsetfs" for one of ours
  std::string source;

  bool is_offsetfs() const { return type == "fuse.offsetfs"; }
};

using MountTable = std::vector<MountEntry>;  // in the order of mounting

// Lines that are none are left out.
MountTable parse_mount_table(std::string_view mountinfo);
storage::Result<MountTable> read_mount_table();

// The uppermost mount exactly at this path, or null: where several are stacked the last one hides
// the others.
const MountEntry* mount_at(const MountTable& table, std::string_view path);
// The mount of this device, or null.
const MountEntry* mount_of_device(const MountTable& table, dev_t dev);

}  // namespace offsetfs::mount
