#include "fs/state_files.h"

#include <cerrno>
#include <utility>

#include "fs/names.h"
#include "fs/producer_table.h"
#include "fs/state_tables.h"
#include "storage/leader_epochs.h"
#include "storage/log_cursor.h"
#include "storage/partition_metadata.h"
#include "storage/producer_replay.h"

namespace offsetfs::fs {
namespace {

using storage::LogCursor;
using storage::LogOffsets;
using storage::Offset;
using storage::Result;
using Text = Result<std::string>;

constexpr std::size_t kMostCheckpointBytes = 16 << 20;
// What a table may come to that was not made yet.
constexpr std::int64_t kUnknownTableBytes = 4096;

std::string line(std::int64_t value) { return std::to_string(value) + "\n"; }
std::string line(const std::optional<Offset>& offset) { return offset ? line(offset->value) : ""; }

std::string name_of(const PartitionView& view, const char* name) {
  return view.log->dir()->name_of(view.log->below(name));
}

Text topic_id(const PartitionView& view) {
  constexpr const char* kName = "partition.metadata";
  ASSIGN_OR_RETURN(const auto text, view.log->read_beside(kName, kMostCheckpointBytes));
  if (!text) return std::string();
  ASSIGN_OR_RETURN(const storage::PartitionMetadata metadata,
                   storage::parse_partition_metadata(*text, name_of(view, kName)));
  return metadata.topic_id.to_string() + "\n";
}

Result<storage::LeaderEpochs> leader_epochs(const PartitionView& view) {
  constexpr const char* kName = "leader-epoch-checkpoint";
  ASSIGN_OR_RETURN(const auto text, view.log->read_beside(kName, kMostCheckpointBytes));
  if (!text) return storage::LeaderEpochs();
  return storage::parse_leader_epochs(*text, name_of(view, kName));
}

Text leader_epoch(const PartitionView& view) {
  ASSIGN_OR_RETURN(const auto epochs, leader_epochs(view));
  const auto latest = epochs.latest();
  return latest ? line(latest->value) : "";
}

Text leader_epoch_table(const PartitionView& view) {
  ASSIGN_OR_RETURN(const auto epochs, leader_epochs(view));
  std::string text = "leader_epoch\tstart_offset\n";
  for (const storage::LeaderEpochs::Entry& entry : epochs.entries()) {
    text +=
        std::to_string(entry.epoch.value) + "\t" + std::to_string(entry.start_offset.value) + "\n";
  }
  return text;
}

// Of one batch, by its header where that tells.
Result<std::int64_t> visible_records(const LogCursor& cursor, const LogOffsets& log,
                                     bool show_control) {
  const storage::BatchHeader& header = cursor.batch().header;
  if (header.is_control() && !show_control) return 0;
  const Offset records_end = std::min(cursor.records_end(), log.readable_end);
  const bool whole =
      header.base_offset >= log.log_start_offset && header.last_offset < records_end;
  if (header.is_v2() && whole) return header.records_count;
  if (!header.is_v2() && header.codec_id() == 0) return 1;
  const auto decoded = cursor.decode();
  if (!decoded) return 0;  // damage: it has no records to read
  auto records = (*decoded)->records();
  storage::Record record;
  std::int64_t count = 0;
  while (records.next(record) == storage::RecordReader::Step::kRecord)
    count += record.offset >= log.log_start_offset && record.offset < records_end ? 1 : 0;
  return count;
}

Text record_count(const PartitionView& view, bool show_control, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const LogOffsets log, view.log->offsets());
  LogCursor::Options options;
  options.headers_only = true;
  LogCursor cursor(view.log, log.log_start_offset, log.readable_end, options);
  std::int64_t count = 0;
  for (;;) {
    if (stop.stop_requested()) return storage::fail_errno(EINTR, "counting records");
    switch (cursor.next()) {
      case LogCursor::Step::kBatch: {
        ASSIGN_OR_RETURN(const std::int64_t records, visible_records(cursor, log, show_control));
        count += records;
        continue;
      }
      case LogCursor::Step::kDamaged: continue;
      case LogCursor::Step::kEnd: return line(count);
      case LogCursor::Step::kIo: return storage::fail(cursor.error());
    }
  }
}

bool is_table(StateFile file) {
  return file == StateFile::kProducers || file == StateFile::kTransactions ||
         file == StateFile::kCompaction;
}

bool is_walk(StateFile file) {
  return is_table(file) || file == StateFile::kRecords || file == StateFile::kLastStableOffset;
}

Text offset_text(const PartitionView& view, StateFile file) {
  ASSIGN_OR_RETURN(const LogOffsets log, view.log->offsets());
  switch (file) {
    case StateFile::kLogStartOffset: return line(log.log_start_offset.value);
    case StateFile::kLogEndOffset: return line(log.log_end_offset.value);
    case StateFile::kHighWatermark: return line(log.high_watermark.value);
    case StateFile::kRecoveryPoint: return line(log.recovery_point);
    default: return line(log.cleaner_offset);
  }
}

Text make_text(const PartitionView& view, StateFile file, bool show_control,
               const std::stop_token& stop) {
  switch (file) {
    case StateFile::kTopic: return view.log->topic_partition().topic + "\n";
    case StateFile::kPartition: return line(view.log->topic_partition().partition);
    case StateFile::kTopicId: return topic_id(view);
    case StateFile::kLeaderEpoch: return leader_epoch(view);
    case StateFile::kLeaderEpochs: return leader_epoch_table(view);
    case StateFile::kRecords: return record_count(view, show_control, stop);
    case StateFile::kProducers: {
      ASSIGN_OR_RETURN(const auto end, storage::replay_producers(view.log, stop));
      return producer_table(end.producers);
    }
    case StateFile::kTransactions: return transaction_table(view, stop);
    case StateFile::kCompaction: return compaction_table(view, stop);
    case StateFile::kLastStableOffset: {
      ASSIGN_OR_RETURN(const auto end, storage::replay_producers(view.log, stop));
      return line(end.last_stable_offset.value);
    }
    case StateFile::kLogStartOffset:
    case StateFile::kLogEndOffset:
    case StateFile::kHighWatermark:
    case StateFile::kRecoveryPoint:
    case StateFile::kCleanerOffset: break;
  }
  return offset_text(view, file);
}

}  // namespace

bool StateFiles::opens_slowly(const Node& node) {
  return is_walk(static_cast<StateFile>(node.number));
}

Result<std::string> StateFiles::text(const PartitionView& view, const Node& node,
                                     const std::stop_token& stop) {
  const auto file = static_cast<StateFile>(node.number);
  ASSIGN_OR_RETURN(const LogOffsets log, view.log->offsets());
  ASSIGN_OR_RETURN(std::string made, make_text(view, file, show_control_, stop));
  if (!is_walk(file)) return made;
  const storage::MutexLock lock(mutex_);
  if (made_.size() >= kMostMade) made_.clear();
  made_[{node.partition, node.number}] = {log.log_end_offset,
                                          static_cast<std::int64_t>(made.size())};
  return made;
}

std::optional<std::int64_t> StateFiles::known_size(const Node& node, Offset log_end_offset) {
  const storage::MutexLock lock(mutex_);
  const auto found = made_.find({node.partition, node.number});
  if (found == made_.end() || found->second.log_end_offset != log_end_offset) return std::nullopt;
  return found->second.size_bytes;
}

Result<NodeFacts> StateFiles::facts(const PartitionView& view, const Node& node) {
  const auto file = static_cast<StateFile>(node.number);
  const auto active = view.active_segment();
  NodeFacts facts;
  facts.access = view.access.of_range({0}, {INT64_MAX});
  facts.mtime =
      active ? view.access.mtime_of_segment(active->base_offset) : view.access.mtime_of_directory();
  if (is_walk(file)) {
    ASSIGN_OR_RETURN(const LogOffsets log, view.log->offsets());
    const std::int64_t bound =
        is_table(file) ? kUnknownTableBytes
                       : static_cast<std::int64_t>(line(log.log_end_offset.value).size());
    facts.size_bytes = known_size(node, log.log_end_offset).value_or(bound);
    return facts;
  }
  ASSIGN_OR_RETURN(std::string made, text(view, node, {}));
  facts.content = std::make_shared<const Content>(std::move(made));
  facts.size_bytes = static_cast<std::int64_t>(facts.content->bytes().size());
  return facts;
}

}  // namespace offsetfs::fs
