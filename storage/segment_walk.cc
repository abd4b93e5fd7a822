#include "storage/segment_walk.h"

#include <algorithm>
#include <string>
#include <utility>

#include "storage/batch_header.h"
#include "storage/batch_scanner.h"
#include "storage/index_writer.h"
#include "storage/segment_files.h"
#include "storage/tail_survey.h"
#include "storage/transaction_index.h"

namespace offsetfs::storage {
namespace {

struct Rebuilt {
  SegmentIndexes indexes;
  std::optional<IndexWriter> transaction_index;  // with the first entry
};

Result<Rebuilt> start_indexes(WriteDir& dir, Offset base, std::int64_t interval_bytes) {
  const auto open_one = [&](SegmentFile file, std::int64_t entry_bytes) -> Result<IndexWriter> {
    ASSIGN_OR_RETURN(auto opened,
                     dir.open(segment_file_name({base, file}) + ".tmp", WriteDir::Open::kFresh));
    ASSIGN_OR_RETURN(auto index, IndexWriter::open(std::move(opened), entry_bytes, 0, 0));
    index.collect();
    return index;
  };
  ASSIGN_OR_RETURN(auto offset_index, open_one(SegmentFile::kOffsetIndex, 8));
  ASSIGN_OR_RETURN(auto time_index, open_one(SegmentFile::kTimeIndex, 12));
  return Rebuilt{
      SegmentIndexes(base, interval_bytes, std::move(offset_index), std::move(time_index), {}), {}};
}

class Walk {
 public:
  Walk(WriteDir& dir, const WrittenSegment& segment, const WalkOptions& options,
       const WalkedLog& log, Rebuilt rebuilt)
      : dir_(dir),
        options_(options),
        log_(log),
        size_found_(segment.size_bytes),
        segment_(segment),
        rebuilt_(std::move(rebuilt)) {
    segment_.next_offset = segment_.base_offset;
  }

  Result<WrittenSegment> run() {
    ASSIGN_OR_RETURN(const auto file, dir_.open_for_reading(name_of(SegmentFile::kLog)));
    BatchScanner::Options scanning;
    scanning.tail_may_be_torn = is_active();
    BatchScanner scanner(*file, {0}, {segment_.size_bytes}, scanning);
    ++log_.report.segments_walked;
    for (;;) {
      const Position position = scanner.position();
      const auto step = scanner.next();
      if (step == BatchScanner::Step::kIo) return fail(scanner.error());
      if (step == BatchScanner::Step::kEnd) break;
      std::string why =
          step == BatchScanner::Step::kBatch ? misplaced(scanner.batch().header) : "no whole batch";
      if (step == BatchScanner::Step::kBatch && why.empty()) {
        RETURN_IF_ERROR(note(scanner.batch()));
        continue;
      }
      if (step == BatchScanner::Step::kDamaged) why = scanner.error().what;
      if (step == BatchScanner::Step::kDamaged && scanner.error().code == Errc::kUnsupported)
        return fail(Errc::kUnsupported, why + "; nothing was changed");
      RETURN_IF_ERROR(end_at(*file, position, why, step == BatchScanner::Step::kBatch));
      break;
    }
    log_.report.bytes_walked += segment_.size_bytes;
    RETURN_IF_ERROR(finish());
    return segment_;
  }

 private:
  std::string name_of(SegmentFile file) const {
    return segment_file_name({segment_.base_offset, file});
  }
  bool is_active() const { return !options_.next_base_offset; }

  // Why a batch with a good CRC can't stand here, which its CRC does not cover; empty: it can.
  std::string misplaced(const BatchHeader& header) const {
    if (header.base_offset < segment_.next_offset)
      return "offset " + std::to_string(header.base_offset.value) + ", expected " +
             std::to_string(segment_.next_offset.value) + " or more";
    if (header.last_offset - segment_.base_offset > INT32_MAX ||
        header.last_offset >= options_.next_base_offset.value_or(Offset{INT64_MAX}))
      return "offset " + std::to_string(header.last_offset.value) + " lies beyond the segment";
    return {};
  }

  Result<void> note(const BatchScanner::Batch& batch) {
    const BatchHeader& header = batch.header;
    if (header.codec_id() > 4)
      return fail(Errc::kUnsupported, at(batch.position) + "codec " +
                                          std::to_string(header.codec_id()) +
                                          ", which no Kafka has; nothing was changed");
    RETURN_IF_ERROR(rebuilt_.indexes.add(header, batch.position));
    if (const auto aborted = log_.producers.note(header, batch.entry))
      RETURN_IF_ERROR(note_aborted(*aborted));
    else if (header.is_control() && header.last_offset < log_.producers.next_offset() - 1)
      keep_transaction_index_ = true;
    if (header.is_v2() && header.leader_epoch.value >= 0)
      log_.leader_epochs.assign(header.leader_epoch, header.base_offset);
    if (!segment_.first_timestamp) segment_.first_timestamp = header.max_timestamp;
    segment_.next_offset = header.next_offset();
    ++log_.report.batches_walked;
    return {};
  }

  Result<void> note_aborted(const AbortedTransaction& aborted) {
    if (!rebuilt_.transaction_index) {
      const std::string name = name_of(SegmentFile::kTransactionIndex);
      ASSIGN_OR_RETURN(auto opened, dir_.open(name + ".tmp", WriteDir::Open::kFresh));
      ASSIGN_OR_RETURN(
          rebuilt_.transaction_index,
          IndexWriter::open(std::move(opened),
                            static_cast<std::int64_t>(TransactionIndex::kEntryBytes), 0, 0));
      rebuilt_.transaction_index->collect();
    }
    return rebuilt_.transaction_index->append(render_aborted_transaction(aborted));
  }

  std::string at(Position position) const {
    return dir_.name_of(name_of(SegmentFile::kLog)) + ": at position " +
           std::to_string(position.value) + ": ";
  }

  // The walk met something that is no batch. Cuts a torn tail; anything else is an error.
  Result<void> end_at(const File& log, Position position, const std::string& why, bool misplaced) {
    const bool active = is_active();
    const bool flushed = segment_.next_offset < options_.recovery_point;
    const std::int64_t size = segment_.size_bytes;
    ASSIGN_OR_RETURN(const TailSurvey survey,
                     survey_tail(log, position, {size}, segment_.next_offset));
    // A whole batch at a wrong offset is torn only where its offset itself was never written.
    const bool torn = active && (misplaced ? !flushed && survey.hole_at_front
                                           : !survey.next_valid || (!flushed && survey.hole));
    if (!torn || (flushed && !survey.only_zeros))
      return fail(Errc::kCorrupt,
                  at(position) + "damaged (" + why + ")" +
                      (survey.next_valid ? "; whole batches follow from position " +
                                               std::to_string(survey.next_valid->value)
                                         : "") +
                      (active && flushed ? "; it was flushed once, so no crash tore it" : "") +
                      ". Nothing was changed. Read what is left, restore the file from a copy or a "
                      "replica, or cut it there yourself");
    // What would be refused after the cut is refused before it.
    if (auto held = options_.may_end_at(segment_.next_offset); !held)
      return fail(held.error().code,
                  at(position) + why + ". Nothing was changed. " + held.error().what);
    log_.report.cuts.push_back(
        {dir_.name_of(name_of(SegmentFile::kLog)), position, size - position.value,
         survey.next_valid ? "a hole that was never written, as a power cut leaves it"
                           : "no whole batch, and none behind it"});
    segment_.size_bytes = position.value;
    return {};
  }

  Result<void> finish() {
    RETURN_IF_ERROR(rebuilt_.indexes.seal());
    // Durable, whoever wrote it: the recovery point will soon move past it.
    ASSIGN_OR_RETURN(const auto log,
                     dir_.open(name_of(SegmentFile::kLog), WriteDir::Open::kExisting));
    if (segment_.size_bytes < size_found_) RETURN_IF_ERROR(log->truncate(segment_.size_bytes));
    RETURN_IF_ERROR(log->sync());
    RETURN_IF_ERROR(dir_.adopt_temporary(name_of(SegmentFile::kOffsetIndex),
                                         rebuilt_.indexes.offset_index().file()));
    RETURN_IF_ERROR(dir_.adopt_temporary(name_of(SegmentFile::kTimeIndex),
                                         rebuilt_.indexes.time_index().file()));
    const std::string aborted = name_of(SegmentFile::kTransactionIndex);
    if (rebuilt_.transaction_index) {
      RETURN_IF_ERROR(rebuilt_.transaction_index->trim());
      RETURN_IF_ERROR(dir_.adopt_temporary(aborted, rebuilt_.transaction_index->file()));
    } else if (!keep_transaction_index_)
      RETURN_IF_ERROR(dir_.unlink_if_there(aborted));
    segment_.indexes = rebuilt_.indexes.state();
    segment_.indexes.bytes_since_entry = 0;
    return {};
  }

  WriteDir& dir_;
  const WalkOptions& options_;
  const WalkedLog& log_;
  const std::int64_t size_found_;
  WrittenSegment segment_;  // as far as it was walked
  Rebuilt rebuilt_;
  bool keep_transaction_index_ = false;
};

}  // namespace

Result<WrittenSegment> walk_segment(WriteDir& dir, const WrittenSegment& segment,
                                    const WalkOptions& options, const WalkedLog& log) {
  ASSIGN_OR_RETURN(auto rebuilt,
                   start_indexes(dir, segment.base_offset, options.index_interval_bytes));
  auto walked = Walk(dir, segment, options, log, std::move(rebuilt)).run();
  if (walked) return walked;
  for (const auto file :
       {SegmentFile::kOffsetIndex, SegmentFile::kTimeIndex, SegmentFile::kTransactionIndex})
    (void)dir.unlink_if_there(segment_file_name({segment.base_offset, file}) + ".tmp").has_value();
  return walked;
}

}  // namespace offsetfs::storage
