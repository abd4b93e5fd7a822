#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/result.h"
#include "storage/uuid.h"

namespace offsetfs::storage {

// `meta.properties` at the root of a log directory: whose it is. Version 0 was written under
// ZooKeeper, version 1 under KRaft. Source: Kafka's MetaProperties.
struct MetaProperties {
  std::int32_t version = 0;
  std::optional<std::string> cluster_id;
  std::optional<std::int32_t> node_id;  // version 0: broker.id
  std::optional<Uuid> directory_id;
};

// kUnsupported for another version, kCorrupt for a malformed or missing property that is required.
// Unknown properties are passed over.
Result<MetaProperties> parse_meta_properties(std::string_view text, const std::string& name);

}  // namespace offsetfs::storage
