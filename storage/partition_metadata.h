#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/result.h"
#include "storage/uuid.h"

namespace offsetfs::storage {

// `partition.metadata` of a partition directory: which incarnation of its topic this is.
//
//   text := "version: " number "\n" "topic_id: " uuid      later versions may add lines
//
// Source: Kafka's PartitionMetadataFile.
struct PartitionMetadata {
  std::int32_t version = 0;
  Uuid topic_id;
};

// kCorrupt where a broker would refuse the file; messages say name and line.
Result<PartitionMetadata> parse_partition_metadata(std::string_view text, const std::string& name);
std::string render_partition_metadata(const PartitionMetadata& metadata);

}  // namespace offsetfs::storage
