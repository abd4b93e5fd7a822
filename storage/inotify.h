#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/result.h"
#include "storage/unique_fd.h"

namespace offsetfs::storage {

// Why changes in a directory are not told by inotify: it lies on a file system that others change
// behind this kernel's back, and its name stands here ("nfs"). Nothing: they are told.
std::optional<std::string> untold_changes(int dir);

// What the kernel tells of directories. One thread waits; the rest may be called by any.
class Inotify {
 public:
  struct Event {
    int watch = -1;  // -1: events were lost (IN_Q_OVERFLOW)
    std::uint32_t mask = 0;
    std::string_view name;  // in the directory; empty: the directory itself. Valid during the call
  };

  // kIo: the kernel grants none (the limit of instances, or of descriptors).
  static Result<std::unique_ptr<Inotify>> create();

  // Watches a directory (an O_PATH descriptor will do, and may be closed then). A directory that is
  // watched already keeps its number, and its mask is replaced. kIo: the limit of watches, or no
  // right to read the directory.
  Result<int> watch(int dir, std::uint32_t mask, const std::string& name);
  void unwatch(int watch);

  // Waits until something happened or wake() was called, and hands over all that there is.
  void wait(const std::function<void(const Event&)>& visit);
  void wake();

 private:
  Inotify(UniqueFd events, UniqueFd wakes) : events_(std::move(events)), wakes_(std::move(wakes)) {}

  const UniqueFd events_;
  const UniqueFd wakes_;
};

}  // namespace offsetfs::storage
