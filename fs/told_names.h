#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "fs/node.h"
#include "storage/mutex.h"

namespace offsetfs::fs {

// The names that the kernel was told of with word that they may be believed for long, as far as
// they may be taken away: partitions' and segments' directories. Any thread.
class ToldNames {
 public:
  // `node` is what the name stood for.
  void add(const Node& node, const std::string& name);

  // Those of the root. They stay until they are taken out.
  std::vector<std::pair<std::string, Node>> partitions() const;
  std::vector<std::pair<std::string, Node>> segments_of(std::uint32_t partition) const;
  void remove(const Node& node, const std::string& name);
  void remove_segments_of(std::uint32_t partition);

 private:
  using Names = std::map<std::string, Node>;

  mutable storage::Mutex mutex_;
  Names partitions_ GUARDED_BY(mutex_);
  std::unordered_map<std::uint32_t, Names> segments_ GUARDED_BY(mutex_);
};

}  // namespace offsetfs::fs
