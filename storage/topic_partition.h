#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace offsetfs::storage {

// The pair that names a log.
struct TopicPartition {
  std::string topic;
  std::int32_t partition = 0;

  friend auto operator<=>(const TopicPartition&, const TopicPartition&) = default;
  std::string to_string() const { return topic + "-" + std::to_string(partition); }
};

// What a directory name below a log directory says of its state.
//
//   name := topic "-" partition [ "." 32 hex digits ("-delete" | "-stray" | "-future") ]
//
// The topic may hold dashes, dots and digits: the partition is what follows the last dash. The topic
// of a -delete or -stray name may be cut short by Kafka.
// Source: Kafka's LocalLog.parseTopicPartitionName.
enum class DirState { kLive, kDelete, kStray, kFuture };

struct PartitionDirName {
  TopicPartition topic_partition;
  DirState state = DirState::kLive;
};

// Nothing for a name that is none ("lost+found", "remote-log-index-cache", a file's name).
std::optional<PartitionDirName> parse_partition_dir(std::string_view name);

}  // namespace offsetfs::storage
