#include "storage/metadata_record.h"

#include "storage/flexible_reader.h"

namespace offsetfs::storage {
namespace {

enum RecordType : std::uint32_t {
  kTopic = 2,
  kConfig = 4,
  kRemoveTopic = 9,
  kBeginTransaction = 23,
  kEndTransaction = 24,
  kAbortTransaction = 25,
};

MetadataRecord parse_topic(FlexibleReader& in) {
  TopicRecord record;
  record.name = in.string();
  record.topic_id = in.uuid();
  return record;
}

MetadataRecord parse_config(FlexibleReader& in) {
  ConfigRecord record;
  record.resource_type = in.i8();
  record.resource_name = in.string();
  record.name = in.string();
  if (const auto value = in.nullable_string()) record.value = *value;
  return record;
}

MetadataRecord parse_fields(std::uint32_t type, FlexibleReader& in) {
  switch (type) {
    case kTopic: return parse_topic(in);
    case kConfig: return parse_config(in);
    case kRemoveTopic: return RemoveTopicRecord{in.uuid()};
    case kBeginTransaction: return BeginTransactionRecord{};
    case kEndTransaction: return EndTransactionRecord{};
    case kAbortTransaction: return AbortTransactionRecord{};
    default: return UnusedRecord{type};
  }
}

}  // namespace

Result<MetadataRecord> parse_metadata_record(Bytes value) {
  FlexibleReader in(value);
  const auto frame_version = in.uvarint();
  if (in.ok() && frame_version != 1)
    return fail(Errc::kUnsupported, "metadata record: frame version " +
                                        std::to_string(frame_version) + ", only 1 is known");
  const auto type = in.uvarint();
  const auto version = in.uvarint();
  if (!in.ok()) return fail(Errc::kCorrupt, "metadata record: ends within its first three fields");
  if (version != 0) return UnusedRecord{type};
  auto record = parse_fields(type, in);
  if (std::holds_alternative<UnusedRecord>(record)) return record;
  in.tags();
  if (!in.ok() || !in.at_end())
    return fail(Errc::kCorrupt, "metadata record of type " + std::to_string(type) +
                                    (in.ok() ? ": bytes follow its end" : ": ends too early"));
  return record;
}

}  // namespace offsetfs::storage
