#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "storage/units.h"

namespace offsetfs::storage {

// A 128-bit hash under a secret key (SipHash-2-4): whoever chooses the hashed bytes can't choose
// two that meet. Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", and its
// reference implementation for 128 bits.
struct Hash128 {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};
using HashKey = std::array<std::uint64_t, 2>;
Hash128 sip_hash_128(Bytes bytes, const HashKey& key);
HashKey random_hash_key();

// Of each key the offset that was put last: what compaction decides by. 24 bytes a slot, keys by
// their hashes alone, so memory is bound whatever the keys are. Kafka's cleaner does the same with
// MD5; a key's offset may come back wrong with a chance of 2^-128 a pair of keys. One thread.
// Source: Kafka's SkimpyOffsetMap.
class KeyOffsets {
 public:
  // At most `memory_bytes`, and no more than `most_keys` keys need.
  KeyOffsets(std::int64_t memory_bytes, std::int64_t most_keys, const HashKey& key);

  // Full at nine tenths of the slots, as log.cleaner.io.buffer.load.factor has it.
  bool is_full() const { return keys_ >= most_keys_; }
  std::int64_t keys() const { return keys_; }
  // Precondition: not full.
  void put(Bytes key, Offset offset);
  std::optional<Offset> find(Bytes key) const;

 private:
  struct Slot {
    Hash128 hash;
    std::int64_t offset = -1;  // -1: free
  };
  std::size_t slot_of(const Hash128& hash) const;

  const HashKey key_;
  std::vector<Slot> slots_;
  std::int64_t most_keys_ = 0;
  std::int64_t keys_ = 0;
};

}  // namespace offsetfs::storage
