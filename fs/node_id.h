#pragma once

#include <cstdint>
#include <optional>

#include "fs/node.h"

namespace offsetfs::fs {

// The numbers by which the kernel knows nodes, for all nodes that fit into one: no table, no lookup
// counts, and the same node has the same number whenever it is asked for. The generation is 0 for
// all.
//
//   id := 0 (1 bit)   code of kind and form (6)   partition (15, all ones: none)   number (42)
//
// 1 is the root; what does not fit is numbered by a NodeTable, below 2^57: code 0 is never packed.
inline constexpr std::uint64_t kRootId = 1;
inline constexpr int kNodeCodeShift = 57;

// Nothing for a node with a text, a segment suffix or a generation, an offset of 2^42 or more, a
// partition id of 2^15 - 1 or more.
std::optional<std::uint64_t> pack_node(const Node& node);

// Nothing for what pack_node() never gives.
std::optional<Node> unpack_node(std::uint64_t id);

}  // namespace offsetfs::fs
