#include "fs/links.h"

#include <algorithm>
#include <string>
#include <utility>

#include "fs/names.h"
#include "fs/time_expression.h"

namespace offsetfs::fs {
namespace {

using storage::Errc;
using storage::Offset;
using storage::Result;
using storage::SegmentEntry;

NodeFacts link_to(const PartitionView& view, std::string target, timespec mtime) {
  NodeFacts facts;
  facts.type = S_IFLNK;
  facts.access = view.access.of_directory_content();
  facts.access.mode = kLinkMode;
  facts.size_bytes = static_cast<std::int64_t>(target.size());
  facts.mtime = mtime;
  facts.content = std::make_shared<const Content>(std::move(target));
  return facts;
}

// The live segment that `offset` lies in; kNotFound in an empty partition.
Result<SegmentEntry> segment_of(const PartitionView& view, Offset offset) {
  const auto segments = view.log->segments();
  const auto above = std::upper_bound(
      segments->begin(), segments->end(), offset,
      [](Offset wanted, const SegmentEntry& entry) { return wanted < entry.base_offset; });
  if (segments->empty()) return storage::fail(Errc::kNotFound, "no segment");
  return above == segments->begin() ? *above : *(above - 1);
}

Result<NodeFacts> record_link(const PartitionView& view, const char* to_offsets, Form form,
                              const Result<std::optional<Offset>>& offset) {
  if (!offset) return storage::fail(offset.error());
  if (!*offset) return storage::fail(Errc::kNotFound, "no record there");
  Node record;
  record.kind = NodeKind::kRecord;
  record.form = form;
  record.number = (*offset)->value;
  ASSIGN_OR_RETURN(const SegmentEntry segment, segment_of(view, **offset));
  NodeFacts facts = link_to(view, to_offsets + print_name(record),
                            view.access.mtime_of_segment(segment.base_offset));
  const Access log = view.access.of_segment(segment.base_offset);
  if (log.mode != 0444) facts.told_to = log;
  return facts;
}

Result<std::optional<Offset>> offset_at(const PartitionView& view, const std::string& text,
                                        storage::TimestampMs now) {
  const auto time = parse_time(text, now);
  if (!time) return storage::fail(Errc::kNotFound, "no time: " + text);
  ASSIGN_OR_RETURN(const storage::TimeLookup lookup, view.log->find_time(*time));
  return lookup.record;
}

// The name is always the same link, and where it leads is asked at each use: so the name itself
// need not be. Should it lead nowhere any more, that answer makes the kernel look the name up.
Result<NodeFacts> always_asked(Result<NodeFacts> link) {
  if (link) link->entry_timeout = kForever;
  return link;
}

Result<NodeFacts> active_link(const PartitionView& view) {
  const auto active = view.active_segment();
  if (!active) return storage::fail(Errc::kNotFound, "no segment");
  const Offset base_offset = active->base_offset;
  return link_to(view, "segments/" + storage::segment_base_name(base_offset),
                 view.access.mtime_of_segment(base_offset));
}

}  // namespace

Result<NodeFacts> link_facts(const PartitionView& view, const Node& node,
                             storage::TimestampMs now) {
  switch (node.kind) {
    case NodeKind::kSeekLink:
      return record_link(view, "../offsets/", node.form, view.log->seek(Offset{node.number}));
    case NodeKind::kFirstLink:
      return always_asked(record_link(view, "offsets/", node.form, view.log->first_record()));
    case NodeKind::kLastLink:
      return always_asked(record_link(view, "offsets/", node.form, view.log->last_record()));
    case NodeKind::kTimeLink:
      return record_link(view, "../offsets/", node.form, offset_at(view, node.text, now));
    default: return always_asked(active_link(view));
  }
}

NodeFacts topic_link_facts(const PartitionView& view, std::string_view name) {
  return link_to(view, "../../" + std::string(name), view.access.mtime_of_directory());
}

}  // namespace offsetfs::fs
