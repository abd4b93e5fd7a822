#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "storage/dir.h"

namespace offsetfs::fs {

// How much space a source takes, for statfs, which must not wait for it: the files are looked at in
// a thread of its own, first when somebody asks, and again when somebody asks later than kKeep
// after. Any thread.
class SourceSpace {
 public:
  static constexpr std::chrono::seconds kKeep{30};

  explicit SourceSpace(std::vector<std::shared_ptr<const storage::SourceDir>> dirs)
      : dirs_(std::move(dirs)) {}
  ~SourceSpace() { stop(); }
  SourceSpace(const SourceSpace&) = delete;
  SourceSpace& operator=(const SourceSpace&) = delete;

  // As far as is known: all that were counted, even if the count is still under way.
  std::int64_t known_bytes();
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  void run(const std::stop_token& stop);
  void count(const storage::SourceDir& dir, const std::string& below, const std::stop_token& stop,
             std::int64_t& bytes);
  void tell(std::int64_t bytes, bool is_all);

  const std::vector<std::shared_ptr<const storage::SourceDir>> dirs_;
  std::mutex mutex_;  // a plain one: a condition waits with it
  std::condition_variable_any wanted_;
  bool is_wanted_ = false;
  bool stopped_ = false;
  std::int64_t bytes_ = 0;
  std::optional<Clock::time_point> counted_at_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace offsetfs::fs
