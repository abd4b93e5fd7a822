#include "fs/offset_cursor.h"

#include <utility>

namespace offsetfs::fs {

using storage::LogCursor;
using storage::Offset;
using storage::RecordReader;
using storage::Result;

OffsetCursor::OffsetCursor(std::shared_ptr<const storage::PartitionLog> log, bool show_control)
    : log_(std::move(log)), show_control_(show_control) {}

Result<const OffsetCursor::Batch*> OffsetCursor::at_or_after(Offset from) {
  if (has_batch_ && from >= answers_from_ && from <= batch_.header.last_offset) return &batch_;
  const bool follows = has_batch_ && from == batch_.header.next_offset();
  has_batch_ = false;
  answers_from_ = from;
  if (!follows) {
    if (log_->options().until_high_watermark) {
      ASSIGN_OR_RETURN(const storage::LogOffsets offsets, log_->offsets());
      end_ = offsets.readable_end;
    }
    LogCursor::Options options;
    options.headers_only = true;
    cursor_.emplace(log_, from, end_, options);
  }
  for (;;) {
    switch (cursor_->next()) {
      case LogCursor::Step::kBatch:
        if (!take(cursor_->batch())) continue;
        // The first batch may lie behind with all that is left of it.
        if (!batch_.dense && batch_.offsets.back() < from) continue;
        has_batch_ = true;
        return &batch_;
      case LogCursor::Step::kEnd: return nullptr;
      case LogCursor::Step::kDamaged: met_damage_ = true; continue;
      case LogCursor::Step::kIo: return storage::fail(cursor_->error());
    }
  }
}

// False: the batch has no visible record.
bool OffsetCursor::take(const storage::BatchScanner::Batch& batch) {
  const storage::BatchHeader& header = batch.header;
  if (header.is_control() && !show_control_) return false;
  if (header.is_v2() && header.records_count == 0) return false;
  batch_.header = header;
  batch_.segment_base_offset = cursor_->segment_base_offset();
  batch_.offsets.clear();
  batch_.dense = header.is_v2() ? header.records_count == header.next_offset() - header.base_offset
                                : header.codec_id() ==
                                      0;  // a message by itself, else the last of those inside
  const Offset end = std::min(cursor_->records_end(), end_);  // what is behind it is not shown
  if (header.last_offset >= end) {
    batch_.dense = false;
    batch_.header.last_offset = Offset{end.value - 1};
  }
  return batch_.dense || take_decoded();
}

bool OffsetCursor::take_decoded() {
  const auto decoded = cursor_->decode();
  if (!decoded) {
    met_damage_ = true;
    return false;
  }
  RecordReader records = (*decoded)->records();
  storage::Record record;
  for (;;) {
    switch (records.next(record)) {
      case RecordReader::Step::kRecord:
        if (record.offset <= batch_.header.last_offset) batch_.offsets.push_back(record.offset);
        continue;
      case RecordReader::Step::kCorrupt: met_damage_ = true; [[fallthrough]];
      case RecordReader::Step::kEnd: return !batch_.offsets.empty();
    }
  }
}

}  // namespace offsetfs::fs
