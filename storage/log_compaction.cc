#include "storage/log_compaction.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "storage/batch_scanner.h"
#include "storage/check.h"
#include "storage/compaction_filter.h"
#include "storage/index_writer.h"
#include "storage/record_batch.h"
#include "storage/segment_files.h"
#include "storage/segment_writer.h"
#include "storage/transaction_index.h"

namespace offsetfs::storage {
namespace {

constexpr std::size_t kCollectedBytes = 1 << 20;

std::string file_of(Offset base_offset, SegmentFile file) {
  return segment_file_name({base_offset, file, SegmentSuffix::kNone});
}

Error at(const std::string& file, Position position, const Error& error) {
  return {error.code, error.sys_errno,
          file + ": at position " + std::to_string(position.value) + ": " + error.what};
}

// --- What is there
// ---------------------------------------------------------------------------------

std::int64_t size_of(const LogWriter& log, Offset base_offset, SegmentFile file) {
  const auto info = log.dir().info(file_of(base_offset, file));
  return info ? info->size_bytes : 0;
}

Result<TimestampMs> first_batch_timestamp(const LogWriter& log, const WrittenSegment& segment) {
  if (segment.first_timestamp) return *segment.first_timestamp;
  if (segment.size_bytes == 0) return kNoTimestamp;
  ASSIGN_OR_RETURN(const auto file,
                   log.dir().open_for_reading(file_of(segment.base_offset, SegmentFile::kLog)));
  std::array<char, BatchHeader::kV2HeaderBytes> front{};
  ASSIGN_OR_RETURN(const auto read, file->read_at({0}, front));
  BatchHeader header;
  const auto status = parse_batch_header({front.data(), read}, header, nullptr);
  return status == HeaderStatus::kOk ? header.max_timestamp : kNoTimestamp;
}

void find_index_sizes(const LogWriter& log, CompactionInput& input) {
  for (CompactionSegment& segment : input.segments) {
    segment.offset_index_bytes = size_of(log, segment.base_offset, SegmentFile::kOffsetIndex);
    segment.time_index_bytes = size_of(log, segment.base_offset, SegmentFile::kTimeIndex);
  }
}

Result<CompactionInput> input_of(const LogWriter& log, TimestampMs now) {
  CompactionInput input;
  const auto segments = log.segments();
  input.active_base_offset = segments.back().base_offset;
  input.log_start_offset = log.log_start_offset();
  input.log_end_offset = segments.back().next_offset;
  input.last_stable_offset = log.last_stable_offset();
  input.checkpoint = log.first_dirty_offset();
  input.config = log.config();
  input.now = now;
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    const WrittenSegment& segment = segments[i];
    CompactionSegment sealed;
    sealed.base_offset = segment.base_offset;
    sealed.size_bytes = segment.size_bytes;
    sealed.largest_timestamp = segment.indexes.max_timestamp.value >= 0
                                   ? segment.indexes.max_timestamp
                                   : log.mtime_of(segment);
    // A read of each segment, at every look: only for those who ask for it.
    if (input.config.max_compaction_lag_ms < INT64_MAX) {
      ASSIGN_OR_RETURN(sealed.first_batch_timestamp, first_batch_timestamp(log, segment));
    }
    input.segments.push_back(sealed);
  }
  return input;
}

Offset next_base(const CompactionInput& input, std::size_t segment) {
  return segment + 1 < input.segments.size() ? input.segments[segment + 1].base_offset
                                             : input.active_base_offset;
}

// Of each batch of a segment, until `visit` says false. Anything that is no whole batch, or stands
// where it can't (offsets are outside of the CRC), is an error: a sealed segment has no torn tail,
// and to pass over damage would be to delete what is behind it.
using Visit = std::function<Result<bool>(const BatchScanner::Batch&)>;
Result<void> for_each_batch(const LogWriter& log, const CompactionInput& input, std::size_t segment,
                            const LogCompaction::Options& options, const Visit& visit) {
  const Offset base = input.segments[segment].base_offset;
  const Offset end = next_base(input, segment);
  ASSIGN_OR_RETURN(const auto file, log.dir().open_for_reading(file_of(base, SegmentFile::kLog)));
  BatchScanner::Options scanning;
  scanning.tail_may_be_torn = false;
  scanning.segment_base_offset = base;
  BatchScanner scanner(*file, {0}, {input.segments[segment].size_bytes}, scanning);
  for (auto step = scanner.next(); step != BatchScanner::Step::kEnd; step = scanner.next()) {
    if (step == BatchScanner::Step::kTornTail)
      return fail(Errc::kCorrupt, file->name() + ": at position " +
                                      std::to_string(scanner.position().value) +
                                      ": no whole batch; not compacted");
    if (step != BatchScanner::Step::kBatch) return fail(scanner.error());
    const auto& [header, position, entry] = scanner.batch();
    if (header.last_offset >= end)
      return fail(Errc::kCorrupt, file->name() + ": at position " + std::to_string(position.value) +
                                      ": offset " + std::to_string(header.last_offset.value) +
                                      ", expected below " + std::to_string(end.value) +
                                      "; not compacted");
    if (options.must_stop && options.must_stop())
      return fail(Errc::kBusy, file->name() + ": its compaction was stopped");
    const auto more = visit(scanner.batch());
    if (!more) return fail(at(file->name(), position, more.error()));
    if (!*more) return {};
  }
  return {};
}

// Those whose data may lie below `until` and whose markers lie in the segment or behind it: their
// entries stand where their markers do.
Result<std::vector<AbortedTransaction>> aborted_from(const CompactionInput& input,
                                                     const LogWriter& log, std::size_t segment,
                                                     Offset until) {
  std::vector<AbortedTransaction> found;
  bool is_complete = false;
  for (std::size_t i = segment; i <= input.segments.size() && !is_complete; ++i) {
    const Offset base =
        i < input.segments.size() ? input.segments[i].base_offset : input.active_base_offset;
    auto file = log.dir().open_for_reading(file_of(base, SegmentFile::kTransactionIndex));
    if (!file && file.error().code == Errc::kNotFound) continue;
    if (!file) return fail(std::move(file.error()));
    const std::string name = (*file)->name();
    RETURN_IF_ERROR(
        TransactionIndex(std::move(*file), base).for_each([&](const AbortedTransaction& aborted) {
          if (aborted.first_offset < until) found.push_back(aborted);
          is_complete = aborted.last_stable_offset >= until;
          return !is_complete && found.size() < TransactionIndex::kMostEntries;
        }));
    if (found.size() >= TransactionIndex::kMostEntries)
      return fail(Errc::kTooLarge, name + ": more aborted transactions than can be kept in mind");
  }
  return found;
}

// --- The keys
// --------------------------------------------------------------------------------------

// Puts the keys of [first_dirty, first_uncleanable) into `keys`, or of less, if they don't fit.
// Where they end (exclusive).
class KeyWalk {
 public:
  KeyWalk(const CompactionInput& input, const CompactionPlan& plan, const LogWriter& log,
          KeyOffsets& keys, const LogCompaction::Options& options)
      : input_(input), plan_(plan), log_(log), keys_(keys), options_(options) {
    limits_.decompressed_bytes = options.decompressed_limit_bytes;
  }

  Result<Offset> run() {
    end_ = plan_.first_dirty;
    bool began = false;
    for (std::size_t i = 0; i < input_.segments.size() && !is_full_; ++i) {
      const Offset next = next_base(input_, i);
      if (next <= plan_.first_dirty) continue;
      if (input_.segments[i].base_offset >= plan_.first_uncleanable) break;
      if (!std::exchange(began, true)) RETURN_IF_ERROR(begin(i));
      RETURN_IF_ERROR(for_each_batch(log_, input_, i, options_,
                                     [&](const auto& batch) { return take(batch); }));
      if (!is_full_) end_ = next;
    }
    if (end_ == plan_.first_dirty)
      return fail(Errc::kTooLarge, log_.topic_partition().to_string() + ": the batch at offset " +
                                       std::to_string(end_.value) +
                                       " has more keys than the cleaner may keep in mind");
    return end_;
  }

 private:
  Result<void> begin(std::size_t segment) {
    ASSIGN_OR_RETURN(auto aborted, aborted_from(input_, log_, segment, plan_.first_uncleanable));
    // What ended before the dirty part is not met here.
    std::erase_if(aborted, [&](const auto& a) { return a.last_offset < plan_.first_dirty; });
    transactions_.add(aborted);
    return {};
  }

  Result<bool> take(const BatchScanner::Batch& batch) {
    const BatchHeader& header = batch.header;
    if (header.last_offset < plan_.first_dirty) return true;
    if (!header.is_v2())
      return fail(Errc::kUnsupported, "a message of magic " + std::to_string(header.magic) +
                                          ": only logs of magic 2 are compacted");
    if (header.is_control()) {
      ASSIGN_OR_RETURN(const auto type,
                       CompactionFilter::control_type(header, batch.entry, scratch_));
      (void)transactions_.note_control(header, type);
    } else if (!transactions_.note_data(header)) {
      RETURN_IF_ERROR(take_keys(header, batch.entry));
      if (is_full_) return false;
    }
    end_ = header.next_offset();
    return true;
  }

  Result<void> take_keys(const BatchHeader& header, Bytes entry) {
    ASSIGN_OR_RETURN(RecordReader records, RecordReader::open(header, entry, scratch_, limits_));
    Record record;
    for (;;) {
      const auto step = records.next(record);
      if (step == RecordReader::Step::kCorrupt) return fail(Errc::kCorrupt, records.why());
      if (step == RecordReader::Step::kEnd) return {};
      if (!record.key || record.offset < plan_.first_dirty) continue;
      if (keys_.is_full()) {
        is_full_ = true;
        return {};
      }
      keys_.put(*record.key, record.offset);
    }
  }

  const CompactionInput& input_;
  const CompactionPlan& plan_;
  const LogWriter& log_;
  KeyOffsets& keys_;
  const LogCompaction::Options& options_;
  DecodeLimits limits_;
  CleanedTransactions transactions_;
  std::string scratch_;
  Offset end_{};
  bool is_full_ = false;
};

// --- The new segment
// -------------------------------------------------------------------------------

// The files of a segment that is written anew, by the names `<base>.log.cleaned` and so on.
class CleanedSegment {
 public:
  static Result<std::unique_ptr<CleanedSegment>> create(WriteDir& dir, Offset base_offset,
                                                        const LogConfig& config) {
    std::unique_ptr<CleanedSegment> made(new CleanedSegment(dir, base_offset));
    ASSIGN_OR_RETURN(made->log_, made->open(SegmentFile::kLog));
    const auto index = [&](SegmentFile file, std::int64_t entry_bytes) -> Result<IndexWriter> {
      ASSIGN_OR_RETURN(auto opened, made->open(file));
      ASSIGN_OR_RETURN(auto writer, IndexWriter::open(std::move(opened), entry_bytes, 0, 0));
      writer.collect();
      return writer;
    };
    ASSIGN_OR_RETURN(auto offset_index, index(SegmentFile::kOffsetIndex, 8));
    ASSIGN_OR_RETURN(auto time_index, index(SegmentFile::kTimeIndex, 12));
    made->indexes_.emplace(base_offset, config.index_interval_bytes, std::move(offset_index),
                           std::move(time_index), SegmentIndexes::State{});
    return made;
  }

  // Unless it was handed over, nothing is left of it.
  ~CleanedSegment() {
    if (handed_over_) return;
    for (const auto file : {SegmentFile::kLog, SegmentFile::kOffsetIndex, SegmentFile::kTimeIndex,
                            SegmentFile::kTransactionIndex})
      (void)dir_.unlink_if_there(name_of(file)).has_value();
  }
  CleanedSegment(const CleanedSegment&) = delete;
  CleanedSegment& operator=(const CleanedSegment&) = delete;

  Result<void> append(Bytes batch) {
    BatchHeader header;
    CHECK(parse_batch_header(batch, header, nullptr) == HeaderStatus::kOk);
    if (segment_.size_bytes + header.size_bytes > INT32_MAX)
      return fail(Errc::kTooLarge, dir_.name_of(name_of(SegmentFile::kLog)) +
                                       ": would exceed 2 GiB; lower segment.bytes");
    RETURN_IF_ERROR(indexes_->add(header, {segment_.size_bytes}));
    if (!segment_.first_timestamp) segment_.first_timestamp = header.max_timestamp;
    segment_.size_bytes += header.size_bytes;
    collected_ += batch;
    return collected_.size() < kCollectedBytes ? Result<void>{} : write_collected();
  }
  Result<void> add_aborted(const AbortedTransaction& aborted) {
    if (!transaction_index_) {
      ASSIGN_OR_RETURN(auto opened, open(SegmentFile::kTransactionIndex));
      ASSIGN_OR_RETURN(
          transaction_index_,
          IndexWriter::open(std::move(opened),
                            static_cast<std::int64_t>(TransactionIndex::kEntryBytes), 0, 0));
      transaction_index_->collect();
    }
    return transaction_index_->append(render_aborted_transaction(aborted));
  }

  // Durable, and as old as `mtime_ns`.
  Result<WrittenSegment> finish(Offset next_offset, std::int64_t mtime_ns) {
    RETURN_IF_ERROR(write_collected());
    RETURN_IF_ERROR(log_->sync());
    RETURN_IF_ERROR(indexes_->seal());
    RETURN_IF_ERROR(indexes_->sync());
    if (transaction_index_) {
      RETURN_IF_ERROR(transaction_index_->trim());
      RETURN_IF_ERROR(transaction_index_->sync());
    }
    RETURN_IF_ERROR(dir_.set_mtime(name_of(SegmentFile::kLog), mtime_ns));
    segment_.next_offset = next_offset;
    segment_.indexes = indexes_->state();
    segment_.indexes.bytes_since_entry = 0;
    return segment_;
  }
  void hand_over() { handed_over_ = true; }

 private:
  CleanedSegment(WriteDir& dir, Offset base_offset) : dir_(dir) {
    segment_.base_offset = base_offset;
  }
  std::string name_of(SegmentFile file) const {
    return file_of(segment_.base_offset, file) + ".cleaned";
  }
  Result<std::unique_ptr<WriteFile>> open(SegmentFile file) {
    return dir_.open(name_of(file), WriteDir::Open::kFresh);
  }
  Result<void> write_collected() {
    const Position at{segment_.size_bytes - static_cast<std::int64_t>(collected_.size())};
    RETURN_IF_ERROR(log_->write_at(at, collected_));
    collected_.clear();
    return {};
  }

  WriteDir& dir_;
  WrittenSegment segment_;
  std::unique_ptr<WriteFile> log_;
  std::optional<SegmentIndexes> indexes_;
  std::string collected_;
  std::optional<IndexWriter> transaction_index_;  // with the first entry
  bool handed_over_ = false;
};

// --- A pass
// ----------------------------------------------------------------------------------------

class Pass {
 public:
  Pass(const CompactionInput& input, const LogCompaction::Options& options, LogWriter& log,
       CompactionFilter& filter, CleanedTransactions& transactions)
      : input_(input), options_(options), log_(log), filter_(filter), transactions_(transactions) {}

  Result<void> clean(const CompactionGroup& group, LogCompaction::Run& run) {
    const std::size_t end = group.first + group.count;
    ASSIGN_OR_RETURN(const auto cleaned,
                     CleanedSegment::create(log_.dir(), input_.segments[group.first].base_offset,
                                            input_.config));
    std::vector<Offset> base_offsets;
    for (std::size_t i = group.first; i < end; ++i) {
      RETURN_IF_ERROR(clean_into(*cleaned, i));
      base_offsets.push_back(input_.segments[i].base_offset);
      run.bytes_before += input_.segments[i].size_bytes;
    }
    ASSIGN_OR_RETURN(const FileInfo last,
                     log_.dir().info(file_of(base_offsets.back(), SegmentFile::kLog)));
    ASSIGN_OR_RETURN(const WrittenSegment segment,
                     cleaned->finish(next_base(input_, end - 1), last.mtime_ns));
    const auto renamed = log_.replace_segments(base_offsets, segment);
    if (renamed || renamed.error().code != Errc::kOutOfRange) cleaned->hand_over();
    if (!renamed) return fail(renamed.error());
    run.renamed.insert(run.renamed.end(), renamed->begin(), renamed->end());
    run.segments_before += group.count;
    run.segments_after += 1;
    run.bytes_after += segment.size_bytes;
    return {};
  }

 private:
  Result<void> clean_into(CleanedSegment& cleaned, std::size_t i) {
    ASSIGN_OR_RETURN(const auto aborted, aborted_from(input_, log_, i, next_base(input_, i)));
    transactions_.add(aborted);
    return for_each_batch(log_, input_, i, options_, [&](const auto& batch) -> Result<bool> {
      ASSIGN_OR_RETURN(const auto kept, filter_.filter(batch.header, batch.entry));
      if (!kept.batch.empty()) RETURN_IF_ERROR(cleaned.append(kept.batch));
      if (kept.aborted) RETURN_IF_ERROR(cleaned.add_aborted(*kept.aborted));
      return true;
    });
  }

  const CompactionInput& input_;
  const LogCompaction::Options& options_;
  LogWriter& log_;
  CompactionFilter& filter_;
  CleanedTransactions& transactions_;
};

}  // namespace

Result<LogCompaction::Run> LogCompaction::run(TimestampMs now) {
  const LogConfig config = log_.config();
  if (!config.cleanup_policy.compact || !config.cleaner_enable) return Run{};
  if (uncleanable_) return fail(*uncleanable_);
  ASSIGN_OR_RETURN(CompactionInput input, input_of(log_, now));
  const auto plan = plan_compaction(input);
  return plan && plan->is_due ? clean_once(input, *plan, now) : Run{};
}

Result<LogCompaction::Run> LogCompaction::run_at_once(TimestampMs now) {
  ASSIGN_OR_RETURN(CompactionInput input, input_of(log_, now));
  const auto plan = plan_compaction(input);
  return plan ? clean(input, *plan, now) : Run{};
}

// A pass would come to the same place again, and have written all that lies before it anew.
Result<LogCompaction::Run> LogCompaction::clean_once(CompactionInput& input,
                                                     const CompactionPlan& plan, TimestampMs now) {
  auto run = clean(input, plan, now);
  if (run) return run;
  const Errc code = run.error().code;
  if (code == Errc::kCorrupt || code == Errc::kUnsupported || code == Errc::kTooLarge)
    uncleanable_ = run.error();
  return run;
}

Result<LogCompaction::Run> LogCompaction::clean(CompactionInput& input, const CompactionPlan& plan,
                                                TimestampMs now) {
  Run run;
  find_index_sizes(log_, input);
  run.first_dirty = plan.first_dirty;
  // No more keys than there are offsets.
  KeyOffsets keys(options_.keys_bytes, plan.first_uncleanable - plan.first_dirty,
                  random_hash_key());
  ASSIGN_OR_RETURN(run.end, KeyWalk(input, plan, log_, keys, options_).run());

  CleanedTransactions transactions;
  CompactionFilter::Options options;
  options.last_mapped = run.end - 1;
  options.now = now;
  options.delete_retention_ms = input.config.delete_retention_ms;
  options.decompressed_limit_bytes = options_.decompressed_limit_bytes;
  CompactionFilter filter(options, keys, log_.producers(), transactions);
  Pass pass(input, options_, log_, filter, transactions);
  for (const auto& group : group_segments(input, run.end, plan.first_uncleanable)) {
    const std::size_t before = run.renamed.size();
    auto cleaned = pass.clean(group, run);
    waiting_.add({run.renamed.begin() + static_cast<std::ptrdiff_t>(before), run.renamed.end()},
                 now, input.config);
    RETURN_IF_ERROR(std::move(cleaned));
  }
  RETURN_IF_ERROR(log_.checkpoint_first_dirty(run.end));
  run.cleaned = true;
  return run;
}

}  // namespace offsetfs::storage
