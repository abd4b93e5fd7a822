#pragma once

#include <condition_variable>
#include <list>
#include <vector>

#include "storage/mutex.h"
#include "storage/pages.h"

namespace offsetfs::storage {

// Which pages of a file are being brought in and dropped again just now. Without this, a second
// reader of the same pages would take them for cached ones, and its hold on them would keep them
// there for good. Any thread.
class PageReservations {
  using Held = std::list<std::vector<PageRange>>;

 public:
  class Reservation {
   public:
    ~Reservation() { owner_.release(held_); }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

   private:
    friend class PageReservations;
    Reservation(PageReservations& owner, Held::iterator held) : owner_(owner), held_(held) {}
    PageReservations& owner_;
    const Held::iterator held_;
  };

  // Waits until nobody else holds any of the pages, then takes all at once: so two that want many
  // ranges cannot wait for each other. They may overlap among themselves.
  Reservation reserve(std::vector<PageRange> ranges);
  bool holds_any_of(PageRange range) const;

 private:
  bool is_held(PageRange range) const REQUIRES(mutex_);
  void release(Held::iterator held);

  mutable Mutex mutex_;
  std::condition_variable_any released_;
  Held held_ GUARDED_BY(mutex_);
};

}  // namespace offsetfs::storage
