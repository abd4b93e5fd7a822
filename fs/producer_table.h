#pragma once

#include <span>
#include <string>

#include "storage/producer_snapshot.h"

namespace offsetfs::fs {

// What a log knows of its producers, a row each; columns and fields are those of the snapshot, and
// what there is none of is -1, as in Kafka.
//
//   producer_id producer_epoch last_sequence last_offset offset_delta last_timestamp
//   coordinator_epoch current_txn_first_offset

// `state/producers.tsv`.
std::string producer_table(std::span<const storage::ProducerSnapshotEntry> producers);
// `segments/BASE/producers.jsonl`.
std::string producer_lines(std::span<const storage::ProducerSnapshotEntry> producers);

}  // namespace offsetfs::fs
