#include "fs/segment_tables.h"

#include <charconv>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fs/producer_table.h"
#include "storage/offset_index.h"
#include "storage/producer_snapshot.h"
#include "storage/segment_files.h"
#include "storage/time_index.h"

namespace offsetfs::fs {
namespace {

using storage::Errc;
using storage::Result;
using storage::SegmentEntry;
using storage::SegmentFile;

constexpr std::size_t kMostSnapshotBytes = 64 << 20;

// A table of the largest index that a broker makes by default comes to 40 MiB.
constexpr std::size_t kMostTableBytes = 256 << 20;

Result<void> require_bounded(const std::string& text) {
  if (text.size() <= kMostTableBytes) return {};
  return storage::fail(Errc::kTooLarge, "a table of more than 256 MiB");
}

void append(std::string& text, std::int64_t number, char end) {
  char digits[24];
  const auto [last, error] = std::to_chars(digits, digits + sizeof digits, number);
  text.append(digits, last).push_back(end);
}

// Null where there is no such file.
Result<std::unique_ptr<storage::File>> open_beside(const PartitionView& view,
                                                   const SegmentEntry& entry, SegmentFile kind) {
  return view.log->open_beside(
      storage::segment_file_name({entry.base_offset, kind, entry.suffix_of(kind)}));
}

// Empty where there is no such file.
Result<std::vector<storage::ProducerSnapshotEntry>> producer_snapshot(const PartitionView& view,
                                                                      const SegmentEntry& entry) {
  constexpr SegmentFile kKind = SegmentFile::kProducerSnapshot;
  const std::string name =
      storage::segment_file_name({entry.base_offset, kKind, entry.suffix_of(kKind)});
  ASSIGN_OR_RETURN(const auto bytes, view.log->read_beside(name, kMostSnapshotBytes));
  if (!bytes) return std::vector<storage::ProducerSnapshotEntry>();
  return storage::parse_producer_snapshot(*bytes, view.log->dir()->name_of(view.log->below(name)));
}

}  // namespace

Result<std::string> offset_index_table(const PartitionView& view, const SegmentEntry& entry) {
  std::string text = "offset\tposition\n";
  ASSIGN_OR_RETURN(auto file, open_beside(view, entry, SegmentFile::kOffsetIndex));
  if (file == nullptr) return text;
  const storage::OffsetIndex index(std::move(file), entry.base_offset);
  RETURN_IF_ERROR(index.for_each([&](const storage::OffsetPosition& row) {
    append(text, row.offset.value, '\t');
    append(text, row.position.value, '\n');
    return text.size() <= kMostTableBytes;
  }));
  RETURN_IF_ERROR(require_bounded(text));
  return text;
}

Result<std::string> time_index_table(const PartitionView& view, const SegmentEntry& entry) {
  std::string text = "timestamp\toffset\n";
  ASSIGN_OR_RETURN(auto file, open_beside(view, entry, SegmentFile::kTimeIndex));
  if (file == nullptr) return text;
  const storage::TimeIndex index(std::move(file), entry.base_offset);
  RETURN_IF_ERROR(index.for_each([&](const storage::TimestampOffset& row) {
    append(text, row.timestamp.value, '\t');
    append(text, row.offset.value, '\n');
    return text.size() <= kMostTableBytes;
  }));
  RETURN_IF_ERROR(require_bounded(text));
  return text;
}

Result<void> for_each_aborted(
    const PartitionView& view, const SegmentEntry& entry,
    const std::function<bool(const storage::AbortedTransaction&)>& visit) {
  if (!entry.has(SegmentFile::kTransactionIndex)) return {};
  ASSIGN_OR_RETURN(auto file, open_beside(view, entry, SegmentFile::kTransactionIndex));
  if (file == nullptr) return {};
  return storage::TransactionIndex(std::move(file), entry.base_offset).for_each(visit);
}

Result<std::string> transaction_index_table(const PartitionView& view, const SegmentEntry& entry) {
  std::string text = "producer_id\tfirst_offset\tlast_offset\tlast_stable_offset\n";
  RETURN_IF_ERROR(for_each_aborted(view, entry, [&](const storage::AbortedTransaction& row) {
    append(text, row.producer_id, '\t');
    append(text, row.first_offset.value, '\t');
    append(text, row.last_offset.value, '\t');
    append(text, row.last_stable_offset.value, '\n');
    return text.size() <= kMostTableBytes;
  }));
  RETURN_IF_ERROR(require_bounded(text));
  return text;
}

Result<std::string> producer_snapshot_lines(const PartitionView& view, const SegmentEntry& entry) {
  ASSIGN_OR_RETURN(const auto producers, producer_snapshot(view, entry));
  return producer_lines(producers);
}

}  // namespace offsetfs::fs
