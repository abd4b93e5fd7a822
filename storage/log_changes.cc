#include "storage/log_changes.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "storage/mutex.h"

namespace offsetfs::storage {

// A listener and whether it may still be called. Recursive: a listener may end its own
// subscription.
struct LogListener {
  std::optional<std::uint32_t> partition;
  LogChanges::Listener call;
  std::recursive_mutex mutex;  // held while it is called
  bool ended = false;          // under it
};

struct LogListeners {
  using List = std::vector<std::shared_ptr<LogListener>>;

  Mutex mutex;  // held to copy or edit, never while a listener is called
  List of_all GUARDED_BY(mutex);
  std::unordered_map<std::uint32_t, List> of_partition GUARDED_BY(mutex);

  // Of its own: a watcher may take long, and publishing must not wait for it.
  Mutex watcher_mutex;
  LogChanges::Watcher* watcher GUARDED_BY(watcher_mutex) = nullptr;

  List that_hear(const LogChanges::Change& change) {
    const MutexLock lock(mutex);
    List all = of_all;
    if (change.kind == LogChanges::Change::Kind::kPartitions) {
      for (const auto& [partition, list] : of_partition)
        all.insert(all.end(), list.begin(), list.end());
    } else if (const auto found = of_partition.find(change.partition);
               found != of_partition.end()) {
      all.insert(all.end(), found->second.begin(), found->second.end());
    }
    return all;
  }

  void remove(const std::shared_ptr<LogListener>& listener) {
    const MutexLock lock(mutex);
    if (!listener->partition) {
      std::erase(of_all, listener);
      return;
    }
    const auto found = of_partition.find(*listener->partition);
    if (found == of_partition.end()) return;
    std::erase(found->second, listener);
    if (found->second.empty()) of_partition.erase(found);
  }
};

LogChanges::Subscription& LogChanges::Subscription::operator=(Subscription&& other) noexcept {
  if (this == &other) return *this;
  end();
  listener_ = std::move(other.listener_);
  listeners_ = std::move(other.listeners_);
  return *this;
}

void LogChanges::Subscription::end() {
  const auto listener = std::exchange(listener_, nullptr);
  if (listener == nullptr) return;
  if (const auto listeners = listeners_.lock()) {
    listeners->remove(listener);
    const MutexLock lock(listeners->watcher_mutex);
    if (listener->partition && listeners->watcher != nullptr)
      listeners->watcher->end_listening(*listener->partition);
  }
  const std::lock_guard lock(listener->mutex);
  listener->ended = true;
}

LogChanges::LogChanges() : listeners_(std::make_shared<LogListeners>()) {}

LogChanges::~LogChanges() = default;

LogChanges::Subscription LogChanges::subscribe(std::optional<std::uint32_t> partition,
                                               Listener listener) {
  Subscription subscription;
  subscription.listener_ = std::make_shared<LogListener>();
  subscription.listener_->partition = partition;
  subscription.listener_->call = std::move(listener);
  subscription.listeners_ = listeners_;
  {
    const MutexLock lock(listeners_->mutex);
    auto& list = partition ? listeners_->of_partition[*partition] : listeners_->of_all;
    list.push_back(subscription.listener_);
  }
  const MutexLock lock(listeners_->watcher_mutex);
  if (partition && listeners_->watcher != nullptr) listeners_->watcher->begin_listening(*partition);
  return subscription;
}

void LogChanges::publish(const Change& change) {
  for (const auto& listener : listeners_->that_hear(change)) {
    const std::lock_guard lock(listener->mutex);
    if (!listener->ended) listener->call(change);
  }
}

bool LogChanges::is_prompt(std::uint32_t partition) const {
  const MutexLock lock(listeners_->watcher_mutex);
  return listeners_->watcher != nullptr && listeners_->watcher->is_prompt(partition);
}

std::string LogChanges::manner() const {
  const MutexLock lock(listeners_->watcher_mutex);
  return listeners_->watcher != nullptr ? listeners_->watcher->manner() : "none";
}

void LogChanges::set_watcher(Watcher* watcher) {
  const MutexLock lock(listeners_->watcher_mutex);
  listeners_->watcher = watcher;
}

}  // namespace offsetfs::storage
