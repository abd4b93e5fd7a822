#include "storage/problems.h"

#include <utility>

namespace offsetfs::storage {

Problems::Problems(std::function<void(const Problem&)> on_new) : on_new_(std::move(on_new)) {}

void Problems::add(const Problem& problem) {
  // No file name and no sentence of ours holds a NUL.
  std::string key = problem.file + '\0' + std::to_string(problem.position) + '\0' + problem.what;
  {
    const MutexLock lock(mutex_);
    if (seen_.contains(key)) return;
    ++count_;
    if (problems_.size() >= kMost) return;
    seen_.insert(std::move(key));
    problems_.push_back(problem);
  }
  if (on_new_) on_new_(problem);
}

std::vector<Problem> Problems::list() const {
  const MutexLock lock(mutex_);
  return {problems_.begin(), problems_.end()};
}

std::uint64_t Problems::count() const {
  const MutexLock lock(mutex_);
  return count_;
}

}  // namespace offsetfs::storage
