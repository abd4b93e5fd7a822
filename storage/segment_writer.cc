#include "storage/segment_writer.h"

#include <utility>

#include "storage/byte_reader.h"
#include "storage/segment_files.h"

namespace offsetfs::storage {
namespace {

std::string file_of(Offset base_offset, SegmentFile file) {
  return segment_file_name({base_offset, file, SegmentSuffix::kNone});
}

}  // namespace

std::string render_aborted_transaction(const AbortedTransaction& aborted) {
  std::string entry(TransactionIndex::kEntryBytes, '\0');
  store_big_endian(entry.data(), std::int16_t{0});
  store_big_endian(entry.data() + 2, aborted.producer_id);
  store_big_endian(entry.data() + 10, aborted.first_offset.value);
  store_big_endian(entry.data() + 18, aborted.last_offset.value);
  store_big_endian(entry.data() + 26, aborted.last_stable_offset.value);
  return entry;
}

Result<std::unique_ptr<SegmentWriter>> SegmentWriter::create(WriteDir& dir, Offset base_offset,
                                                             const LogConfig& config) {
  for (const auto file :
       {SegmentFile::kOffsetIndex, SegmentFile::kTimeIndex, SegmentFile::kTransactionIndex})
    RETURN_IF_ERROR(dir.unlink_if_there(file_of(base_offset, file)));
  ASSIGN_OR_RETURN(auto log,
                   dir.open(file_of(base_offset, SegmentFile::kLog), WriteDir::Open::kFresh));
  if (config.preallocate) RETURN_IF_ERROR(log->truncate(config.segment_bytes));
  RETURN_IF_ERROR(log->sync());
  RETURN_IF_ERROR(dir.sync_dir());
  WrittenSegment segment;
  segment.base_offset = segment.next_offset = base_offset;
  return std::unique_ptr<SegmentWriter>(new SegmentWriter(dir, segment, config, std::move(log)));
}

Result<std::unique_ptr<SegmentWriter>> SegmentWriter::open(WriteDir& dir,
                                                           const WrittenSegment& segment,
                                                           const LogConfig& config) {
  ASSIGN_OR_RETURN(auto log, dir.open(file_of(segment.base_offset, SegmentFile::kLog),
                                      WriteDir::Open::kExisting));
  std::unique_ptr<SegmentWriter> writer(new SegmentWriter(dir, segment, config, std::move(log)));
  const auto aborted = dir.info(file_of(segment.base_offset, SegmentFile::kTransactionIndex));
  if (aborted) writer->transaction_index_bytes_ = aborted->size_bytes;
  if (segment.size_bytes > 0) RETURN_IF_ERROR(writer->open_indexes());
  return writer;
}

Result<void> SegmentWriter::open_indexes() {
  const auto open_one = [&](SegmentFile file, std::int64_t entry_bytes,
                            std::int64_t entries) -> Result<IndexWriter> {
    ASSIGN_OR_RETURN(auto opened,
                     dir_.open(file_of(segment_.base_offset, file), WriteDir::Open::kOrCreate));
    return IndexWriter::open(std::move(opened), entry_bytes, config_.segment_index_bytes, entries);
  };
  ASSIGN_OR_RETURN(auto offset_index,
                   open_one(SegmentFile::kOffsetIndex, 8, segment_.indexes.offset_entries));
  ASSIGN_OR_RETURN(auto time_index,
                   open_one(SegmentFile::kTimeIndex, 12, segment_.indexes.time_entries));
  indexes_.emplace(segment_.base_offset, config_.index_interval_bytes, std::move(offset_index),
                   std::move(time_index), segment_.indexes);
  return {};
}

Result<void> SegmentWriter::append(const BatchHeader& header, Bytes batch,
                                   const std::optional<AbortedTransaction>& aborted) {
  if (!indexes_) RETURN_IF_ERROR(open_indexes());
  const WrittenSegment before = segment_;
  const Position position{segment_.size_bytes};
  auto written = log_->write_at(position, batch);
  if (written) written = indexes_->add(header, position);
  if (written && aborted) written = add_aborted(*aborted);
  if (!written) {
    cut_away(before);
    return written;
  }
  segment_.size_bytes += header.size_bytes;
  segment_.next_offset = header.next_offset();
  segment_.indexes = indexes_->state();
  if (!segment_.first_timestamp) segment_.first_timestamp = header.max_timestamp;
  return {};
}

// Durable at once: what is appended next must not meet the rest of this after a power cut.
void SegmentWriter::cut_away(const WrittenSegment& before) {
  indexes_->take_back(before.indexes);
  if (transaction_index_) (void)transaction_index_->truncate(transaction_index_bytes_).has_value();
  auto cut = log_->truncate(before.size_bytes);
  if (cut) cut = log_->sync();
  broken_ = !cut;
}

Result<void> SegmentWriter::add_aborted(const AbortedTransaction& aborted) {
  if (!transaction_index_) {
    ASSIGN_OR_RETURN(transaction_index_,
                     dir_.open(file_of(segment_.base_offset, SegmentFile::kTransactionIndex),
                               WriteDir::Open::kOrCreate));
  }
  RETURN_IF_ERROR(transaction_index_->write_at({transaction_index_bytes_},
                                               render_aborted_transaction(aborted)));
  transaction_index_bytes_ += static_cast<std::int64_t>(TransactionIndex::kEntryBytes);
  return {};
}

Result<void> SegmentWriter::synced(Result<void> done) {
  if (!done) broken_ = true;
  return done;
}

Result<void> SegmentWriter::sync_log() { return synced(log_->sync()); }

Result<void> SegmentWriter::seal() {
  RETURN_IF_ERROR(log_->truncate(segment_.size_bytes));
  RETURN_IF_ERROR(sync_log());
  if (transaction_index_) RETURN_IF_ERROR(synced(transaction_index_->sync()));
  if (!indexes_) return {};
  RETURN_IF_ERROR(indexes_->seal());
  segment_.indexes = indexes_->state();
  return synced(indexes_->sync());
}

}  // namespace offsetfs::storage
