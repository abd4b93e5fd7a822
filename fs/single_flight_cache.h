#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "storage/result.h"

namespace offsetfs::fs {

// Values that are dear to make and wanted by several threads at once: each is made once, the others
// wait for it. Bounded by what the values weigh; the longest unused goes first. One that is heavier
// than the whole budget is kept alone, until the next comes: else each part of a huge batch would
// cost the whole of it. Errors are not kept. Any thread; nothing is made under the lock.
template <class Key, class Value, class Hash>
class SingleFlightCache {
 public:
  using Shared = std::shared_ptr<const Value>;
  using Made = storage::Result<Shared>;

  explicit SingleFlightCache(std::size_t budget_bytes) : budget_bytes_(budget_bytes) {}

  template <class Make, class Weigh>
  Made get(const Key& key, const Make& make, const Weigh& weigh) {
    std::unique_lock lock(mutex_);
    for (;;) {
      auto found = entries_.find(key);
      if (found == entries_.end()) break;
      if (found->second.value) {
        order_.splice(order_.begin(), order_, found->second.place);
        return found->second.value;
      }
      made_.wait(lock);
    }
    order_.push_front(key);
    entries_.emplace(key, Entry{nullptr, 0, order_.begin()});
    lock.unlock();
    Maker maker{this, key};  // takes the entry out again should make() fail or throw
    Made made = make();
    if (!made) return made;
    const std::size_t weight = weigh(**made);
    maker.keep(*made, weight);
    return made;
  }

  // The value if it is there already.
  Shared find(const Key& key) {
    std::unique_lock lock(mutex_);
    auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : found->second.value;
  }

  std::size_t memory_bytes() const {
    std::unique_lock lock(mutex_);
    return bytes_;
  }

 private:
  struct Entry {
    Shared value;  // null: being made
    std::size_t weight;
    typename std::list<Key>::iterator place;
  };

  struct Maker {
    SingleFlightCache* cache;
    const Key& key;
    bool kept = false;

    void keep(const Shared& value, std::size_t weight) {
      kept = true;
      cache->keep(key, value, weight);
    }
    ~Maker() {
      if (!kept) cache->drop(key);
    }
  };

  void keep(const Key& key, const Shared& value, std::size_t weight) {
    std::list<Shared> gone;  // freed outside the lock
    std::unique_lock lock(mutex_);
    Entry& entry = entries_.at(key);
    entry.value = value;
    entry.weight = weight;
    bytes_ += weight;
    for (auto place = order_.end(); bytes_ > budget_bytes_ && place != order_.begin();) {
      --place;
      if (*place == key) continue;
      auto victim = entries_.find(*place);
      if (!victim->second.value) continue;  // somebody is at it
      bytes_ -= victim->second.weight;
      gone.push_back(std::move(victim->second.value));
      entries_.erase(victim);
      place = order_.erase(place);
    }
    lock.unlock();
    made_.notify_all();
  }

  void drop(const Key& key) {
    std::unique_lock lock(mutex_);
    auto found = entries_.find(key);
    order_.erase(found->second.place);
    entries_.erase(found);
    lock.unlock();
    made_.notify_all();
  }

  const std::size_t budget_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable made_;
  std::unordered_map<Key, Entry, Hash> entries_;
  std::list<Key> order_;  // the latest used first
  std::size_t bytes_ = 0;
};

}  // namespace offsetfs::fs
