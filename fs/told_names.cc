#include "fs/told_names.h"

namespace offsetfs::fs {

using storage::MutexLock;

void ToldNames::add(const Node& node, const std::string& name) {
  const MutexLock lock(mutex_);
  if (node.kind == NodeKind::kPartition) partitions_.insert_or_assign(name, node);
  if (node.kind == NodeKind::kSegment) segments_[node.partition].insert_or_assign(name, node);
}

std::vector<std::pair<std::string, Node>> ToldNames::partitions() const {
  const MutexLock lock(mutex_);
  return {partitions_.begin(), partitions_.end()};
}

std::vector<std::pair<std::string, Node>> ToldNames::segments_of(std::uint32_t partition) const {
  const MutexLock lock(mutex_);
  const auto found = segments_.find(partition);
  if (found == segments_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

void ToldNames::remove(const Node& node, const std::string& name) {
  const MutexLock lock(mutex_);
  Names* names = node.kind == NodeKind::kPartition ? &partitions_ : nullptr;
  if (node.kind == NodeKind::kSegment) {
    const auto found = segments_.find(node.partition);
    if (found != segments_.end()) names = &found->second;
  }
  if (names == nullptr) return;
  // The name may have been told again meanwhile, of something else.
  const auto told = names->find(name);
  if (told != names->end() && told->second == node) names->erase(told);
}

void ToldNames::remove_segments_of(std::uint32_t partition) {
  const MutexLock lock(mutex_);
  segments_.erase(partition);
}

}  // namespace offsetfs::fs
