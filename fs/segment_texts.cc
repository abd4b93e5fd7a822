#include "fs/segment_texts.h"

#include <algorithm>
#include <utility>

#include "fs/segment_damage.h"
#include "fs/segment_info.h"
#include "fs/segment_tables.h"

namespace offsetfs::fs {
namespace {

using storage::Errc;
using storage::Result;
using storage::SegmentEntry;
using storage::SegmentFile;
using storage::SegmentSuffix;

// Up to here a text is made for a mere stat.
constexpr std::int64_t kSmallSourceBytes = 64 << 10;
// From here on making it takes long enough to be out of the way of others.
constexpr std::int64_t kLargeSourceBytes = 1 << 20;
// What damage.jsonl may come to is not known before it was looked for. It must not be 0: some tools
// don't open what is empty.
constexpr std::int64_t kUnknownDamageBytes = 4096;

// The file that a text is made of.
SegmentFile source_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kSegmentOffsetIndex: return SegmentFile::kOffsetIndex;
    case NodeKind::kSegmentTimeIndex: return SegmentFile::kTimeIndex;
    case NodeKind::kSegmentTransactionIndex: return SegmentFile::kTransactionIndex;
    case NodeKind::kSegmentProducers: return SegmentFile::kProducerSnapshot;
    default: return SegmentFile::kLog;
  }
}

// The most that a source of so many bytes may come to.
std::int64_t text_bound(NodeKind kind, std::int64_t source_bytes) {
  switch (kind) {
    case NodeKind::kSegmentOffsetIndex: return kTableHeaderBytes + source_bytes / 8 * 32;
    case NodeKind::kSegmentTimeIndex: return kTableHeaderBytes + source_bytes / 12 * 42;
    case NodeKind::kSegmentTransactionIndex: return kTableHeaderBytes + source_bytes / 34 * 90;
    case NodeKind::kSegmentDamage: return kUnknownDamageBytes;
    default: return source_bytes * 10;
  }
}

// No more than who may read the records, whatever the index's own mode.
SourceFacts facts_of(const PartitionView& view, const SegmentEntry& entry, NodeKind kind) {
  const auto log_facts = view.access.segment_file(entry, SegmentFile::kLog);
  SourceFacts facts{view.access.of_directory_content(), 0, 0};
  if (log_facts) facts = *log_facts;
  if (source_of(kind) == SegmentFile::kLog) return facts;
  const auto own = view.access.segment_file(entry, source_of(kind));
  facts.size_bytes = 0;
  if (!own) return facts;
  return {narrowest(facts.access, own->access), own->mtime_ns, own->size_bytes};
}

bool is_scan(NodeKind kind) { return kind == NodeKind::kSegmentDamage; }

}  // namespace

Result<SegmentEntry> segment_entry(const PartitionView& view, const Node& node) {
  const auto suffix = static_cast<SegmentSuffix>(node.suffix);
  const auto segments =
      suffix == SegmentSuffix::kNone ? view.log->segments() : view.log->set_aside();
  // Both are in the order of base offsets, and there may be many.
  const storage::Offset base_offset{node.number};
  auto found = std::ranges::lower_bound(*segments, base_offset, {}, &SegmentEntry::base_offset);
  const auto is_it = [&](const SegmentEntry& entry) {
    return (suffix == SegmentSuffix::kNone || entry.suffix == suffix) &&
           entry.generation == node.generation;
  };
  while (found != segments->end() && found->base_offset == base_offset && !is_it(*found)) ++found;
  if (found == segments->end() || found->base_offset != base_offset)
    return storage::fail(Errc::kNotFound, "no such segment");
  return *found;
}

bool SegmentTexts::is_one(NodeKind kind) {
  switch (kind) {
    case NodeKind::kSegmentOffsetIndex:
    case NodeKind::kSegmentTimeIndex:
    case NodeKind::kSegmentTransactionIndex:
    case NodeKind::kSegmentProducers:
    case NodeKind::kSegmentInfo:
    case NodeKind::kSegmentDamage: return true;
    default: return false;
  }
}

std::optional<std::int64_t> SegmentTexts::known_size(const Node& node, const SourceFacts& source) {
  const storage::MutexLock lock(mutex_);
  const auto found = made_.find({node.partition, node.number, node.suffix, node.kind});
  if (found == made_.end() || found->second.source_bytes != source.size_bytes ||
      found->second.source_mtime_ns != source.mtime_ns)
    return std::nullopt;
  return found->second.text_bytes;
}

Result<NodeFacts> SegmentTexts::facts(const PartitionView& view, const Node& node) {
  ASSIGN_OR_RETURN(const SegmentEntry entry, segment_entry(view, node));
  const SourceFacts source = facts_of(view, entry, node.kind);
  NodeFacts facts;
  facts.access = source.access;
  facts.mtime = ns_to_timespec(source.mtime_ns);
  facts.entry_timeout = view.keep();
  const bool is_small = node.kind == NodeKind::kSegmentInfo ||
                        (!is_scan(node.kind) && source.size_bytes <= kSmallSourceBytes);
  if (is_small) {
    ASSIGN_OR_RETURN(std::string made, text(view, node, {}));
    facts.content = std::make_shared<const Content>(std::move(made));
    facts.size_bytes = static_cast<std::int64_t>(facts.content->bytes().size());
  } else {
    facts.size_bytes = known_size(node, source).value_or(text_bound(node.kind, source.size_bytes));
  }
  return facts;
}

bool SegmentTexts::opens_slowly(const PartitionView& view, const Node& node) {
  const auto entry = segment_entry(view, node);
  if (!entry) return false;
  const SourceFacts source = facts_of(view, *entry, node.kind);
  return node.kind != NodeKind::kSegmentInfo && source.size_bytes > kLargeSourceBytes;
}

Result<std::string> SegmentTexts::text(const PartitionView& view, const Node& node,
                                       std::stop_token stop) {
  ASSIGN_OR_RETURN(const SegmentEntry entry, segment_entry(view, node));
  const SourceFacts source = facts_of(view, entry, node.kind);
  const auto make = [&]() -> Result<std::string> {
    switch (node.kind) {
      case NodeKind::kSegmentOffsetIndex: return offset_index_table(view, entry);
      case NodeKind::kSegmentTimeIndex: return time_index_table(view, entry);
      case NodeKind::kSegmentTransactionIndex: return transaction_index_table(view, entry);
      case NodeKind::kSegmentProducers: return producer_snapshot_lines(view, entry);
      case NodeKind::kSegmentDamage: return damage_lines(view, entry, stop);
      default: return segment_info(view, entry);
    }
  };
  ASSIGN_OR_RETURN(std::string made, make());
  const storage::MutexLock lock(mutex_);
  if (made_.size() >= kMostMade) made_.clear();
  made_[{node.partition, node.number, node.suffix, node.kind}] = {
      source.size_bytes, source.mtime_ns, static_cast<std::int64_t>(made.size())};
  return made;
}

}  // namespace offsetfs::fs
