#include "storage/segment_end.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "storage/batch_header.h"
#include "storage/batch_scanner.h"
#include "storage/byte_reader.h"
#include "storage/segment_files.h"
#include "storage/time_index.h"

namespace offsetfs::storage {
namespace {

// Behind the last entry of an index lie a few batches. With more the index is no use, and where the
// segment ends is left open.
constexpr int kMostHeaders = 1000;

std::string file_of(const WrittenSegment& segment, SegmentFile file) {
  return segment_file_name({segment.base_offset, file});
}

// Nothing where no header stands, or its batch goes beyond the file.
Result<std::optional<BatchHeader>> header_at(const File& log, Position position,
                                             std::int64_t size) {
  std::array<char, BatchHeader::kV2HeaderBytes> bytes{};
  ASSIGN_OR_RETURN(const auto read, log.read_at(position, bytes));
  BatchHeader header;
  if (!is_whole_batch({bytes.data(), read}, size - position.value, header)) return std::nullopt;
  return header;
}

// Nothing where the index is not what it should be.
Result<std::optional<Position>> position_of_last_entry(const WriteDir& dir, WrittenSegment& segment,
                                                       const File& log) {
  ASSIGN_OR_RETURN(const auto index,
                   dir.open_for_reading(file_of(segment, SegmentFile::kOffsetIndex)));
  ASSIGN_OR_RETURN(const FileInfo info, index->info());
  segment.indexes.offset_entries = info.size_bytes / 8;
  ASSIGN_OR_RETURN(const auto first, header_at(log, {0}, segment.size_bytes));
  if (info.size_bytes % 8 != 0 || !first) return std::nullopt;
  segment.first_timestamp = first->max_timestamp;
  if (info.size_bytes == 0) return Position{0};
  std::array<char, 8> entry{};
  ASSIGN_OR_RETURN(const auto read, index->read_at({info.size_bytes - 8}, entry));
  if (read != entry.size()) return std::nullopt;
  const Offset offset = segment.base_offset + load_big_endian<std::int32_t>(entry.data());
  const Position position{load_big_endian<std::int32_t>(entry.data() + 4)};
  if (position.value <= 0 || position.value >= segment.size_bytes) return std::nullopt;
  ASSIGN_OR_RETURN(const auto header, header_at(log, position, segment.size_bytes));
  if (!header || header->base_offset > offset || offset < segment.base_offset) return std::nullopt;
  return position;
}

// Brings both forward by the batches from `from` on. False: they do not reach the file's end.
bool ends_whole(const File& log, Position from, WrittenSegment& segment, ProducerState& producers) {
  BatchScanner scanner(log, from, {segment.size_bytes});
  for (;;) {
    const auto step = scanner.next();
    if (step == BatchScanner::Step::kEnd) return true;
    if (step != BatchScanner::Step::kBatch) return false;
    const BatchHeader& header = scanner.batch().header;
    segment.next_offset = header.next_offset();
    if (header.max_timestamp > segment.indexes.max_timestamp) {
      segment.indexes.max_timestamp = header.max_timestamp;
      segment.indexes.offset_of_max_timestamp = header.last_offset;
    }
    (void)producers.note(header, scanner.batch().entry);
  }
}

}  // namespace

std::optional<Offset> end_by_index(const WriteDir& dir, WrittenSegment segment) {
  if (segment.size_bytes == 0) return segment.base_offset;
  const auto log = dir.open_for_reading(file_of(segment, SegmentFile::kLog));
  if (!log) return std::nullopt;
  const auto from = position_of_last_entry(dir, segment, **log);
  if (!from || !*from) return std::nullopt;
  Position position = **from;
  for (int i = 0; i < kMostHeaders; ++i) {
    const auto header = header_at(**log, position, segment.size_bytes);
    if (!header || !*header) return std::nullopt;
    position = position + (*header)->size_bytes;
    if (position.value == segment.size_bytes) return (*header)->next_offset();
  }
  return std::nullopt;
}

Result<void> take_last_time(const WriteDir& dir, WrittenSegment& segment) {
  auto file = dir.open_for_reading(file_of(segment, SegmentFile::kTimeIndex));
  if (!file) return {};
  ASSIGN_OR_RETURN(const FileInfo info, (*file)->info());
  const TimeIndex index(std::move(*file), segment.base_offset);
  ASSIGN_OR_RETURN(const auto last, index.last());
  if (!last) return {};
  segment.indexes.last_time_entry = segment.indexes.max_timestamp = last->timestamp;
  segment.indexes.offset_of_max_timestamp = last->offset;
  segment.indexes.time_entries = info.size_bytes / 12;
  return {};
}

Result<bool> open_by_index(const WriteDir& dir, WrittenSegment& segment, ProducerState& producers) {
  if (segment.size_bytes == 0) return true;
  ASSIGN_OR_RETURN(const auto log, dir.open_for_reading(file_of(segment, SegmentFile::kLog)));
  ASSIGN_OR_RETURN(const std::optional<Position> from, position_of_last_entry(dir, segment, *log));
  const auto time = take_last_time(dir, segment);
  return from && time && ends_whole(*log, *from, segment, producers);
}

}  // namespace offsetfs::storage
