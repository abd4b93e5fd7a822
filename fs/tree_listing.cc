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

// Whether something is there for the links of a partition to lead to. Where the source takes long
// to say: as if it were.
struct LinksOf {
  bool to_records = true;
  bool to_segments = true;
};
LinksOf links_of(const std::shared_ptr<const PartitionView>& view) {
  const auto look = [view] {
    const auto first = view->log->first_record();
    return LinksOf{!first || first->has_value(), view->active_segment().has_value()};
  };
  return view->log->dir()->ask_briefly<LinksOf>(look).value_or(LinksOf{});
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
      const auto listed = view->log->dir()->ask_briefly<Result<void>>([view] {
        view->log->refresh();
        return require_listed(*view);
      });
      if (listed) RETURN_IF_ERROR(*listed);
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
      const LinksOf links = links_of(view);
      std::erase_if(items, [&](const NamesListing::Item& item) {
        switch (item.node.kind) {
          case NodeKind::kFirstLink:
          case NodeKind::kLastLink: return !links.to_records;
          case NodeKind::kActiveLink: return !links.to_segments;
          case NodeKind::kAppend: return !is_written(item.node);
          default: return false;
        }
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
