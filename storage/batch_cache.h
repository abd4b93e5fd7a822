#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "storage/batch_place.h"
#include "storage/checked_batches.h"
#include "storage/mutex.h"
#include "storage/record_batch.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::storage {

// A decoded batch and where it was found. Immutable to its users; any thread.
class CachedBatch {
 public:
  CachedBatch(BatchPlace place, std::shared_ptr<const DecodedBatch> batch);

  const BatchPlace& place() const { return place_; }
  const std::shared_ptr<const DecodedBatch>& batch() const { return batch_; }
  // The offsets it answers for: [first_offset, last_offset].
  Offset first_offset() const { return first_offset_; }
  Offset last_offset() const { return place_.header.last_offset; }
  std::size_t memory_bytes() const;

  // The first record at or after `target`; nothing if there is none. Marks are left on the way, so
  // that reading the records of a batch one after another does not walk it again and again.
  // kCorrupt: says what, not where.
  Result<std::optional<Record>> record_at_or_after(Offset target) const;

 private:
  static constexpr std::int32_t kMarkEvery = 16;
  struct Mark {
    Offset offset{};  // of the record there
    std::uint32_t record_position = 0;
    std::int32_t ordinal = 0;
  };

  const BatchPlace place_;
  const std::shared_ptr<const DecodedBatch> batch_;
  Offset first_offset_{};
  mutable Mutex mutex_;
  // Of every kMarkEvery-th record, as far as somebody has walked: ordinals ascend.
  mutable std::vector<Mark> marks_ GUARDED_BY(mutex_);
};

// The batches decoded last, of all partitions together, bounded in bytes and in number: the one
// used longest ago goes first. The newest stays whatever its size. Of most it is known for longer
// where their records lie. Any thread.
class BatchCache {
 public:
  using Owner = CheckedBatches::Owner;  // a partition's; see new_owner()

  // More are no help to readers who each go through a batch, and what lookups all over a log touch
  // stays in the processor's cache.
  static constexpr std::size_t kMostBatches = 64;
  // About 60,000 batches: a GiB of them as producers make them by default.
  static constexpr std::size_t kCheckedBytes = 24U << 20;

  explicit BatchCache(std::size_t limit_bytes)
      : limit_bytes_(limit_bytes), checked_(kCheckedBytes) {}

  // A number that was never given before.
  Owner new_owner();
  // The batch that holds `offset`; null if it is not here.
  std::shared_ptr<const CachedBatch> find(Owner owner, Offset offset);
  // `forgets`: what forgets() was before the batch was read: what was forgotten since then may be
  // the very thing, and nothing is kept.
  void insert(Owner owner, std::shared_ptr<const CachedBatch> batch, std::uint64_t forgets);
  // The batches that end in [from, to) are not what lies in the files any more.
  void forget(Owner owner, Offset from, Offset to);
  std::uint64_t forgets() const;

  // Where the records around `offset` lie, if their batch was checked before and is not here whole.
  std::optional<BatchExcerpt> excerpt(Owner owner, Offset offset);
  // Its CRC is good, in a log that was `stamp` all the time from before it was read. `forgets`: as
  // above.
  void checked(Owner owner, const CachedBatch& batch, const LogStamp& stamp, std::uint64_t forgets);

  std::size_t memory_bytes() const;

 private:
  using Key = std::pair<Owner, Offset>;  // last_offset
  struct Slot;
  using Slots = std::list<Slot>;
  using ByOffset = std::map<Key, Slots::iterator>;
  struct Slot {
    std::shared_ptr<const CachedBatch> batch;
    std::size_t bytes = 0;
    ByOffset::iterator place;
  };

  const std::size_t limit_bytes_;
  mutable Mutex mutex_;
  Owner last_owner_ GUARDED_BY(mutex_) = 0;
  Slots by_use_ GUARDED_BY(mutex_);  // latest first
  ByOffset by_offset_ GUARDED_BY(mutex_);
  std::size_t bytes_ GUARDED_BY(mutex_) = 0;
  std::uint64_t forgets_ GUARDED_BY(mutex_) = 0;
  CheckedBatches checked_ GUARDED_BY(mutex_);
};

}  // namespace offsetfs::storage
