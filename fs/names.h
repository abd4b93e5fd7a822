#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "fs/node.h"

// File names <-> what they mean, for every directory of the tree but those whose names come from
// the source (partitions and topics, see file_system.h). Pure: nothing is looked up, so a name that
// parses may still be of nothing. `parse_name(dir, print_name(node)) == node` for every node that a
// name can be given to.

namespace offsetfs::fs {

// Node::number of a kStateFile. Values are never used again for another file.
enum class StateFile : std::uint8_t {
  kLogStartOffset = 0,
  kLogEndOffset = 1,
  kHighWatermark = 2,
  kLastStableOffset = 3,
  kRecoveryPoint = 4,
  kCleanerOffset = 5,
  kRecords = 6,
  kTopic = 7,
  kPartition = 8,
  kTopicId = 9,
  kLeaderEpoch = 10,
  kLeaderEpochs = 11,  // leader_epochs.tsv
  kProducers = 12,     // producers.tsv
  kTransactions = 13,  // transactions.tsv
  kCompaction = 14,    // compaction.tsv
};

// Node::number of a kRetentionFile.
enum class RetentionFile : std::uint8_t {
  kStatusTsv = 0,
  kStatusJson = 1,
  kPolicyTsv = 2,
  kPolicyJson = 3,
  kNext = 4,
  kTimeline = 5,  // timeline.svg
};
// Node::number of a kBrokerRetentionFile.
enum class BrokerRetentionFile : std::uint8_t {
  kStatusTsv = 0,
  kStatusJson = 1,
  kTopics = 2,     // topics.tsv
  kRemovable = 3,  // removable.tsv
};

// How parsed nodes are made, so that a node has one value: `form` is what the suffix says where the
// kind has more than one (records, links, ranges, streams) and kRaw elsewhere; `number`, `suffix`
// and `text` are zero or empty where node.h names no use of them. A child has its directory's
// partition.

// The node `name` stands for in the directory `dir`; nothing for a name that is no name there: only
// canonical decimal numbers (no sign, no leading zero), 20-digit segment names, known suffixes.
std::optional<Node> parse_name(const Node& dir, std::string_view name);

// The last component of a node's path; empty for a root and for a partition's directory, which the
// source names.
std::string print_name(const Node& node);

// The fixed names a listing of `dir` shows, in order; not what depends on data (records, segments).
// The caller fills in partition, and for a segment's files number, suffix and generation, from the
// directory.
std::span<const Node> fixed_entries(NodeKind dir);

}  // namespace offsetfs::fs
