#include "storage/offset_checkpoint.h"

#include <vector>

#include "storage/checkpoint_file.h"
#include "storage/java_number.h"

namespace offsetfs::storage {

Result<OffsetCheckpoint> parse_offset_checkpoint(std::string_view text, const std::string& name) {
  OffsetCheckpoint checkpoint;
  RETURN_IF_ERROR(parse_checkpoint(
      text, name, 3,
      [&](std::span<const std::string_view> fields, const std::string& where) -> Result<void> {
        const auto partition = parse_java_int(fields[1]);
        const auto offset = parse_java_long(fields[2]);
        if (!partition || !offset) {
          return fail(Errc::kCorrupt, where + ": partition or offset is no number");
        }
        checkpoint[{std::string(fields[0]), *partition}] = Offset{*offset};
        return {};
      }));
  return checkpoint;
}

std::string render_offset_checkpoint(const OffsetCheckpoint& checkpoint) {
  std::vector<std::string> entries;
  entries.reserve(checkpoint.size());
  for (const auto& [topic_partition, offset] : checkpoint) {
    entries.push_back(topic_partition.topic + " " + std::to_string(topic_partition.partition) +
                      " " + std::to_string(offset.value));
  }
  return render_checkpoint(entries);
}

}  // namespace offsetfs::storage
