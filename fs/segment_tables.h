#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "fs/partitions.h"
#include "storage/partition_log.h"
#include "storage/result.h"
#include "storage/transaction_index.h"

// The files beside a `.log`, decoded: one row an entry as it lies in the file, up to padding. A
// file that is not there gives a table without rows.

namespace offsetfs::fs {

// index.tsv: offset, position.
storage::Result<std::string> offset_index_table(const PartitionView& view,
                                                const storage::SegmentEntry& entry);
// timeindex.tsv: timestamp, offset.
storage::Result<std::string> time_index_table(const PartitionView& view,
                                              const storage::SegmentEntry& entry);
// txnindex.tsv: producer_id, first_offset, last_offset, last_stable_offset.
storage::Result<std::string> transaction_index_table(const PartitionView& view,
                                                     const storage::SegmentEntry& entry);
// Its entries one by one until `visit` returns false; none where there is no such file.
storage::Result<void> for_each_aborted(
    const PartitionView& view, const storage::SegmentEntry& entry,
    const std::function<bool(const storage::AbortedTransaction&)>& visit);
// producers.jsonl: an object a producer, of the snapshot that bears the segment's base offset.
storage::Result<std::string> producer_snapshot_lines(const PartitionView& view,
                                                     const storage::SegmentEntry& entry);

// No header line above is longer.
inline constexpr std::int64_t kTableHeaderBytes = 64;

}  // namespace offsetfs::fs
