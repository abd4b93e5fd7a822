#include <utility>
#include <vector>

#include "fs/names.h"
#include "fs/names_listing.h"
#include "fs/node_type.h"
#include "fs/offsets_listing.h"
#include "fs/segments_listing.h"
#include "fs/tree.h"

// Tree::list(): which listing a directory has. What is found by name only is not listed: a walk
// through the tree meets each record twice, and no stream over the whole partition.

namespace offsetfs::fs {
namespace {

using storage::Result;
using Items = std::vector<NamesListing::Item>;

void add(Items& items, Node node) {
  std::string name = print_name(node);
  const mode_t type = file_type_of(node.kind);
  items.push_back({std::move(name), std::move(node), type});
}

void add_fixed(Items& items, const Node& dir) {
  for (Node node : fixed_entries(dir.kind)) {
    node.partition = dir.partition;
    if (dir.kind == NodeKind::kSegment) {
      node.number = dir.number;
      node.suffix = dir.suffix;
      node.generation = dir.generation;
    }
    add(items, std::move(node));
  }
}

}  // namespace

Result<std::unique_ptr<DirectoryListing>> Tree::list(const Node& dir) {
  Items items;
  switch (dir.kind) {
    case NodeKind::kOffsets: {
      ASSIGN_OR_RETURN(auto view, this->view(dir));
      RETURN_IF_ERROR(require_listed(*view));
      return std::make_unique<OffsetsListing>(std::move(view), options_.list_limit,
                                              options_.show_control);
    }
    case NodeKind::kSegments: {
      ASSIGN_OR_RETURN(auto view, this->view(dir));
      view->log->refresh();
      RETURN_IF_ERROR(require_listed(*view));
      return std::make_unique<SegmentsListing>(std::move(view));
    }
    case NodeKind::kTime: {
      ASSIGN_OR_RETURN(auto view, this->view(dir));
      RETURN_IF_ERROR(require_listed(*view));
      return std::make_unique<TimesListing>(std::move(view));
    }
    case NodeKind::kRoot:
      add_fixed(items, dir);
      for (const auto partitions = partitions_.all(); const auto& partition : *partitions) {
        Node node;
        node.kind = NodeKind::kPartition;
        node.partition = partition.id;
        items.push_back({partition.name, std::move(node), S_IFDIR});
      }
      break;
    case NodeKind::kTopics:
      for (std::string& topic : partitions_.topics()) {
        Node node;
        node.kind = NodeKind::kTopic;
        node.text = std::move(topic);
        add(items, std::move(node));
      }
      break;
    case NodeKind::kTopic:
      for (const std::int32_t partition : partitions_.partitions_of(dir.text)) {
        Node node;
        node.kind = NodeKind::kTopicPartition;
        node.text = dir.text;
        node.number = partition;
        add(items, std::move(node));
      }
      break;
    case NodeKind::kPartition: {
      ASSIGN_OR_RETURN(const auto view, this->view(dir));
      add_fixed(items, dir);
      // Links that would lead nowhere, and what only a log has that is written.
      const auto first = view->log->first_record();
      const bool is_empty = first && !*first;
      const bool has_segments = view->active_segment().has_value();
      std::erase_if(items, [&](const NamesListing::Item& item) {
        const NodeKind kind = item.node.kind;
        return (is_empty && (kind == NodeKind::kFirstLink || kind == NodeKind::kLastLink)) ||
               (!has_segments && kind == NodeKind::kActiveLink) ||
               (kind == NodeKind::kAppend && !is_written(item.node));
      });
      break;
    }
    case NodeKind::kExpired:
    case NodeKind::kDeleting: {
      ASSIGN_OR_RETURN(const auto view, this->view(dir));
      ASSIGN_OR_RETURN(items, retention_.list(*view, dir, now()));
      add_fixed(items, dir);
      break;
    }
    default: add_fixed(items, dir);
  }
  return std::make_unique<NamesListing>(std::move(items));
}

}  // namespace offsetfs::fs
