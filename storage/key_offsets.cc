#include "storage/key_offsets.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

#include "storage/check.h"

namespace offsetfs::storage {
namespace {

std::uint64_t load_little_endian(const char* at) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return std::endian::native == std::endian::little ? value : __builtin_bswap64(value);
}

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void take(std::uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
  std::uint64_t finish(std::uint64_t& into, std::uint64_t mark) {
    into ^= mark;
    for (int i = 0; i < 4; ++i) round();
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

}  // namespace

Hash128 sip_hash_128(Bytes bytes, const HashKey& key) {
  SipState state{0x736f6d6570736575U ^ key[0], 0x646f72616e646f6dU ^ key[1] ^ 0xee,
                 0x6c7967656e657261U ^ key[0], 0x7465646279746573U ^ key[1]};
  const char* at = bytes.data();
  for (const char* const end = at + bytes.size() / 8 * 8; at < end; at += 8)
    state.take(load_little_endian(at));
  std::array<char, 8> last{};
  std::memcpy(last.data(), at, bytes.size() % 8);
  last[7] = static_cast<char>(bytes.size());
  state.take(load_little_endian(last.data()));
  Hash128 hash;
  hash.low = state.finish(state.v2, 0xee);
  hash.high = state.finish(state.v1, 0xdd);
  return hash;
}

HashKey random_hash_key() {
  std::random_device random;
  HashKey key;
  for (auto& word : key) word = std::uint64_t{random()} << 32 | random();
  return key;
}

KeyOffsets::KeyOffsets(std::int64_t memory_bytes, std::int64_t most_keys, const HashKey& key)
    : key_(key) {
  const std::int64_t fit = memory_bytes / static_cast<std::int64_t>(sizeof(Slot));
  const std::int64_t needed = most_keys + most_keys / 9 + 2;
  const std::int64_t slots = std::clamp<std::int64_t>(std::min(fit, needed), 2, INT32_MAX);
  slots_.resize(static_cast<std::size_t>(slots));
  most_keys_ = std::max<std::int64_t>(slots * 9 / 10, 1);
}

// The slot that holds the hash, or the free one where it would go. There is always a free one.
std::size_t KeyOffsets::slot_of(const Hash128& hash) const {
  auto slot = static_cast<std::size_t>(hash.low % slots_.size());
  while (slots_[slot].offset >= 0 && slots_[slot].hash != hash)
    slot = slot + 1 == slots_.size() ? 0 : slot + 1;
  return slot;
}

void KeyOffsets::put(Bytes key, Offset offset) {
  CHECK(!is_full() && offset.value >= 0);
  const Hash128 hash = sip_hash_128(key, key_);
  Slot& slot = slots_[slot_of(hash)];
  if (slot.offset < 0) ++keys_;
  slot = {hash, offset.value};
}

std::optional<Offset> KeyOffsets::find(Bytes key) const {
  const Slot& slot = slots_[slot_of(sip_hash_128(key, key_))];
  if (slot.offset < 0) return std::nullopt;
  return Offset{slot.offset};
}

}  // namespace offsetfs::storage
