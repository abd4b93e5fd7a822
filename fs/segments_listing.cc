#include "fs/segments_listing.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "fs/names.h"
#include "fs/time_expression.h"
#include "storage/segment.h"

namespace offsetfs::fs {
namespace {

using storage::Offset;
using storage::Result;
using storage::SegmentEntry;
using storage::TimestampMs;
using Segments = std::vector<SegmentEntry>;

// Where the cookies of the segments that are set aside begin.
constexpr std::int64_t kAsideCookie = std::int64_t{1} << 62;

Segments::const_iterator first_from(const Segments& segments, std::int64_t cookie) {
  return std::lower_bound(
      segments.begin(), segments.end(), Offset{cookie},
      [](const SegmentEntry& entry, Offset wanted) { return entry.base_offset < wanted; });
}

// A live segment is called by its base offset alone, even one that waits to be renamed from .swap.
Node segment_node(const PartitionView& view, const SegmentEntry& entry,
                  storage::SegmentSuffix suffix) {
  Node node;
  node.kind = NodeKind::kSegment;
  node.partition = view.id;
  node.number = entry.base_offset.value;
  node.suffix = static_cast<std::uint8_t>(suffix);
  node.generation = entry.generation;
  return node;
}

bool give(const Node& node, mode_t type, std::int64_t cookie, const ListedNameSink& sink) {
  const std::string name = print_name(node);
  return sink({name, &node, type, cookie, nullptr});
}

// Of the segment's first record that has a time.
std::optional<TimestampMs> first_time(const PartitionView& view, const SegmentEntry& entry,
                                      Offset log_end) {
  const auto segment = view.log->segment(entry);
  if (!segment) return std::nullopt;
  const auto end = view.log->valid_end(entry);
  if (!end) return std::nullopt;
  const auto place = (*segment)->find_batch_by_time(TimestampMs{0}, entry.base_offset, *end);
  if (!place) return std::nullopt;
  const auto batch = (*segment)->read_batch(*place, view.log->options().limits);
  if (!batch) return std::nullopt;
  auto records = (*batch)->records();
  storage::Record record;
  while (records.next(record) == storage::RecordReader::Step::kRecord) {
    if (record.offset >= log_end) break;
    if (record.timestamp >= TimestampMs{0}) return record.timestamp;
  }
  return std::nullopt;
}

}  // namespace

Result<void> SegmentsListing::list(std::int64_t cookie, bool, const ListedNameSink& sink) {
  if (cookie < kAsideCookie) {
    const auto segments = view_->log->segments();
    for (auto entry = first_from(*segments, cookie); entry != segments->end(); ++entry) {
      const Node node = segment_node(*view_, *entry, storage::SegmentSuffix::kNone);
      if (!give(node, S_IFDIR, entry->base_offset.value + 1, sink)) return {};
    }
    cookie = kAsideCookie;
  }
  const auto aside = view_->log->set_aside();
  for (auto i = static_cast<std::size_t>(cookie - kAsideCookie); i < aside->size(); ++i) {
    const Node node = segment_node(*view_, (*aside)[i], (*aside)[i].suffix);
    const auto next = kAsideCookie + static_cast<std::int64_t>(i) + 1;
    if (!give(node, S_IFDIR, next, sink)) return {};
  }
  return {};
}

Result<void> TimesListing::list(std::int64_t cookie, bool, const ListedNameSink& sink) {
  const auto segments = view_->log->segments();
  const auto first = first_from(*segments, cookie);
  std::optional<TimestampMs> previous;
  ASSIGN_OR_RETURN(const storage::LogOffsets offsets, view_->log->offsets());
  const Offset end = offsets.readable_end;
  if (first != segments->begin()) previous = first_time(*view_, *(first - 1), end);
  for (auto entry = first; entry != segments->end(); ++entry) {
    if (entry->base_offset >= end) break;
    const auto time = first_time(*view_, *entry, end);
    if (!time || time == previous) continue;
    previous = time;
    Node node;
    node.kind = NodeKind::kTimeLink;
    node.partition = view_->id;
    node.text = print_time(*time);
    if (!give(node, S_IFLNK, entry->base_offset.value + 1, sink)) return {};
  }
  return {};
}

}  // namespace offsetfs::fs
