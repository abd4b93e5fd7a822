#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "fs/node.h"
#include "fs/node_id.h"
#include "storage/mutex.h"

namespace offsetfs::fs {

// Node <-> number for a whole mount: packed where possible (node_id.h), which takes no lock and no
// memory; else numbered, from when the kernel is told of the node until it forgot its last lookup.
// Numbers given are never used again for another node.
//
// All methods: any thread.
class NodeTable {
 public:
  static constexpr std::uint64_t kUnknownId = 0xffffffff;  // what libfuse gives for "don't know"

  // `root` is number 1. It has no other.
  explicit NodeTable(Node root) : root_(std::move(root)) {}
  NodeTable(const NodeTable&) = delete;
  NodeTable& operator=(const NodeTable&) = delete;

  // Counts a lookup: once per entry that is sent to the kernel. For one that could not be sent,
  // forget(id, 1) takes it back.
  std::uint64_t remember(const Node& node);
  void forget(std::uint64_t id, std::uint64_t lookups);

  // Counts nothing: for d_ino of a listing. kUnknownId for what would need a number and has none.
  std::uint64_t number_of(const Node& node) const;
  // Nothing for a number that was never given, or was forgotten.
  std::optional<Node> find(std::uint64_t id) const;

  std::size_t numbered() const;  // nodes in memory, for `stats`

 private:
  struct Hash {
    std::size_t operator()(const Node& node) const noexcept;
  };
  struct Numbered {
    const Node* node;  // the key in ids_
    std::uint64_t lookups;
  };

  const Node root_;
  mutable storage::Mutex mutex_;
  std::uint64_t next_id_ GUARDED_BY(mutex_) = kRootId + 1;
  std::unordered_map<Node, std::uint64_t, Hash> ids_ GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, Numbered> numbered_ GUARDED_BY(mutex_);
};

}  // namespace offsetfs::fs
