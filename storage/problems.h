#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "storage/mutex.h"

namespace offsetfs::storage {

// What could not be read and why: each thing once, as it is met. The content of problems.jsonl.
// Bounded: beyond kMost only the count goes on. Any thread.
struct Problem {
  std::string file;            // as messages name it
  std::int64_t position = -1;  // bytes; -1: the whole file
  std::string what;            // a sentence
};

class Problems {
 public:
  static constexpr std::size_t kMost = 10000;

  // `on_new` is called, outside any lock, for each problem that was not there yet: the mount logs it.
  explicit Problems(std::function<void(const Problem&)> on_new = {});
  void add(const Problem& problem);
  std::vector<Problem> list() const;
  std::uint64_t count() const;

 private:
  const std::function<void(const Problem&)> on_new_;
  mutable Mutex mutex_;
  std::deque<Problem> problems_ GUARDED_BY(mutex_);
  std::unordered_set<std::string> seen_ GUARDED_BY(mutex_);
  std::uint64_t count_ GUARDED_BY(mutex_) = 0;
};

}  // namespace offsetfs::storage
