#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "storage/partition_log.h"
#include "storage/producer_snapshot.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::storage {

// What a broker would know of the producers of a log at its end.
struct ProducersAtEnd {
  std::vector<ProducerSnapshotEntry> producers;  // by producer id; those that idled are still here
  // Where ordinary readers end who want committed records only: the high watermark, or the first
  // offset of the earliest transaction that is open or whose marker lies above it.
  Offset last_stable_offset{};
};

// Takes the newest snapshot that can be read and follows the headers of the batches behind it, as a
// broker does when it starts. Damage is passed over. kIo with EINTR at `stop`.
// Source: Kafka's ProducerStateManager, ProducerAppendInfo.
Result<ProducersAtEnd> replay_producers(const std::shared_ptr<const PartitionLog>& log,
                                        const std::stop_token& stop);

// The same by the log alone, from its start.
Result<ProducersAtEnd> replay_producers_afresh(const std::shared_ptr<const PartitionLog>& log,
                                               const std::stop_token& stop);

}  // namespace offsetfs::storage
