#include "storage/producer_replay.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "storage/control_record.h"
#include "storage/log_cursor.h"
#include "storage/segment_files.h"

namespace offsetfs::storage {
namespace {

constexpr std::size_t kMostSnapshotBytes = 64 << 20;

// The state at an offset, brought forward batch by batch.
class Replay {
 public:
  Replay(const std::vector<ProducerSnapshotEntry>& producers, Offset high_watermark)
      : high_watermark_(high_watermark) {
    for (const ProducerSnapshotEntry& producer : producers)
      producers_[producer.producer_id] = producer;
  }

  void data(const BatchHeader& header) { producers_[header.producer_id].note_data(header); }

  void marker(const BatchHeader& header, std::int32_t coordinator_epoch) {
    const Offset first = producers_[header.producer_id].note_marker(header, coordinator_epoch);
    // Ended, but those who read committed records only may not know that yet.
    if (first.value >= 0 && header.last_offset >= high_watermark_) note_unstable(first);
  }

  ProducersAtEnd end(Offset log_start_offset) {
    ProducersAtEnd end;
    for (const auto& [id, producer] : producers_) {
      if (producer.current_txn_first_offset.value >= 0)
        note_unstable(producer.current_txn_first_offset);
      end.producers.push_back(producer);
    }
    const Offset unstable = std::max(unstable_.value_or(high_watermark_), log_start_offset);
    end.last_stable_offset = std::min(unstable, high_watermark_);
    return end;
  }

 private:
  void note_unstable(Offset first) { unstable_ = unstable_ ? std::min(*unstable_, first) : first; }

  const Offset high_watermark_;
  std::map<std::int64_t, ProducerSnapshotEntry> producers_;
  std::optional<Offset> unstable_;
};

// Nothing where the batch is no end of a transaction, or can't be read.
std::optional<std::int32_t> coordinator_epoch_of(const LogCursor& cursor) {
  const auto batch = cursor.decode();
  if (!batch) return std::nullopt;
  RecordReader records = (*batch)->records();
  Record record;
  if (records.next(record) != RecordReader::Step::kRecord) return std::nullopt;
  const auto control = parse_control_record(record);
  if (!control) return std::nullopt;
  const auto* const marker = std::get_if<EndTransactionMarker>(&control->body);
  if (marker == nullptr) return std::nullopt;
  return marker->coordinator_epoch;
}

Result<ProducersAtEnd> replay(const std::shared_ptr<const PartitionLog>& log,
                              const LogOffsets& offsets, Offset from,
                              const std::vector<ProducerSnapshotEntry>& producers,
                              const std::stop_token& stop) {
  Replay replay(producers, offsets.high_watermark);
  LogCursor::Options options;
  options.headers_only = true;
  LogCursor cursor(log, from, offsets.log_end_offset, options);
  for (;;) {
    if (stop.stop_requested()) return fail_errno(EINTR, "following the producers of a log");
    switch (cursor.next()) {
      case LogCursor::Step::kBatch: {
        const BatchHeader& header = cursor.batch().header;
        if (!header.has_producer()) continue;
        if (!header.is_control()) {
          replay.data(header);
        } else if (const auto epoch = coordinator_epoch_of(cursor)) {
          replay.marker(header, *epoch);
        }
        continue;
      }
      case LogCursor::Step::kDamaged: continue;
      case LogCursor::Step::kEnd: return replay.end(offsets.log_start_offset);
      case LogCursor::Step::kIo: return fail(cursor.error());
    }
  }
}

// Offsets of the snapshots in the directory, newest first.
Result<std::vector<Offset>> snapshots_up_to(const PartitionLog& log, Offset log_end_offset) {
  std::string directory = log.below("");
  if (directory.ends_with('/')) directory.pop_back();
  std::vector<Offset> found;
  RETURN_IF_ERROR(log.dir()->list(directory, [&](const SourceDir::Entry& entry) {
    const auto name = parse_segment_file(entry.name);
    if (name && name->file == SegmentFile::kProducerSnapshot &&
        name->suffix == SegmentSuffix::kNone && name->base_offset <= log_end_offset)
      found.push_back(name->base_offset);
    return true;
  }));
  std::sort(found.begin(), found.end(), std::greater<>());
  return found;
}

Result<std::vector<ProducerSnapshotEntry>> read_snapshot(const PartitionLog& log, Offset offset) {
  const std::string below =
      log.below(segment_file_name({offset, SegmentFile::kProducerSnapshot, SegmentSuffix::kNone}));
  ASSIGN_OR_RETURN(const std::string bytes, log.dir()->read_whole(below, kMostSnapshotBytes));
  return parse_producer_snapshot(bytes, log.dir()->name_of(below));
}

}  // namespace

Result<ProducersAtEnd> replay_producers(const std::shared_ptr<const PartitionLog>& log,
                                        const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const LogOffsets offsets, log->offsets());
  ASSIGN_OR_RETURN(const auto snapshots, snapshots_up_to(*log, offsets.log_end_offset));
  for (const Offset snapshot : snapshots) {
    // In a newer one a marker above the high watermark may have ended a transaction already.
    if (offsets.high_watermark_known && snapshot > offsets.high_watermark) continue;
    const auto producers = read_snapshot(*log, snapshot);
    if (producers) return replay(log, offsets, snapshot, *producers, stop);
  }
  return replay(log, offsets, offsets.log_start_offset, {}, stop);
}

Result<ProducersAtEnd> replay_producers_afresh(const std::shared_ptr<const PartitionLog>& log,
                                               const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const LogOffsets offsets, log->offsets());
  return replay(log, offsets, offsets.log_start_offset, {}, stop);
}

}  // namespace offsetfs::storage
