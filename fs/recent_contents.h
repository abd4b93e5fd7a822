#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "fs/memory_file.h"
#include "storage/mutex.h"

namespace offsetfs::fs {

// What LOOKUP found, kept for the OPEN that mostly follows it: so a record is searched for once. A
// hint: it may have been pushed out by another. Any thread.
class RecentContents {
 public:
  void put(std::uint64_t ino, std::shared_ptr<const Content> content) {
    Slot& slot = slot_of(ino);
    const storage::MutexLock lock(slot.mutex);
    slot.ino = ino;
    slot.content.swap(content);
  }

  // Takes it out; null if it is not there.
  std::shared_ptr<const Content> take(std::uint64_t ino) {
    Slot& slot = slot_of(ino);
    const storage::MutexLock lock(slot.mutex);
    if (slot.ino != ino) return nullptr;
    slot.ino = 0;
    return std::move(slot.content);
  }

 private:
  // Enough that those at work at once seldom meet in one slot.
  static constexpr unsigned kSlotBits = 8;

  struct alignas(64) Slot {
    storage::Mutex mutex;
    std::uint64_t ino GUARDED_BY(mutex) = 0;
    std::shared_ptr<const Content> content GUARDED_BY(mutex);
  };

  Slot& slot_of(std::uint64_t ino) {
    return slots_[ino * 0x9e3779b97f4a7c15ULL >> (64 - kSlotBits)];  // Fibonacci hashing
  }

  std::array<Slot, 1U << kSlotBits> slots_;
};

}  // namespace offsetfs::fs
