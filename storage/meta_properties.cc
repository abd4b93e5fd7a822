#include "storage/meta_properties.h"

#include <utility>

#include "storage/java_number.h"
#include "storage/java_properties.h"

namespace offsetfs::storage {
namespace {

std::optional<std::string> find(const JavaProperties& properties, std::string_view key) {
  const auto found = properties.find(key);
  if (found == properties.end()) return std::nullopt;
  return found->second;
}

Result<std::optional<std::int32_t>> find_int(const JavaProperties& properties, std::string_view key,
                                             const std::string& name) {
  const auto text = find(properties, key);
  if (!text) return std::nullopt;
  const auto value = parse_java_int(*text);
  if (!value) return fail(Errc::kCorrupt, name + ": " + std::string(key) + " is no number");
  return value;
}

}  // namespace

Result<MetaProperties> parse_meta_properties(std::string_view text, const std::string& name) {
  ASSIGN_OR_RETURN(const auto properties, parse_java_properties(text, name));
  MetaProperties meta;
  ASSIGN_OR_RETURN(const auto version, find_int(properties, "version", name));
  meta.version = version.value_or(0);
  if (meta.version < 0 || meta.version > 1) {
    return fail(Errc::kUnsupported,
                name + ": version " + std::to_string(meta.version) + ", expected 0 or 1");
  }
  meta.cluster_id = find(properties, "cluster.id");
  ASSIGN_OR_RETURN(meta.node_id,
                   find_int(properties, meta.version == 0 ? "broker.id" : "node.id", name));
  if (const auto id = find(properties, "directory.id")) {
    meta.directory_id = parse_uuid(*id);
    if (!meta.directory_id) return fail(Errc::kCorrupt, name + ": directory.id is no id");
  }
  if (meta.version == 1 && (!meta.cluster_id || !meta.node_id)) {
    return fail(Errc::kCorrupt, name + ": cluster.id and node.id are required");
  }
  return meta;
}

}  // namespace offsetfs::storage
