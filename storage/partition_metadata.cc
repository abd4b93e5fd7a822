#include "storage/partition_metadata.h"

#include <optional>

#include "storage/java_number.h"
#include "storage/text_lines.h"

namespace offsetfs::storage {
namespace {

// "key: value"; the value stands behind a colon and whitespace.
std::optional<std::string_view> value_of(std::string_view key, TextLines& lines) {
  const auto line = lines.next();
  if (!line || !line->starts_with(key) || !line->substr(key.size()).starts_with(':')) {
    return std::nullopt;
  }
  const auto rest = line->substr(key.size() + 1);
  const auto value = rest.find_first_not_of(" \t");
  if (value == 0 || value == std::string_view::npos) return std::nullopt;
  return rest.substr(value);
}

}  // namespace

Result<PartitionMetadata> parse_partition_metadata(std::string_view text, const std::string& name) {
  TextLines lines(text);
  PartitionMetadata metadata;
  const auto version_text = value_of("version", lines);
  const auto version = version_text ? parse_java_int(*version_text) : std::nullopt;
  if (!version || *version < 0) {
    return fail(Errc::kCorrupt, name + ":1: expected \"version: N\"");
  }
  metadata.version = *version;
  const auto id_text = value_of("topic_id", lines);
  const auto id = id_text ? parse_uuid(*id_text) : std::nullopt;
  if (!id || id->is_zero()) {
    return fail(Errc::kCorrupt, name + ":2: expected \"topic_id: \" and a topic's id");
  }
  metadata.topic_id = *id;
  return metadata;
}

std::string render_partition_metadata(const PartitionMetadata& metadata) {
  return "version: " + std::to_string(metadata.version) +
         "\ntopic_id: " + metadata.topic_id.to_string();
}

}  // namespace offsetfs::storage
