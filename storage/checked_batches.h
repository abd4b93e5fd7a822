#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "storage/batch_place.h"
#include "storage/record_batch.h"
#include "storage/units.h"

namespace offsetfs::storage {

// What a `.log` was when a batch in it was checked: where it is the same, so is the batch.
struct LogStamp {
  ino_t ino = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  friend bool operator==(const LogStamp&, const LogStamp&) = default;
};

// A few neighbouring records of a batch that was checked, in the file: [from, to) of the records
// section, which begins behind the batch's header.
struct BatchExcerpt {
  BatchPlace place;
  LogStamp stamp;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::int32_t ordinal = 0;  // of the first
};

// Where the records lie in batches whose CRC was checked once: a later lookup in such a batch
// reads a few KiB of it, and not all for one record. Uncompressed batches of magic 2 alone have
// their records in the file as they are; very small ones are read whole as fast.
//
// Bounded in bytes: the batch used longest ago goes first. Not locked: batch_cache.h has the lock.
class CheckedBatches {
 public:
  using Owner = std::uint64_t;

  // A batch that is worth it.
  static bool keeps(const BatchHeader& header);

  explicit CheckedBatches(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // The records around `offset`; nothing if its batch is not known here.
  std::optional<BatchExcerpt> find(Owner owner, Offset offset);
  bool knows(Owner owner, Offset last_offset, const LogStamp& stamp) const;

  // Where the records of a batch lie: a mark for each kMarkBytes of them at most.
  struct Mark {
    std::uint32_t position = 0;  // in the records section
    std::int32_t ordinal = 0;
    std::int32_t offset_delta = 0;
  };
  using Marks = std::vector<Mark>;
  // Nothing if a record can't be read.
  static std::optional<Marks> marks_of(const DecodedBatch& batch);
  void insert(Owner owner, const BatchPlace& place, const LogStamp& stamp, Marks marks);

  // The batches that end in [from, to).
  void forget(Owner owner, Offset from, Offset to);

 private:
  static constexpr std::int32_t kLeastBytes = 8 << 10;
  static constexpr std::uint32_t kMarkBytes = 4 << 10;

  using Key = std::pair<Owner, Offset>;  // last_offset
  struct Slot;
  using Slots = std::list<Slot>;
  using ByOffset = std::map<Key, Slots::iterator>;
  struct Slot {
    BatchPlace place;
    LogStamp stamp;
    Marks marks;
    ByOffset::iterator at;
    std::size_t bytes() const;
  };

  void drop(ByOffset::iterator at);

  const std::size_t limit_bytes_;
  std::size_t bytes_ = 0;
  Slots by_use_;  // latest first
  ByOffset by_offset_;
};

}  // namespace offsetfs::storage
