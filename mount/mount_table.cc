#include "mount/mount_table.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <ranges>

#include <sys/sysmacros.h>

namespace offsetfs::mount {
namespace {

std::string_view take_field(std::string_view& line) {
  const auto end = line.find(' ');
  const auto field = line.substr(0, end);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return field;
}

bool is_octal(std::string_view digits) {
  return digits.size() == 3 &&
         std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '7'; });
}

std::string unescape(std::string_view field) {
  std::string path;
  for (std::size_t i = 0; i < field.size(); ++i) {
    const auto digits = field.substr(i + 1).substr(0, 3);
    if (field[i] == '\\' && is_octal(digits)) {
      path += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0'));
      i += 3;
    } else {
      path += field[i];
    }
  }
  return path;
}

std::optional<MountEntry> parse_line(std::string_view line) {
  MountEntry entry;
  take_field(line);  // id
  take_field(line);  // parent
  unsigned major = 0, minor = 0;
  if (std::sscanf(std::string(take_field(line)).c_str(), "%u:%u", &major, &minor) != 2) return {};
  entry.dev = makedev(major, minor);
  take_field(line);  // root
  entry.mount_point = unescape(take_field(line));
  while (!line.empty() && take_field(line) != "-") continue;
  entry.type = unescape(take_field(line));
  entry.source = unescape(take_field(line));
  if (entry.type.empty()) return {};
  return entry;
}

}  // namespace

MountTable parse_mount_table(std::string_view mountinfo) {
  MountTable table;
  while (!mountinfo.empty()) {
    const auto end = std::min(mountinfo.find('\n'), mountinfo.size());
    if (auto entry = parse_line(mountinfo.substr(0, end))) table.push_back(std::move(*entry));
    mountinfo.remove_prefix(std::min(end + 1, mountinfo.size()));
  }
  return table;
}

storage::Result<MountTable> read_mount_table() {
  std::ifstream file("/proc/self/mountinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty())
    return storage::fail(storage::Errc::kIo, "can't read /proc/self/mountinfo; is /proc mounted?");
  return parse_mount_table(text);
}

const MountEntry* mount_at(const MountTable& table, std::string_view path) {
  const auto last_first = table | std::views::reverse;
  const auto found = std::ranges::find(last_first, path, &MountEntry::mount_point);
  return found == last_first.end() ? nullptr : &*found;
}

const MountEntry* mount_of_device(const MountTable& table, dev_t dev) {
  const auto found = std::ranges::find(table, dev, &MountEntry::dev);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace offsetfs::mount
