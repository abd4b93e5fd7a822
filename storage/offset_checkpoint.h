#pragma once

#include <map>
#include <string>
#include <string_view>

#include "storage/result.h"
#include "storage/topic_partition.h"
#include "storage/units.h"

namespace offsetfs::storage {

// One offset a partition: the four checkpoints at the root of a log directory.
//
//   entry := topic partition offset      (checkpoint_file.h)
//
// Source: Kafka's OffsetCheckpointFile.
using OffsetCheckpoint = std::map<TopicPartition, Offset>;

inline constexpr const char* kHighWatermarkCheckpoint = "replication-offset-checkpoint";
inline constexpr const char* kRecoveryPointCheckpoint = "recovery-point-offset-checkpoint";
inline constexpr const char* kLogStartOffsetCheckpoint = "log-start-offset-checkpoint";
inline constexpr const char* kCleanerOffsetCheckpoint = "cleaner-offset-checkpoint";

// The last of several entries of one partition counts. kCorrupt or kUnsupported where a broker
// would refuse the file; messages say name and line.
Result<OffsetCheckpoint> parse_offset_checkpoint(std::string_view text, const std::string& name);
std::string render_offset_checkpoint(const OffsetCheckpoint& checkpoint);

}  // namespace offsetfs::storage
