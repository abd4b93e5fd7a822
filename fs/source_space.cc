#include "fs/source_space.h"

#include <string>
#include <utility>

namespace offsetfs::fs {

using storage::SourceDir;

std::int64_t SourceSpace::known_bytes() {
  const std::lock_guard lock(mutex_);
  const bool is_old = !counted_at_ || Clock::now() - *counted_at_ > kKeep;
  if (is_old && !is_wanted_ && !stopped_) {
    is_wanted_ = true;
    if (!thread_.joinable()) thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
    wanted_.notify_one();
  }
  return bytes_;
}

void SourceSpace::stop() {
  std::jthread thread;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    thread = std::move(thread_);
  }
}

void SourceSpace::run(const std::stop_token& stop) {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (!wanted_.wait(lock, stop, [&] { return is_wanted_; })) return;
    }
    std::int64_t bytes = 0;
    for (const auto& dir : dirs_) count(*dir, "", stop, bytes);
    if (stop.stop_requested()) return;
    tell(bytes, true);
  }
}

void SourceSpace::count(const SourceDir& dir, const std::string& below, const std::stop_token& stop,
                        std::int64_t& bytes) {
  std::vector<std::string> directories;
  const auto listed = dir.list(below, [&](const SourceDir::Entry& entry) {
    const std::string path =
        below.empty() ? std::string(entry.name) : below + "/" + std::string(entry.name);
    if (entry.kind == SourceDir::Kind::kDirectory) {
      // Partitions lie right below a source, and nothing of theirs any deeper.
      if (below.empty()) directories.push_back(path);
    } else if (entry.kind == SourceDir::Kind::kFile) {
      if (const auto info = dir.info(path)) bytes += info->size_bytes;
    }
    return !stop.stop_requested();
  });
  if (!listed) return;  // whoever lists the source says why
  tell(bytes, false);
  for (const std::string& directory : directories) {
    if (stop.stop_requested()) return;
    count(dir, directory, stop, bytes);
  }
}

void SourceSpace::tell(std::int64_t bytes, bool is_all) {
  const std::lock_guard lock(mutex_);
  // A second count begins at 0: until it is through, the first one's result is nearer.
  if (is_all || !counted_at_) bytes_ = bytes;
  if (!is_all) return;
  counted_at_ = Clock::now();
  is_wanted_ = false;
}

}  // namespace offsetfs::fs
