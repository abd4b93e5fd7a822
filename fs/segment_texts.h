#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>

#include "fs/node.h"
#include "fs/node_facts.h"
#include "fs/partitions.h"
#include "storage/mutex.h"
#include "storage/partition_log.h"
#include "storage/result.h"
#include "storage/segment_files.h"

namespace offsetfs::fs {

// The entry of a segment directory's or its files' node; kNotFound if the partition has no such
// segment (any more).
storage::Result<storage::SegmentEntry> segment_entry(const PartitionView& view, const Node& node);

// `segments/BASE/`: what is told of one segment but its records and batches (those are streams):
// index.tsv timeindex.tsv txnindex.tsv producers.jsonl info.json damage.jsonl. Each exists in every
// segment; where its source has no such file it is empty but for its header line. Any thread.
//
// A text is made when it is opened. Its exact size is told from then on, as long as the files it
// was made of stay as they are; before, small ones are made for the asking, and of large ones an
// upper bound is told.
class SegmentTexts {
 public:
  static bool is_one(NodeKind kind);

  storage::Result<NodeFacts> facts(const PartitionView& view, const Node& node);
  bool opens_slowly(const PartitionView& view, const Node& node);
  storage::Result<std::string> text(const PartitionView& view, const Node& node,
                                    std::stop_token stop);

 private:
  using Key = std::tuple<std::uint32_t, std::int64_t, std::uint8_t, NodeKind>;
  struct Made {  // when the source was so and so large, and of that time, the text had so many
                 // bytes
    std::int64_t source_bytes = 0;
    std::int64_t source_mtime_ns = 0;
    std::int64_t text_bytes = 0;
    friend bool operator==(const Made&, const Made&) = default;
  };
  static constexpr std::size_t kMostMade = 1U << 14;

  std::optional<std::int64_t> known_size(const Node& node, const SourceFacts& source);

  storage::Mutex mutex_;
  std::map<Key, Made> made_ GUARDED_BY(mutex_);
};

}  // namespace offsetfs::fs
