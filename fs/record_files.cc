#include "fs/record_files.h"

#include <algorithm>
#include <string>
#include <utility>

#include "fs/renderer.h"

namespace offsetfs::fs {
namespace {

using storage::Bytes;
using storage::Errc;
using storage::Offset;
using storage::RecordLookup;
using storage::Result;
using Outcome = RecordLookup::Outcome;

// Up to this a value is copied out of its batch, so that a few bytes that somebody keeps open do
// not hold a whole batch in memory.
constexpr std::size_t kCopyBytes = 4096;

storage::Error absence(const RecordLookup& lookup) {
  switch (lookup.outcome) {
    case Outcome::kDamaged: return {Errc::kCorrupt, 0, lookup.reason};
    case Outcome::kBelowLogStart: return {Errc::kOutOfRange, 0, lookup.reason};
    case Outcome::kPresent:
    case Outcome::kControl:
    case Outcome::kCompacted:
    case Outcome::kPastLogEnd:
    case Outcome::kAboveHighWatermark: break;
  }
  return {Errc::kNotFound, 0, lookup.reason};
}

timespec mtime_of(const PartitionView& view, const storage::Record& record,
                  const storage::BatchHeader& header, Offset segment_base_offset) {
  if (record.timestamp != storage::kNoTimestamp) return to_timespec(record.timestamp);
  if (header.max_timestamp != storage::kNoTimestamp) return to_timespec(header.max_timestamp);
  return view.access.mtime_of_segment(segment_base_offset);
}

// Below the high watermark nothing is ever replaced, and the kernel may keep it.
double timeout_of(const PartitionView& view, Offset offset) {
  return view.is_final(offset) ? kForever : kNever;
}

std::shared_ptr<const Content> content_of(const RecordLookup& lookup,
                                          const std::optional<Bytes>& bytes) {
  if (!bytes || bytes->size() <= kCopyBytes)
    return std::make_shared<const Content>(std::string(bytes.value_or(Bytes{})));
  return std::make_shared<const Content>(*bytes, lookup.bytes);
}

}  // namespace

Result<RecordLookup> find_plain_record(const PartitionView& view, Offset offset,
                                       bool show_control) {
  ASSIGN_OR_RETURN(RecordLookup lookup, view.log->find(offset));
  if (lookup.outcome == Outcome::kPresent) return lookup;
  if (lookup.outcome == Outcome::kControl && show_control) return lookup;
  return storage::fail(absence(lookup));
}

NodeFacts plain_record_facts(const PartitionView& view, const storage::Record& record,
                             const storage::BatchHeader& header, Offset segment_base_offset) {
  NodeFacts facts;
  facts.access = view.access.of_segment(segment_base_offset);
  facts.size_bytes = static_cast<std::int64_t>(record.value.value_or(Bytes{}).size());
  facts.mtime = mtime_of(view, record, header, segment_base_offset);
  facts.attr_timeout = timeout_of(view, record.offset);
  // What it holds never changes, but that it is there: retention and compaction take records away.
  facts.entry_timeout = std::min(facts.attr_timeout, kBriefly);
  return facts;
}

Result<NodeFacts> record_facts(const PartitionView& view, const Node& node, bool show_control) {
  // Markers are shown by their JSON whatever the options say.
  ASSIGN_OR_RETURN(
      const RecordLookup lookup,
      find_plain_record(view, Offset{node.number}, show_control || node.form == Form::kJson));
  storage::BatchHeader header = lookup.place->header;
  header.base_offset = lookup.batch_base_offset;
  const Offset segment_base_offset = lookup.place->segment_base_offset;
  NodeFacts facts = plain_record_facts(view, lookup.record, header, segment_base_offset);
  switch (node.form) {
    case Form::kJson:
      facts.content = std::make_shared<const Content>(render_record_json(
          view.context, header, lookup.record, segment_base_offset, lookup.place->position));
      break;
    case Form::kKey: facts.content = content_of(lookup, lookup.record.key); break;
    default: facts.content = content_of(lookup, lookup.record.value);
  }
  facts.size_bytes = static_cast<std::int64_t>(facts.content->bytes().size());
  return facts;
}

}  // namespace offsetfs::fs
