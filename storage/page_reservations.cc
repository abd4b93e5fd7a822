#include "storage/page_reservations.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace offsetfs::storage {

PageReservations::Reservation PageReservations::reserve(std::vector<PageRange> ranges) {
  std::unique_lock<Mutex> lock(mutex_);
  released_.wait(lock, [&] {
    return std::none_of(ranges.begin(), ranges.end(),
                        [this](const PageRange& range) { return is_held(range); });
  });
  held_.push_back(std::move(ranges));
  return {*this, std::prev(held_.end())};
}

bool PageReservations::holds_any_of(PageRange range) const {
  const MutexLock lock(mutex_);
  return is_held(range);
}

bool PageReservations::is_held(PageRange range) const {
  for (const auto& ranges : held_) {
    for (const auto& held : ranges) {
      if (held.overlaps(range)) return true;
    }
  }
  return false;
}

void PageReservations::release(Held::iterator held) {
  {
    const MutexLock lock(mutex_);
    held_.erase(held);
  }
  released_.notify_all();
}

}  // namespace offsetfs::storage
