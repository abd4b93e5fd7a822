#include "fs/segment_info.h"

#include <algorithm>
#include <optional>

#include "fs/json_object.h"
#include "fs/time_expression.h"
#include "storage/batch_scanner.h"
#include "storage/segment.h"
#include "storage/segment_files.h"

namespace offsetfs::fs {
namespace {

using storage::BatchScanner;
using storage::Offset;
using storage::Position;
using storage::Result;
using storage::SegmentEntry;
using storage::SegmentFile;
using storage::SegmentSuffix;
using storage::TimestampMs;

std::string time_or_null(TimestampMs time) {
  return time == storage::kNoTimestamp ? "null" : json_string(print_time(time));
}

// One that waits to be renamed is live all the same.
bool is_live(const PartitionView& view, const SegmentEntry& entry) {
  const auto segments = view.log->segments();
  return std::find(segments->begin(), segments->end(), entry) != segments->end();
}

std::string state_of(const PartitionView& view, const SegmentEntry& entry) {
  if (is_live(view, entry)) return view.is_active(entry) ? "active" : "sealed";
  switch (entry.suffix) {
    case SegmentSuffix::kDeleted: return "deleted";
    case SegmentSuffix::kCleaned: return "cleaned";
    case SegmentSuffix::kSwap: return "swap";
    case SegmentSuffix::kNone: break;
  }
  return "sealed";
}

std::optional<SegmentEntry> next_segment(const PartitionView& view, const SegmentEntry& entry) {
  if (!is_live(view, entry)) return std::nullopt;
  const auto segments = view.log->segments();
  const auto next = std::upper_bound(
      segments->begin(), segments->end(), entry.base_offset,
      [](Offset offset, const SegmentEntry& other) { return offset < other.base_offset; });
  if (next == segments->end()) return std::nullopt;
  return *next;
}

std::optional<storage::BatchHeader> first_header(const storage::Segment& segment, Position end) {
  BatchScanner::Options options;
  options.headers_only = true;
  BatchScanner scanner(segment.log(), Position{0}, end, options);
  if (scanner.next() != BatchScanner::Step::kBatch) return std::nullopt;
  return scanner.batch().header;
}

// Which of the rules for rolling can be seen to have held, without knowing the topic's settings: an
// offset that no relative offset can say any more; else size or age, whichever it was.
std::string why_rolled(const PartitionView& view, const SegmentEntry& entry) {
  const auto next = next_segment(view, entry);
  if (!next) return {};
  const auto segment = view.log->segment(*next);
  const auto end = view.log->valid_end(*next);
  if (segment && end) {
    const auto header = first_header(**segment, *end);
    if (header && header->last_offset - entry.base_offset > INT32_MAX)
      return "the next batch's offset is out of reach of this segment's indexes";
  }
  return "segment.bytes, segment.ms, a full index, or retention";
}

// Looks at entries here and there: a good one names a batch boundary whose batch does not end
// before the entry's offset could lie in it.
std::string state_object(std::string_view state, std::string_view reason) {
  JsonObject object;
  object.text("state", state);
  if (!reason.empty()) object.text("reason", reason);
  return object.take();
}

std::string offset_index_health(const storage::Segment& segment, Position end) {
  constexpr std::size_t kSamples = 32;
  const storage::OffsetIndex* index = segment.offset_index();
  if (index == nullptr) return state_object("missing", "");
  const auto entries = index->entries();
  if (!entries) return state_object("unreadable", entries.error().what);
  const std::size_t step = std::max<std::size_t>(1, entries->size() / kSamples);
  for (std::size_t i = 0; i < entries->size(); i += step) {
    const storage::OffsetPosition& entry = (*entries)[i];
    BatchScanner::Options options;
    options.headers_only = true;
    BatchScanner scanner(segment.log(), entry.position, end, options);
    const bool is_batch = entry.position < end && scanner.next() == BatchScanner::Step::kBatch;
    if (is_batch && scanner.batch().header.base_offset <= entry.offset) continue;
    return state_object("wrong", "entry " + std::to_string(i) + " (offset " +
                                     std::to_string(entry.offset.value) + ", position " +
                                     std::to_string(entry.position.value) +
                                     ") leads to no such batch");
  }
  JsonObject object;
  return object.text("state", "good")
      .number("entries", static_cast<std::int64_t>(entries->size()))
      .take();
}

std::string time_index_health(const storage::Segment& segment, TimestampMs largest) {
  const storage::TimeIndex* index = segment.time_index();
  if (index == nullptr) return state_object("missing", "");
  const auto last = index->last();
  if (!last) return state_object("unreadable", last.error().what);
  if (!*last) return state_object("empty", "");
  JsonObject object;
  return object.text("state", (*last)->timestamp <= largest ? "good" : "wrong")
      .raw("last_timestamp", time_or_null((*last)->timestamp))
      .number("last_offset", (*last)->offset.value)
      .take();
}

std::string file_sizes(const PartitionView& view, const SegmentEntry& entry) {
  JsonObject files;
  for (const SegmentFile kind :
       {SegmentFile::kLog, SegmentFile::kOffsetIndex, SegmentFile::kTimeIndex,
        SegmentFile::kTransactionIndex, SegmentFile::kProducerSnapshot}) {
    const auto facts = view.access.segment_file(entry, kind);
    if (!facts) continue;
    files.number(storage::segment_file_name({entry.base_offset, kind, entry.suffix_of(kind)}),
                 facts->size_bytes);
  }
  return files.take();
}

}  // namespace

Result<std::string> segment_info(const PartitionView& view, const SegmentEntry& entry) {
  ASSIGN_OR_RETURN(const auto segment, view.log->segment(entry));
  ASSIGN_OR_RETURN(const storage::SegmentTail tail, view.log->tail(entry));
  ASSIGN_OR_RETURN(const storage::SegmentTimestamp newest, view.log->largest_timestamp(entry));
  const auto first = first_header(*segment, tail.end);
  const std::string rolled = why_rolled(view, entry);
  JsonObject info;
  info.text("topic", view.context.topic)
      .number("partition", view.context.partition)
      .number("base_offset", entry.base_offset.value)
      .number("next_offset", tail.next_offset.value)
      .text("state", state_of(view, entry))
      .number("bytes", segment->opened_info().size_bytes)
      .number("valid_bytes", tail.end.value)
      .text("tail", !tail.torn       ? "whole"
                    : tail.zero_tail ? "zeros"
                                     : "torn")
      .raw("first_batch_max_timestamp",
           time_or_null(first ? first->max_timestamp : storage::kNoTimestamp))
      .raw("largest_timestamp", time_or_null(newest.largest))
      .raw("mtime", time_or_null(newest.mtime))
      .raw("rolled_by", rolled.empty() ? "null" : json_string(rolled))
      .raw("offset_index", offset_index_health(*segment, tail.end))
      .raw("time_index", time_index_health(*segment, newest.largest))
      .raw("files", file_sizes(view, entry));
  return info.take() + "\n";
}

}  // namespace offsetfs::fs
