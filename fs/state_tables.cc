#include "fs/state_tables.h"

#include <cerrno>
#include <cstdint>
#include <initializer_list>

#include "fs/segment_tables.h"
#include "storage/producer_replay.h"
#include "storage/segment_files.h"

namespace offsetfs::fs {
namespace {

using storage::Offset;
using storage::Result;
using storage::SegmentEntry;

void add_row(std::string& table, std::initializer_list<std::int64_t> numbers, const char* state) {
  for (const std::int64_t number : numbers) table.append(std::to_string(number)).push_back('\t');
  table.append(state).push_back('\n');
}

bool is_wanted(const std::stop_token& stop) { return !stop.stop_requested(); }

tl::unexpected<storage::Error> interrupted() {
  return storage::fail_errno(EINTR, "looking at all segments");
}

}  // namespace

Result<std::string> transaction_table(const PartitionView& view, const std::stop_token& stop) {
  std::string table = "producer_id\tfirst_offset\tlast_offset\tlast_stable_offset\tstate\n";
  for (const auto segments = view.log->segments(); const SegmentEntry& entry : *segments) {
    if (!is_wanted(stop)) return interrupted();
    RETURN_IF_ERROR(for_each_aborted(view, entry, [&](const storage::AbortedTransaction& aborted) {
      add_row(table,
              {aborted.producer_id, aborted.first_offset.value, aborted.last_offset.value,
               aborted.last_stable_offset.value},
              "aborted");
      return is_wanted(stop);
    }));
  }
  ASSIGN_OR_RETURN(const auto end, storage::replay_producers(view.log, stop));
  for (const storage::ProducerSnapshotEntry& producer : end.producers) {
    if (producer.current_txn_first_offset.value < 0) continue;
    add_row(table, {producer.producer_id, producer.current_txn_first_offset.value, -1, -1}, "open");
  }
  return table;
}

Result<std::string> compaction_table(const PartitionView& view, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const storage::LogOffsets log, view.log->offsets());
  // A log that was never cleaned is dirty from its start.
  const Offset cleaned = log.cleaner_offset.value_or(log.log_start_offset);
  std::string table = "base_offset\tnext_offset\tbytes\tstate\n";
  const auto segments = view.log->segments();
  for (auto entry = segments->begin(); entry != segments->end(); ++entry) {
    if (!is_wanted(stop)) return interrupted();
    const bool is_active = entry + 1 == segments->end();
    const Offset next_offset = is_active ? log.log_end_offset : (entry + 1)->base_offset;
    const auto file = view.access.segment_file(*entry, storage::SegmentFile::kLog);
    add_row(table, {entry->base_offset.value, next_offset.value, file ? file->size_bytes : 0},
            is_active                ? "active"
            : next_offset <= cleaned ? "clean"
                                     : "dirty");
  }
  return table;
}

}  // namespace offsetfs::fs
