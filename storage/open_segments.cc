#include "storage/open_segments.h"

#include <algorithm>

namespace offsetfs::storage {

std::size_t OpenSegments::most_for(std::uint64_t descriptors) {
  // Most of the descriptors belong to others: open handles of streams, rings, directories, FUSE.
  // A quarter of them, at three a segment.
  constexpr std::uint64_t kLeast = 8;
  constexpr std::uint64_t kMost = 256;
  return static_cast<std::size_t>(std::clamp(descriptors / 4 / 3, kLeast, kMost));
}

Result<std::shared_ptr<const Segment>> OpenSegments::get(const Key& key, const Opener& open) {
  std::uint64_t forgets = 0;
  {
    const MutexLock lock(mutex_);
    forgets = forgets_;
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      by_use_.splice(by_use_.begin(), by_use_, found->second);
      return found->second->segment;
    }
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const Segment> segment, open());
  Slots dropped;  // closed outside the lock
  const MutexLock lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    return found->second->segment;  // somebody else was faster
  }
  if (forgets != forgets_) return segment;
  by_use_.push_front({key, segment});
  by_key_.emplace(key, by_use_.begin());
  while (by_use_.size() > most_ && by_use_.size() > 1) {
    const auto last = std::prev(by_use_.end());
    by_key_.erase(last->key);
    dropped.splice(dropped.end(), by_use_, last);
  }
  return segment;
}

void OpenSegments::forget(const Key& key) {
  Slots dropped;
  const MutexLock lock(mutex_);
  ++forgets_;
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    dropped.splice(dropped.end(), by_use_, found->second);
    by_key_.erase(found);
  }
}

void OpenSegments::forget_owner(std::uint64_t owner) {
  Slots dropped;
  const MutexLock lock(mutex_);
  ++forgets_;
  for (auto at = by_use_.begin(); at != by_use_.end();) {
    const auto slot = at++;
    if (slot->key.owner != owner) continue;
    by_key_.erase(slot->key);
    dropped.splice(dropped.end(), by_use_, slot);
  }
}

std::size_t OpenSegments::open() const {
  const MutexLock lock(mutex_);
  return by_use_.size();
}

std::size_t OpenSegments::KeyHash::operator()(const Key& key) const noexcept {
  std::uint64_t mixed = key.owner * 0x9E3779B97F4A7C15ULL;
  mixed ^= static_cast<std::uint64_t>(key.base_offset.value) * 0xC2B2AE3D27D4EB4FULL;
  mixed += static_cast<std::uint64_t>(key.suffix);
  return static_cast<std::size_t>(mixed ^ (mixed >> 29));
}

}  // namespace offsetfs::storage
