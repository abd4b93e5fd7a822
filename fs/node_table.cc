#include "fs/node_table.h"

#include <functional>
#include <string>

#include "storage/check.h"

namespace offsetfs::fs {

std::size_t NodeTable::Hash::operator()(const Node& node) const noexcept {
  constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  std::uint64_t hash = std::hash<std::string>{}(node.text);
  for (const std::uint64_t part : {static_cast<std::uint64_t>(node.number),
                                   std::uint64_t{node.generation} << 32 | node.partition,
                                   static_cast<std::uint64_t>(node.kind) << 16 |
                                       static_cast<std::uint64_t>(node.form) << 8 | node.suffix}) {
    hash = (hash ^ part) * kMultiplier;
    hash ^= hash >> 32;
  }
  return hash;
}

std::uint64_t NodeTable::remember(const Node& node) {
  if (node == root_) return kRootId;
  if (const auto packed = pack_node(node)) return *packed;

  const storage::MutexLock lock(mutex_);
  const auto [known, is_new] = ids_.try_emplace(node, next_id_);
  if (is_new) {
    numbered_.emplace(next_id_, Numbered{&known->first, 0});
    ++next_id_;
    CHECK(next_id_ >> kNodeCodeShift == 0);
  }
  ++numbered_.at(known->second).lookups;
  return known->second;
}

void NodeTable::forget(std::uint64_t id, std::uint64_t lookups) {
  if (id == kRootId || id >> kNodeCodeShift != 0) return;
  const storage::MutexLock lock(mutex_);
  const auto found = numbered_.find(id);
  if (found == numbered_.end()) return;
  Numbered& numbered = found->second;
  if (numbered.lookups > lookups) {
    numbered.lookups -= lookups;
    return;
  }
  ids_.erase(ids_.find(*numbered.node));
  numbered_.erase(found);
}

std::uint64_t NodeTable::number_of(const Node& node) const {
  if (node == root_) return kRootId;
  if (const auto packed = pack_node(node)) return *packed;
  const storage::MutexLock lock(mutex_);
  const auto found = ids_.find(node);
  return found == ids_.end() ? kUnknownId : found->second;
}

std::optional<Node> NodeTable::find(std::uint64_t id) const {
  if (id == kRootId) return root_;
  if (id >> kNodeCodeShift != 0) return unpack_node(id);
  const storage::MutexLock lock(mutex_);
  const auto found = numbered_.find(id);
  if (found == numbered_.end()) return std::nullopt;
  return *found->second.node;
}

std::size_t NodeTable::numbered() const {
  const storage::MutexLock lock(mutex_);
  return numbered_.size();
}

}  // namespace offsetfs::fs
