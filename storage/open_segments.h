#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <unordered_map>

#include "storage/mutex.h"
#include "storage/result.h"
#include "storage/segment.h"

namespace offsetfs::storage {

// The segments that are open, of all partitions together: at most so many, and the one used longest
// ago is closed first (as soon as nobody uses it any more). So 1,000 partitions, or 100,000
// segments, are read with a handful of descriptors: a segment holds three at most. Any thread; no
// lock is held while a file is opened or closed.
class OpenSegments {
 public:
  struct Key {
    std::uint64_t owner = 0;  // a partition's; see BatchCache::new_owner()
    Offset base_offset{};
    SegmentSuffix suffix = SegmentSuffix::kNone;
    friend bool operator==(const Key&, const Key&) = default;
  };
  using Opener = std::function<Result<std::shared_ptr<const Segment>>()>;

  explicit OpenSegments(std::size_t most) : most_(most) {}

  // How many segments may stay open with this many descriptors for the whole process.
  static std::size_t most_for(std::uint64_t descriptors);

  Result<std::shared_ptr<const Segment>> get(const Key& key, const Opener& open);
  // The file of that name is another one now, or gone.
  void forget(const Key& key);
  void forget_owner(std::uint64_t owner);

  std::size_t open() const;

 private:
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };
  struct Slot {
    Key key;
    std::shared_ptr<const Segment> segment;
  };
  using Slots = std::list<Slot>;

  const std::size_t most_;
  mutable Mutex mutex_;
  Slots by_use_ GUARDED_BY(mutex_);  // latest first
  std::unordered_map<Key, Slots::iterator, KeyHash> by_key_ GUARDED_BY(mutex_);
  std::uint64_t forgets_ GUARDED_BY(mutex_) = 0;  // what was opened before one isn't kept
};

}  // namespace offsetfs::storage
