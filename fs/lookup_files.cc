#include "fs/lookup_files.h"

#include <optional>
#include <string>
#include <utility>

#include "fs/lookup_text.h"
#include "fs/time_expression.h"

namespace offsetfs::fs {
namespace {

using storage::Errc;
using storage::Offset;
using storage::Result;

NodeFacts facts_of(const PartitionView& view, const std::optional<storage::BatchPlace>& place,
                   std::string text) {
  NodeFacts facts;
  facts.access = place ? view.access.of_segment(place->segment_base_offset)
                       : view.access.of_directory_content();
  facts.content = std::make_shared<const Content>(std::move(text));
  facts.size_bytes = static_cast<std::int64_t>(facts.content->bytes().size());
  facts.mtime = view.access.mtime_of_directory();
  return facts;
}

}  // namespace

Result<NodeFacts> lookup_facts(const PartitionView& view, const Node& node,
                               storage::TimestampMs now) {
  if (node.kind == NodeKind::kRecord) {
    ASSIGN_OR_RETURN(const auto lookup, view.log->find_afresh(Offset{node.number}));
    return facts_of(view, lookup.place, lookup_text(lookup));
  }
  const auto time = parse_time(node.text, now);
  if (!time) return storage::fail(Errc::kNotFound, "no time");
  ASSIGN_OR_RETURN(const auto lookup, view.log->find_time(*time));
  return facts_of(view, lookup.place, time_lookup_text(node.text, *time, lookup));
}

}  // namespace offsetfs::fs
