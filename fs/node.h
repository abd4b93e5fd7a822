#pragma once

#include <cstdint>
#include <string>

// What a name in the tree stands for. A node is a value: what it shows is read when asked, so it
// can't go stale; only its target can vanish.

namespace offsetfs::fs {

// The form of a stream or of one record's file: told by the suffix, everywhere the same.
enum class Form : std::uint8_t {
  kRaw,     // none: raw bytes, or a directory, a link, one value
  kJson,    // .json     one object
  kKey,     // .key      raw bytes of the key
  kLookup,  // .lookup   how it was found
  kJsonl,   // .jsonl    objects, one a line
  kValues,  // .values   value and newline
  kKeys,    // .keys     key and newline
  kTsv,     // .tsv      a table with a header line
};

enum class NodeKind : std::uint8_t {
  // The broker tree (log directory mounts) and the mount's root.
  kRoot,                 // a partition mount's root is kPartition instead
  kTopics,               // topics/
  kTopic,                // topics/T: text = topic
  kTopicPartition,       // topics/T/P: link; text = topic, number = partition
  kBrokerRetention,      // retention/ of all partitions
  kBrokerRetentionFile,  // number = which (names.h)
  // The partition tree. Every node below has `partition`.
  kPartition,
  kOffsets,
  kSeek,
  kTime,
  kSegments,
  kState,     // directories
  kRecord,    // offsets/N[.json|.key|.lookup]: number = N, form
  kRange,     // offsets/A..B.FORM: text = the two ends as written, form
  kSeekLink,  // seek/N[.json]: link; number = N, form
  kFirstLink,
  kLastLink,       // first last first.json last.json: links; form
  kTimeLink,       // time/TS[.json]: link; text = TS as written, form
  kTimeLookup,     // time/TS.lookup: text = TS as written
  kTimeRange,      // time/T1..T2.FORM: text, form
  kSegment,        // segments/BASE[.suffix]/: number = base offset, suffix
  kSegmentStream,  // segments/BASE/records.FORM
  kSegmentBatches,
  kSegmentOffsetIndex,
  kSegmentTimeIndex,
  kSegmentTransactionIndex,
  kSegmentProducers,
  kSegmentInfo,
  kSegmentDamage,
  kActiveLink,       // active -> segments/BASE
  kPartitionStream,  // records.FORM of the partition
  kStateFile,        // state/NAME: number = which (names.h)
  kRetention,
  kExpired,
  kDeleting,
  kWhatIf,         // directories
  kRetentionFile,  // retention/NAME: number = which (names.h)
  kExpiredLink,
  kDeletingLink,  // number = base offset
  kDeletingStatus,
  kWhatIfFile,  // retention/what-if/K=V,K=V: text, form
  // Files of both roots.
  kReadme,
  kStats,
  kProblems,
  kCacheDirTag,
  kFollow,        // directory
  kFollowStream,  // follow/START.FORM: text = START as written, form
  kAppend,        // append, append.jsonl: form; only where the log is written
  // Not built yet; the names are reserved so that numbers never change meaning.
  kKeys,
  kRebuilt,
  kBroker,
  kGroups,
};

struct Node {
  static constexpr std::uint32_t kNoPartition = UINT32_MAX;  // of the log directory's own tree

  NodeKind kind = NodeKind::kRoot;
  Form form = Form::kRaw;
  std::uint8_t suffix = 0;  // storage::SegmentSuffix of a segment directory and its files
  // Of a segment directory and its files: storage::SegmentEntry::generation. A segment that was
  // replaced by another of its name is another node, so that who has the old one open keeps it.
  std::uint32_t generation = 0;
  std::uint32_t partition = kNoPartition;  // LogSource::Partition::id: an incarnation, not a name
  std::int64_t number = 0;                 // an offset, a base offset, a partition, a state file
  std::string text;                        // what no number says: ranges, times, topics

  friend bool operator==(const Node&, const Node&) = default;
};

}  // namespace offsetfs::fs
