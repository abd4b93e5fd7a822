#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include <sys/types.h>

#include "fs/node.h"
#include "fs/segment_stream.h"
#include "storage/file.h"
#include "storage/mutex.h"

namespace offsetfs::fs {

// What is remembered of the segments' streams, by node. A stream stays for a while after its last
// opener left; after that, of a sealed segment, its size, for as many as there is room for. Of the
// generations of a segment the one that was asked for last counts, and no other. Any thread.
class StreamRegistry {
 public:
  using Make = std::function<std::shared_ptr<SegmentStream>()>;

  explicit StreamRegistry(std::size_t points_budget_bytes)
      : points_budget_bytes_(points_budget_bytes) {}

  // The stream of the node, made if it is not there, or was of another file.
  std::shared_ptr<SegmentStream> find_or_make(const Node& node, const storage::FileInfo& file,
                                              const Make& make);
  // The stream if it is there; `sealed_bytes`: else its size, if that is known for good.
  std::shared_ptr<SegmentStream> find(const Node& node, const storage::FileInfo& file,
                                      std::optional<std::int64_t>& sealed_bytes) const;

  // What the node was at an earlier open.
  enum class Before : std::uint8_t {
    kNothing,  // never opened
    kSame,     // what it is now, or less of it: what the kernel cached is right
    kOther,    // another file, or one that was truncated since
  };
  // Says that the stream was opened and measured. `sealed`: its size will not change.
  Before opened(const Node& node, const SegmentStream::State& state, bool sealed);

  // Keeps within the budget: streams that nobody has open give up their resume points first, the
  // longest unused before others; then those that are open every other of theirs.
  void trim();

  std::size_t points_bytes() const;
  std::size_t remembered() const;  // nodes
  // More than these are remembered only if they are open, or were another file.
  static constexpr std::size_t kMostRemembered = 1U << 15;

 private:
  // Streams kept though nobody has them open.
  static constexpr std::size_t kMostStreams = 256;

  struct Hash {
    std::size_t operator()(const Node& node) const noexcept;
  };
  struct Entry {
    std::uint32_t node_generation = 0;
    dev_t dev = 0;
    ino_t ino = 0;
    std::shared_ptr<SegmentStream> stream;  // null: only the size is left
    std::optional<std::int64_t> sealed_bytes;
    std::optional<std::uint32_t> generation;  // at the last open
    bool was_other = false;                   // replaced or truncated since a first open
    std::uint64_t used = 0;                   // when: counts up
    bool is_open() const { return stream.use_count() > 1; }
    bool is_of(const Node& node, const storage::FileInfo& file) const {
      return node_generation == node.generation && dev == file.dev && ino == file.ino;
    }
  };
  using Entries = std::unordered_map<Node, Entry, Hash>;  // of all generations of a node

  Entries::iterator longest_unused(bool open) REQUIRES(mutex_);
  void forget_closed() REQUIRES(mutex_);
  void forget_sizes() REQUIRES(mutex_);

  const std::size_t points_budget_bytes_;
  mutable storage::Mutex mutex_;
  std::uint64_t clock_ GUARDED_BY(mutex_) = 0;
  Entries entries_ GUARDED_BY(mutex_);
  std::size_t streams_ GUARDED_BY(mutex_) = 0;  // entries with a stream
};

}  // namespace offsetfs::fs
