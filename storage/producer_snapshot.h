#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/batch_header.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::storage {

// What a log knows of one producer at an offset.
struct ProducerSnapshotEntry {
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = -1;
  std::int32_t last_sequence = -1;      // -1: no batch since the epoch began
  Offset last_offset{-1};               // of the last data batch; -1: none
  std::int32_t offset_delta = 0;        // its last_offset - base_offset
  TimestampMs last_timestamp{-1};       // of the batch, or of the marker
  std::int32_t coordinator_epoch = -1;  // of the last marker; -1: none
  Offset current_txn_first_offset{-1};  // -1: no open transaction

  // What the producer's next batch makes of it: one of data, or the marker that ends a transaction,
  // which returns the offset that began with; -1: none was open. A new epoch knows nothing of the
  // batches of the one before.
  void note_data(const BatchHeader& header);
  Offset note_marker(const BatchHeader& header, std::int32_t new_coordinator_epoch);

  friend bool operator==(const ProducerSnapshotEntry&, const ProducerSnapshotEntry&) = default;

 private:
  void enter_epoch(const BatchHeader& header);
};

// The producers of a log before an offset (`<offset>.snapshot`):
//
//   file  := version: i16 (1)  crc: u32 (CRC-32C of all behind it)  count: i32  entry{count}
//   entry := the fields above in their order, 46 bytes; big-endian
//
// Source: Kafka's ProducerStateManager.

// kUnsupported for another version; kCorrupt for a wrong length or CRC.
Result<std::vector<ProducerSnapshotEntry>> parse_producer_snapshot(Bytes bytes,
                                                                   const std::string& name);
std::string render_producer_snapshot(std::span<const ProducerSnapshotEntry> entries);

}  // namespace offsetfs::storage
