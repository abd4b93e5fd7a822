#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "fs/node.h"
#include "fs/node_facts.h"
#include "fs/partitions.h"
#include "storage/mutex.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// `state/NAME`: one value and a newline, or a table. Empty where a directory can't tell without its
// broker (no checkpoint, no topic id). Any thread.
//
// Some walk the batch headers of a log: those are made when they are opened, and from then on their
// size is told exactly as long as the log's end stays where it was; before, an upper bound is told.
class StateFiles {
 public:
  explicit StateFiles(bool show_control) : show_control_(show_control) {}

  static bool opens_slowly(const Node& node);

  // `node` of kind kStateFile. Without its content where that takes a walk.
  storage::Result<NodeFacts> facts(const PartitionView& view, const Node& node);
  // kIo with EINTR at `stop`.
  storage::Result<std::string> text(const PartitionView& view, const Node& node,
                                    const std::stop_token& stop);

 private:
  using Key = std::pair<std::uint32_t, std::int64_t>;  // partition, file
  struct Made {
    storage::Offset log_end_offset{};
    std::int64_t size_bytes = 0;
  };
  static constexpr std::size_t kMostMade = 1U << 14;

  std::optional<std::int64_t> known_size(const Node& node, storage::Offset log_end_offset);

  const bool show_control_;
  storage::Mutex mutex_;
  std::map<Key, Made> made_ GUARDED_BY(mutex_);
};

}  // namespace offsetfs::fs
