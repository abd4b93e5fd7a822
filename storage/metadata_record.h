#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "storage/result.h"
#include "storage/units.h"
#include "storage/uuid.h"

// The records of the cluster's metadata log (`__cluster_metadata-0`), as far as settings need them.
//
//   value := frame_version: uv (1)  record_type: uv  record_version: uv  fields  tags
//
// Types this program does not use, and versions it does not know, are an UnusedRecord: they are
// delimited by the record that holds them, so nothing is lost by passing over them.
// Source: Kafka's MetadataRecordSerde and the schemas of its metadata module.

namespace offsetfs::storage {

struct TopicRecord {
  std::string name;
  Uuid topic_id;
};
struct RemoveTopicRecord {
  Uuid topic_id;
};
struct ConfigRecord {
  static constexpr std::int8_t kTopicResource = 2;
  static constexpr std::int8_t kBrokerResource = 4;  // resource name "": the cluster-wide default
  std::int8_t resource_type = 0;
  std::string resource_name;
  std::string name;
  std::optional<std::string> value;  // null: the setting is removed
};
// Records between begin and end apply together; after an abort they are void.
struct BeginTransactionRecord {};
struct EndTransactionRecord {};
struct AbortTransactionRecord {};
struct UnusedRecord {
  std::uint32_t type = 0;
};

using MetadataRecord =
    std::variant<UnusedRecord, TopicRecord, RemoveTopicRecord, ConfigRecord, BeginTransactionRecord,
                 EndTransactionRecord, AbortTransactionRecord>;

// kUnsupported: a frame version other than 1. kCorrupt: bytes that are no such record.
Result<MetadataRecord> parse_metadata_record(Bytes value);

}  // namespace offsetfs::storage
