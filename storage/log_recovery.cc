#include "storage/log_recovery.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "storage/batch_scanner.h"
#include "storage/byte_reader.h"
#include "storage/segment_files.h"
#include "storage/tail_survey.h"
#include "storage/time_index.h"

namespace offsetfs::storage {
namespace {

constexpr const char* kLeaderEpochs = "leader-epoch-checkpoint";
constexpr std::size_t kMostSmallFileBytes = 64 << 20;
// Behind the last entry of an index lie a few batches. With more the index is no use, and whether a
// gap follows is left open.
constexpr int kMostHeadersForGap = 1000;

std::string file_of(Offset base_offset, SegmentFile file) {
  return segment_file_name({base_offset, file, SegmentSuffix::kNone});
}

class Recovery {
 public:
  Recovery(WriteDir& dir, const RecoveryOptions& options) : dir_(dir), options_(options) {}

  Result<RecoveredLog> run() {
    RETURN_IF_ERROR(list());
    if (log_.segments.empty()) RETURN_IF_ERROR(first_segment());
    RETURN_IF_ERROR(read_leader_epochs());
    const std::size_t from = first_to_walk();
    const bool look_behind_index = from == log_.segments.size();
    RETURN_IF_ERROR(start_producers(std::min(from, log_.segments.size() - 1), look_behind_index));
    for (std::size_t i = 0; i < log_.segments.size(); ++i) {
      const bool active = i + 1 == log_.segments.size();
      if (i >= from || lost_index_[i])
        RETURN_IF_ERROR(walk(i));
      else if (active)
        RETURN_IF_ERROR(open_clean(i));
      else
        RETURN_IF_ERROR(take_sealed(i));
    }
    RETURN_IF_ERROR(settle());
    return std::move(log_);
  }

 private:
  // --- What is there -----------------------------------------------------------------------------

  Result<void> list() {
    RETURN_IF_ERROR(settle_replacements());
    ASSIGN_OR_RETURN(const auto names, dir_.list_files());
    std::set<Offset> bases;
    for (const auto& name : names) {
      const auto parsed = parse_segment_file(name);
      if (!parsed || parsed->suffix != SegmentSuffix::kNone) continue;
      if (parsed->file == SegmentFile::kLog)
        bases.insert(parsed->base_offset);
      else if (parsed->file == SegmentFile::kProducerSnapshot)
        snapshots_.insert(parsed->base_offset);
    }
    for (const auto& name : names) {
      const auto parsed = parse_segment_file(name);
      if (parsed && parsed->suffix == SegmentSuffix::kNone &&
          parsed->file != SegmentFile::kProducerSnapshot && !bases.contains(parsed->base_offset))
        RETURN_IF_ERROR(remove(name));
    }
    for (const Offset base : bases) {
      WrittenSegment segment;
      segment.base_offset = segment.next_offset = base;
      ASSIGN_OR_RETURN(const FileInfo info, dir_.info(file_of(base, SegmentFile::kLog)));
      segment.size_bytes = info.size_bytes;
      log_.segments.push_back(segment);
      lost_index_.push_back(info.size_bytes > 0 &&
                            !dir_.info(file_of(base, SegmentFile::kOffsetIndex)));
    }
    return {};
  }

  // A compaction that was cut short is finished, or undone: as segment_list.h says, in its order,
  // but for what was doomed. It goes last: as long as a `.swap` has not taken its place, `.deleted`
  // files are the only other copy. Every step is durable before the next, so another crash changes
  // nothing.
  Result<void> settle_replacements() {
    ASSIGN_OR_RETURN(const auto names, dir_.list_files());
    Offset min_cleaned{INT64_MAX};
    bool any = false;
    for (const auto& name : names) {
      const auto parsed = parse_segment_file(name);
      if (!parsed || parsed->suffix == SegmentSuffix::kNone) continue;
      any = true;
      if (parsed->suffix == SegmentSuffix::kCleaned)
        min_cleaned = std::min(min_cleaned, parsed->base_offset);
    }
    if (!any) return {};
    RETURN_IF_ERROR(remove_where([&](const SegmentFileName& name) {
      return name.suffix == SegmentSuffix::kSwap && name.base_offset >= min_cleaned;
    }));
    RETURN_IF_ERROR(remove_where(
        [](const SegmentFileName& name) { return name.suffix == SegmentSuffix::kCleaned; }));
    ASSIGN_OR_RETURN(const auto covered, covered_by_swaps());
    RETURN_IF_ERROR(remove_where([&](const SegmentFileName& name) {
      return name.suffix == SegmentSuffix::kNone && name.base_offset >= covered.first &&
             name.base_offset < covered.second;
    }));
    RETURN_IF_ERROR(adopt_swaps());
    return remove_where(
        [](const SegmentFileName& name) { return name.suffix == SegmentSuffix::kDeleted; });
  }

  Result<void> remove_where(const std::function<bool(const SegmentFileName&)>& doomed) {
    ASSIGN_OR_RETURN(const auto names, dir_.list_files());
    for (const auto& name : names)
      if (const auto parsed = parse_segment_file(name); parsed && doomed(*parsed))
        RETURN_IF_ERROR(remove(name));
    return dir_.sync_dir();
  }

  // [the lowest base, the highest next offset) of the `.log.swap` files; empty where there are
  // none. Each is read to its end: what it was made from is about to go.
  Result<std::pair<Offset, Offset>> covered_by_swaps() {
    std::pair<Offset, Offset> covered{Offset{INT64_MAX}, Offset{0}};
    ASSIGN_OR_RETURN(const auto names, dir_.list_files());
    for (const auto& name : names) {
      const auto parsed = parse_segment_file(name);
      if (!parsed || parsed->suffix != SegmentSuffix::kSwap || parsed->file != SegmentFile::kLog)
        continue;
      covered.first = std::min(covered.first, parsed->base_offset);
      ASSIGN_OR_RETURN(const auto file, dir_.open_for_reading(name));
      ASSIGN_OR_RETURN(const FileInfo info, file->info());
      BatchScanner scanner(*file, {0}, {info.size_bytes},
                           {.segment_base_offset = parsed->base_offset});
      auto step = scanner.next();
      for (; step == BatchScanner::Step::kBatch; step = scanner.next())
        covered.second = std::max(covered.second, scanner.batch().header.next_offset());
      if (step == BatchScanner::Step::kEnd) continue;
      if (step == BatchScanner::Step::kIo) return fail(scanner.error());
      return fail(Errc::kCorrupt,
                  file->name() + ": the result of a compaction, and not whole at position " +
                      std::to_string(scanner.position().value) + ". Nothing was replaced by it; " +
                      cure_of(name, parsed->base_offset, names));
    }
    return covered;
  }

  // Those of a result's originals that were renamed already lie below the first that was not.
  static std::string cure_of(const std::string& swap, Offset base_offset,
                             const std::vector<std::string>& names) {
    Offset until{INT64_MAX};
    std::string renamed;
    for (const auto& name : names) {
      const auto parsed = parse_segment_file(name);
      if (!parsed || parsed->file != SegmentFile::kLog || parsed->base_offset < base_offset)
        continue;
      if (parsed->suffix == SegmentSuffix::kNone) until = std::min(until, parsed->base_offset);
      if (parsed->suffix == SegmentSuffix::kDeleted && parsed->base_offset < until)
        renamed += (renamed.empty() ? "" : ", ") + name;
    }
    if (renamed.empty()) return "if the segments it was made from are still there, remove " + swap;
    return "what it was made from is in " + renamed + ": remove " + swap +
           ", and take .deleted off the names of these";
  }

  // The `.log` first: with its `.swap` gone nothing is taken for replaced any more.
  Result<void> adopt_swaps() {
    ASSIGN_OR_RETURN(auto names, dir_.list_files());
    std::ranges::stable_partition(
        names, [](const std::string& name) { return name.ends_with(".log.swap"); });
    for (const auto& name : names) {
      const auto parsed = parse_segment_file(name);
      if (!parsed || parsed->suffix != SegmentSuffix::kSwap) continue;
      RETURN_IF_ERROR(
          dir_.rename(name, segment_file_name({parsed->base_offset, parsed->file, {}})));
      log_.report.notes.push_back(dir_.name_of(name) +
                                  ": the result of a compaction that was cut short, adopted");
    }
    return dir_.sync_dir();
  }

  Result<void> remove(const std::string& name) {
    RETURN_IF_ERROR(dir_.unlink_if_there(name));
    log_.report.removed.push_back(dir_.name_of(name));
    return {};
  }

  Result<void> first_segment() {
    const Offset base = options_.log_start_offset.value_or(Offset{0});
    ASSIGN_OR_RETURN(const auto made, SegmentWriter::create(dir_, base, options_.config));
    WrittenSegment segment;
    segment.base_offset = segment.next_offset = base;
    log_.segments.push_back(segment);
    lost_index_.push_back(false);
    return {};
  }

  Result<void> read_leader_epochs() {
    auto text = dir_.read_whole(kLeaderEpochs, kMostSmallFileBytes);
    if (!text && text.error().code == Errc::kNotFound) return {};
    if (!text) return fail(std::move(text.error()));
    ASSIGN_OR_RETURN(log_.leader_epochs, parse_leader_epochs(*text, dir_.name_of(kLeaderEpochs)));
    epochs_as_found_ = log_.leader_epochs.entries();
    return {};
  }

  // The segment that holds the recovery point; past all of them where there is nothing to walk.
  std::size_t first_to_walk() const {
    if (options_.clean) return log_.segments.size();
    std::size_t found = 0;
    for (std::size_t i = 0; i < log_.segments.size(); ++i)
      if (log_.segments[i].base_offset <= options_.recovery_point) found = i;
    return found;
  }

  Offset upper_bound_of(std::size_t i) const {
    return i + 1 < log_.segments.size() ? log_.segments[i + 1].base_offset : Offset{INT64_MAX};
  }

  // --- Producers ---------------------------------------------------------------------------------

  // From the newest readable snapshot at or below the segment, then by the batches up to it. With
  // the clean mark any snapshot will do: the end one was written when the log was closed.
  Result<void> start_producers(std::size_t segment, bool any) {
    const Offset until = log_.segments[segment].base_offset;
    log_.producers = ProducerState(log_.segments.front().base_offset, {});
    for (auto it = snapshots_.rbegin(); it != snapshots_.rend(); ++it) {
      if (!any && *it > until) continue;
      const std::string name = file_of(*it, SegmentFile::kProducerSnapshot);
      const auto bytes = dir_.read_whole(name, kMostSmallFileBytes);
      if (!bytes) return fail(bytes.error());
      const auto producers = parse_producer_snapshot(*bytes, dir_.name_of(name));
      if (!producers) {
        log_.report.notes.push_back(producers.error().what + "; an older one is taken");
        continue;
      }
      log_.producers = ProducerState(*it, *producers);
      break;
    }
    for (std::size_t i = 0; i < segment; ++i)
      if (upper_bound_of(i) > log_.producers.next_offset()) RETURN_IF_ERROR(replay(i));
    return {};
  }

  // Of a segment that is not walked: damage there is for readers to find.
  Result<void> replay(std::size_t i) {
    ASSIGN_OR_RETURN(const auto file, dir_.open_for_reading(file_of(log_.segments[i].base_offset,
                                                                    SegmentFile::kLog)));
    BatchScanner scanner(*file, {0}, {log_.segments[i].size_bytes});
    for (;;) {
      const auto step = scanner.next();
      if (step == BatchScanner::Step::kIo) return fail(scanner.error());
      if (step != BatchScanner::Step::kBatch) return {};
      (void)log_.producers.note(scanner.batch().header, scanner.batch().entry);
    }
  }

  // --- Segments that are not walked --------------------------------------------------------------

  Result<void> take_sealed(std::size_t i) {
    WrittenSegment& segment = log_.segments[i];
    if (const auto end = end_of_sealed(segment)) note_gap(i, *end);
    segment.next_offset = upper_bound_of(i);
    return take_last_time(segment);
  }

  // Behind its last batch; nothing where that can't be told, or does not matter.
  std::optional<Offset> end_of_sealed(WrittenSegment segment) {
    if (segment.size_bytes == 0) return segment.base_offset;
    if (options_.config.cleanup_policy.compact) return std::nullopt;
    const auto log = dir_.open_for_reading(file_of(segment.base_offset, SegmentFile::kLog));
    if (!log) return std::nullopt;
    const auto from = position_of_last_entry(segment, **log);
    if (!from || !*from) return std::nullopt;
    Position position = **from;
    for (int i = 0; i < kMostHeadersForGap; ++i) {
      const auto header = header_at(**log, position, segment.size_bytes);
      if (!header || !*header) return std::nullopt;
      position = position + (*header)->size_bytes;
      if (position.value == segment.size_bytes) return (*header)->next_offset();
    }
    return std::nullopt;
  }

  void note_gap(std::size_t i, Offset end) {
    const Offset next = upper_bound_of(i);
    const bool compacted = options_.config.cleanup_policy.compact ||
                           log_.segments[i].base_offset < options_.first_dirty_offset;
    if (end >= next || compacted) return;
    log_.report.gaps.push_back("the offsets " + std::to_string(end.value) + " to " +
                               std::to_string((next - 1).value) + ", before " +
                               file_of(next, SegmentFile::kLog) +
                               ", are in no segment: one is lost, unless the log was compacted "
                               "once. Readers pass over them");
  }

  // The last time entry of a trimmed index is the largest timestamp so far.
  Result<void> take_last_time(WrittenSegment& segment) {
    auto file = dir_.open_for_reading(file_of(segment.base_offset, SegmentFile::kTimeIndex));
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

  // The active segment under a clean mark: its end is found from the last index entry, and anything
  // that is not as a clean stop leaves it makes it be walked.
  Result<void> open_clean(std::size_t i) {
    WrittenSegment segment = log_.segments[i];
    if (segment.size_bytes == 0) {
      return {};
    }
    ASSIGN_OR_RETURN(const auto log,
                     dir_.open_for_reading(file_of(segment.base_offset, SegmentFile::kLog)));
    ASSIGN_OR_RETURN(const std::optional<Position> from, position_of_last_entry(segment, *log));
    const auto time = take_last_time(segment);
    if (!from || !time || !ends_whole(segment, *log, *from)) {
      log_.report.notes.push_back(log->name() +
                                  ": not as a clean stop leaves it, in spite of the clean mark");
      return walk(i);
    }
    log_.segments[i] = segment;
    return {};
  }

  // Nothing where the index is not what it should be.
  Result<std::optional<Position>> position_of_last_entry(WrittenSegment& segment, const File& log) {
    ASSIGN_OR_RETURN(const auto index, dir_.open_for_reading(file_of(segment.base_offset,
                                                                     SegmentFile::kOffsetIndex)));
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
    if (!header || header->base_offset > offset || offset < segment.base_offset)
      return std::nullopt;
    return position;
  }

  static Result<std::optional<BatchHeader>> header_at(const File& log, Position position,
                                                      std::int64_t size) {
    std::array<char, 61> bytes{};
    ASSIGN_OR_RETURN(const auto read, log.read_at(position, bytes));
    BatchHeader header;
    if (parse_batch_header({bytes.data(), read}, header, nullptr) != HeaderStatus::kOk ||
        position.value + header.size_bytes > size)
      return std::nullopt;
    return header;
  }

  bool ends_whole(WrittenSegment& segment, const File& log, Position from) {
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
      (void)log_.producers.note(header, scanner.batch().entry);
    }
  }

  // --- The walk ----------------------------------------------------------------------------------

  // The indexes grow beside the old ones and take their place when the walk has ended well.
  struct Rebuilt {
    SegmentIndexes indexes;
    std::optional<IndexWriter> transaction_index;  // with the first entry
  };

  Result<Rebuilt> start_indexes(Offset base) {
    const auto open_one = [&](SegmentFile file, std::int64_t entry_bytes) -> Result<IndexWriter> {
      ASSIGN_OR_RETURN(auto opened,
                       dir_.open(file_of(base, file) + ".tmp", WriteDir::Open::kFresh));
      ASSIGN_OR_RETURN(auto index, IndexWriter::open(std::move(opened), entry_bytes, 0, 0));
      index.collect();
      return index;
    };
    ASSIGN_OR_RETURN(auto offset_index, open_one(SegmentFile::kOffsetIndex, 8));
    ASSIGN_OR_RETURN(auto time_index, open_one(SegmentFile::kTimeIndex, 12));
    return Rebuilt{SegmentIndexes(base, options_.config.index_interval_bytes,
                                  std::move(offset_index), std::move(time_index), {}),
                   {}};
  }

  Result<void> walk(std::size_t i) {
    ASSIGN_OR_RETURN(auto rebuilt, start_indexes(log_.segments[i].base_offset));
    auto walked = walk_into(i, rebuilt);
    if (walked) return walked;
    for (const auto file :
         {SegmentFile::kOffsetIndex, SegmentFile::kTimeIndex, SegmentFile::kTransactionIndex})
      (void)dir_.unlink_if_there(file_of(log_.segments[i].base_offset, file) + ".tmp").has_value();
    return walked;
  }

  Result<void> walk_into(std::size_t i, Rebuilt& rebuilt) {
    WrittenSegment segment = log_.segments[i];
    segment.next_offset = segment.base_offset;
    const std::string name = file_of(segment.base_offset, SegmentFile::kLog);
    ASSIGN_OR_RETURN(const auto file, dir_.open_for_reading(name));
    BatchScanner::Options scanning;
    scanning.tail_may_be_torn = i + 1 == log_.segments.size();
    BatchScanner scanner(*file, {0}, {segment.size_bytes}, scanning);
    ++log_.report.segments_walked;
    for (;;) {
      const Position position = scanner.position();
      const auto step = scanner.next();
      if (step == BatchScanner::Step::kIo) return fail(scanner.error());
      if (step == BatchScanner::Step::kEnd) break;
      std::string why = step == BatchScanner::Step::kBatch
                            ? misplaced(i, segment, scanner.batch().header)
                            : "no whole batch";
      if (step == BatchScanner::Step::kBatch && why.empty()) {
        RETURN_IF_ERROR(note(scanner.batch(), segment, rebuilt));
        continue;
      }
      if (step == BatchScanner::Step::kDamaged) why = scanner.error().what;
      if (step == BatchScanner::Step::kDamaged && scanner.error().code == Errc::kUnsupported)
        return fail(Errc::kUnsupported, why + "; nothing was changed");
      RETURN_IF_ERROR(end_at(i, segment, *file, position, why, step == BatchScanner::Step::kBatch));
      break;
    }
    log_.report.bytes_walked += segment.size_bytes;
    return finish_walk(i, segment, rebuilt);
  }

  // Why a batch with a good CRC can't stand here, which its CRC does not cover; empty: it can.
  std::string misplaced(std::size_t i, const WrittenSegment& segment, const BatchHeader& header) {
    if (header.base_offset < segment.next_offset)
      return "offset " + std::to_string(header.base_offset.value) + ", expected " +
             std::to_string(segment.next_offset.value) + " or more";
    if (header.last_offset - segment.base_offset > INT32_MAX ||
        header.last_offset >= upper_bound_of(i))
      return "offset " + std::to_string(header.last_offset.value) + " lies beyond the segment";
    return {};
  }

  Result<void> note(const BatchScanner::Batch& batch, WrittenSegment& segment, Rebuilt& rebuilt) {
    const BatchHeader& header = batch.header;
    if (header.codec_id() > 4)
      return fail(Errc::kUnsupported, at(segment, batch.position) + "codec " +
                                          std::to_string(header.codec_id()) +
                                          ", which no Kafka has; nothing was changed");
    RETURN_IF_ERROR(rebuilt.indexes.add(header, batch.position));
    if (const auto aborted = log_.producers.note(header, batch.entry))
      RETURN_IF_ERROR(note_aborted(*aborted, segment, rebuilt));
    else if (header.is_control() && header.last_offset < log_.producers.next_offset() - 1)
      keep_transaction_index_ = true;
    if (header.is_v2() && header.leader_epoch.value >= 0)
      log_.leader_epochs.assign(header.leader_epoch, header.base_offset);
    if (!segment.first_timestamp) segment.first_timestamp = header.max_timestamp;
    segment.next_offset = header.next_offset();
    ++log_.report.batches_walked;
    return {};
  }

  Result<void> note_aborted(const AbortedTransaction& aborted, const WrittenSegment& segment,
                            Rebuilt& rebuilt) {
    if (!rebuilt.transaction_index) {
      const std::string name = file_of(segment.base_offset, SegmentFile::kTransactionIndex);
      ASSIGN_OR_RETURN(auto opened, dir_.open(name + ".tmp", WriteDir::Open::kFresh));
      ASSIGN_OR_RETURN(
          rebuilt.transaction_index,
          IndexWriter::open(std::move(opened),
                            static_cast<std::int64_t>(TransactionIndex::kEntryBytes), 0, 0));
      rebuilt.transaction_index->collect();
    }
    return rebuilt.transaction_index->append(render_aborted_transaction(aborted));
  }

  std::string dir_path() const {
    std::string path = dir_.name_of("");
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path;
  }

  std::string at(const WrittenSegment& segment, Position position) const {
    return dir_.name_of(file_of(segment.base_offset, SegmentFile::kLog)) + ": at position " +
           std::to_string(position.value) + ": ";
  }

  // The walk met something that is no batch. Cuts a torn tail; anything else is an error.
  Result<void> end_at(std::size_t i, WrittenSegment& segment, const File& log, Position position,
                      const std::string& why, bool misplaced) {
    const bool active = i + 1 == log_.segments.size();
    const bool flushed = segment.next_offset < options_.recovery_point;
    const std::int64_t size = segment.size_bytes;
    ASSIGN_OR_RETURN(const TailSurvey survey,
                     survey_tail(log, position, {size}, segment.next_offset));
    // A whole batch at a wrong offset is torn only where its offset itself was never written.
    const bool torn = active && (misplaced ? !flushed && survey.hole_at_front
                                           : !survey.next_valid || (!flushed && survey.hole));
    if (!torn || (flushed && !survey.only_zeros))
      return fail(Errc::kCorrupt,
                  at(segment, position) + "damaged (" + why + ")" +
                      (survey.next_valid ? "; whole batches follow from position " +
                                               std::to_string(survey.next_valid->value)
                                         : "") +
                      (active && flushed ? "; it was flushed once, so no crash tore it" : "") +
                      ". Nothing was changed. Read what is left, restore the file from a copy or a "
                      "replica, or cut it there yourself");
    // What would be refused after the cut is refused before it.
    if (auto held = check_end(segment.next_offset); !held)
      return fail(held.error().code,
                  at(segment, position) + why + ". Nothing was changed. " + held.error().what);
    log_.report.cuts.push_back({dir_.name_of(file_of(segment.base_offset, SegmentFile::kLog)),
                                position, size - position.value,
                                survey.next_valid
                                    ? "a hole that was never written, as a power cut leaves it"
                                    : "no whole batch, and none behind it"});
    segment.size_bytes = position.value;
    return {};
  }

  Result<void> finish_walk(std::size_t i, WrittenSegment& segment, Rebuilt& rebuilt) {
    const Offset base = segment.base_offset;
    RETURN_IF_ERROR(rebuilt.indexes.seal());
    // Durable, whoever wrote it: the recovery point will soon move past it.
    ASSIGN_OR_RETURN(const auto log,
                     dir_.open(file_of(base, SegmentFile::kLog), WriteDir::Open::kExisting));
    if (segment.size_bytes < log_.segments[i].size_bytes)
      RETURN_IF_ERROR(log->truncate(segment.size_bytes));
    RETURN_IF_ERROR(log->sync());
    RETURN_IF_ERROR(dir_.adopt_temporary(file_of(base, SegmentFile::kOffsetIndex),
                                         rebuilt.indexes.offset_index().file()));
    RETURN_IF_ERROR(dir_.adopt_temporary(file_of(base, SegmentFile::kTimeIndex),
                                         rebuilt.indexes.time_index().file()));
    const std::string aborted = file_of(base, SegmentFile::kTransactionIndex);
    if (rebuilt.transaction_index) {
      RETURN_IF_ERROR(rebuilt.transaction_index->trim());
      RETURN_IF_ERROR(dir_.adopt_temporary(aborted, rebuilt.transaction_index->file()));
    } else if (!keep_transaction_index_)
      RETURN_IF_ERROR(dir_.unlink_if_there(aborted));
    keep_transaction_index_ = false;
    segment.indexes = rebuilt.indexes.state();
    segment.indexes.bytes_since_entry = 0;
    if (i + 1 < log_.segments.size()) {
      note_gap(i, segment.next_offset);
      segment.next_offset = upper_bound_of(i);
    }
    log_.segments[i] = segment;
    return take_snapshot(i + 1 < log_.segments.size() ? upper_bound_of(i) : segment.next_offset);
  }

  Result<void> take_snapshot(Offset offset) {
    if (offset == log_.segments.front().base_offset) return {};
    if (log_.producers.next_offset() > offset) return {};
    RETURN_IF_ERROR(
        dir_.replace(file_of(offset, SegmentFile::kProducerSnapshot), log_.producers.snapshot()));
    snapshots_.insert(offset);
    return {};
  }

  // --- The end -----------------------------------------------------------------------------------

  Offset log_start_offset() const {
    return std::max(options_.log_start_offset.value_or(Offset{0}),
                    log_.segments.front().base_offset);
  }

  // Whether the log may end there: offsets that were given once are never given again.
  Result<void> check_end(Offset end) const {
    if (end < log_start_offset())
      return fail(Errc::kCorrupt,
                  dir_path() + ": the log ends at " + std::to_string(end.value) +
                      ", before its start at " + std::to_string(log_start_offset().value) +
                      " (log-start-offset-checkpoint). Its last segments are missing: bring them "
                      "back, or lower its entry there");
    const auto [once, file] =
        options_.recovery_point >= options_.high_watermark
            ? std::pair(options_.recovery_point, "recovery-point-offset-checkpoint")
            : std::pair(options_.high_watermark, "replication-offset-checkpoint");
    if (end < once)
      return fail(
          Errc::kCorrupt,
          dir_path() + ": the log ends at offset " + std::to_string(end.value) + ", and " +
              (once == options_.recovery_point ? "was flushed" : "had acknowledged records") +
              " up to " + std::to_string(once.value) + " once (" + file +
              "): a segment is lost, or its end. "
              "Offsets are never given twice, so nothing is appended here: restore the "
              "segment from a copy or a replica; or, if all readers may meet other records "
              "at these offsets, lower its entries in recovery-point-offset-checkpoint and "
              "replication-offset-checkpoint");
    return {};
  }

  Result<void> settle() {
    const WrittenSegment& active = log_.segments.back();
    log_.log_end_offset = active.next_offset;
    log_.log_start_offset = log_start_offset();
    RETURN_IF_ERROR(check_end(log_.log_end_offset));
    log_.recovery_point = options_.clean ? log_.log_end_offset
                                         : std::min(options_.recovery_point, log_.log_end_offset);
    // A broker's cache ends where the log does; one that begins there has not written yet. It
    // begins where the log does too: segments go first, and a crash may have come before it was
    // written.
    log_.leader_epochs.truncate_from_end(log_.log_end_offset);
    note_lost_start();
    log_.leader_epochs.truncate_from_start(log_.log_start_offset);
    if (log_.leader_epochs.entries() != epochs_as_found_)
      RETURN_IF_ERROR(dir_.replace(kLeaderEpochs, render_leader_epochs(log_.leader_epochs)));
    RETURN_IF_ERROR(settle_snapshots());
    log_.report.was_clean = options_.clean && log_.report.segments_walked == 0;
    return {};
  }

  // Where segments are removed, their leader epochs go at once, and the files only later.
  void note_lost_start() {
    const Offset first = log_.segments.front().base_offset;
    if (epochs_as_found_.empty() || epochs_as_found_.front().start_offset >= first) return;
    const auto& removed = log_.report.removed;
    if (std::ranges::any_of(removed, [](const auto& name) { return name.ends_with(".deleted"); }))
      return;
    log_.report.gaps.push_back(
        "the offsets " + std::to_string(epochs_as_found_.front().start_offset.value) + " to " +
        std::to_string((first - 1).value) + ", which the log began with (" + kLeaderEpochs +
        "), are in no segment: the first ones are lost, unless a crash cut their removal short");
  }

  // Every clean stop leaves one at the log's end: of those that lie at no segment's base a broker
  // keeps the newest, if it lies behind the last base.
  Result<void> settle_snapshots() {
    std::optional<Offset> stray;
    for (const Offset snapshot : snapshots_) {
      if (snapshot > log_.log_end_offset) {
        RETURN_IF_ERROR(remove(file_of(snapshot, SegmentFile::kProducerSnapshot)));
        continue;
      }
      log_.snapshot_offset = snapshot;
      if (std::ranges::binary_search(log_.segments, snapshot, {}, &WrittenSegment::base_offset))
        continue;
      if (stray) RETURN_IF_ERROR(unlink_snapshot(*stray));
      stray = snapshot;
    }
    if (stray && *stray < log_.segments.back().base_offset) return unlink_snapshot(*stray);
    return {};
  }

  Result<void> unlink_snapshot(Offset offset) {
    return dir_.unlink_if_there(file_of(offset, SegmentFile::kProducerSnapshot));
  }

  WriteDir& dir_;
  const RecoveryOptions options_;
  RecoveredLog log_;
  std::vector<bool> lost_index_;  // by segment
  std::set<Offset> snapshots_;
  std::vector<LeaderEpochs::Entry> epochs_as_found_;
  bool keep_transaction_index_ = false;
};

}  // namespace

std::string RecoveryReport::to_string() const {
  std::string text;
  for (const Cut& cut : cuts)
    text += cut.file + ": cut at position " + std::to_string(cut.position.value) + ", " +
            std::to_string(cut.bytes) + " bytes: " + cut.why + "\n";
  for (const auto& name : removed) text += name + ": removed\n";
  for (const auto& gap : gaps) text += gap + "\n";
  for (const auto& note : notes) text += note + "\n";
  return text;
}

Result<RecoveredLog> recover_log(WriteDir& dir, const RecoveryOptions& options) {
  return Recovery(dir, options).run();
}

}  // namespace offsetfs::storage
