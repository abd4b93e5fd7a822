#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/batch_header.h"
#include "storage/producer_snapshot.h"
#include "storage/result.h"
#include "storage/transaction_index.h"
#include "storage/units.h"

namespace offsetfs::storage {

// What a log's writer knows of its producers, brought forward batch by batch as a broker does:
// what producer snapshots and transaction indexes are written from. A value. One thread.
// Source: Kafka's ProducerStateManager, ProducerAppendInfo.
class ProducerState {
 public:
  ProducerState() = default;
  // As the snapshot of `offset` says.
  ProducerState(Offset offset, std::span<const ProducerSnapshotEntry> producers);

  // Everything below is known. Batches below it that are noted change nothing.
  Offset next_offset() const { return next_offset_; }

  // `entry`: the whole batch, its CRC checked. The transaction that an ABORT marker ended, if it is
  // one: an entry for the transaction index.
  std::optional<AbortedTransaction> note(const BatchHeader& header, Bytes entry);

  // As before the last note(): its batch could not be written. To be called once a note.
  void take_back();

  std::string snapshot() const;  // the bytes of `<next_offset>.snapshot`
  std::vector<ProducerSnapshotEntry> producers() const;
  // Where the earliest transaction begins that is still open; nothing: none is.
  std::optional<Offset> first_open_transaction() const;

 private:
  ProducerSnapshotEntry& of(const BatchHeader& header);
  std::optional<AbortedTransaction> note_marker(const BatchHeader& header, Bytes entry);

  Offset next_offset_{};
  std::map<std::int64_t, ProducerSnapshotEntry> producers_;
  // Before the last note: a log may have many producers, and one batch is of one of them.
  Offset previous_next_offset_{};
  std::int64_t previous_id_ = -1;  // -1: none was touched
  std::optional<ProducerSnapshotEntry> previous_;
};

}  // namespace offsetfs::storage
