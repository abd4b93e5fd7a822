#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <vector>

#include "fs/open_file.h"
#include "storage/mutex.h"

namespace offsetfs::fs {

// The open files by node number: an fstat(2) says no more of the file it means, and its name may be
// gone. Files leave it by being closed. Any thread.
class OpenFiles {
 public:
  void add(std::uint64_t ino, const std::shared_ptr<const OpenAttributes>& attributes) {
    const storage::MutexLock lock(mutex_);
    auto& open = open_[ino];
    std::erase_if(open, is_closed);
    open.push_back(attributes);
    if (open_.size() > tidy_at_) tidy();
  }

  // Of the one that was opened last and is open still; null: there is none.
  std::shared_ptr<const OpenAttributes> find(std::uint64_t ino) const {
    const storage::MutexLock lock(mutex_);
    const auto found = open_.find(ino);
    if (found == open_.end()) return nullptr;
    for (auto attributes = found->second.rbegin(); attributes != found->second.rend(); ++attributes)
      if (auto open = attributes->lock()) return open;
    return nullptr;
  }

 private:
  using Open = std::weak_ptr<const OpenAttributes>;
  static constexpr std::size_t kLeast = 64;

  static bool is_closed(const Open& attributes) { return attributes.expired(); }

  void tidy() REQUIRES(mutex_) {
    for (auto node = open_.begin(); node != open_.end();) {
      std::erase_if(node->second, is_closed);
      node = node->second.empty() ? open_.erase(node) : std::next(node);
    }
    tidy_at_ = std::max(kLeast, 2 * open_.size());
  }

  mutable storage::Mutex mutex_;
  std::unordered_map<std::uint64_t, std::vector<Open>> open_ GUARDED_BY(mutex_);
  std::size_t tidy_at_ GUARDED_BY(mutex_) = kLeast;
};

}  // namespace offsetfs::fs
