#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "fs/node.h"

// File names <-> what they mean, for every directory of the tree but those whose names come from
// the source (partitions and topics, see file_system.h). Pure: nothing is looked up, so a name that
// parses may still be of nothing. `parse_name(dir, print_name(node)) == node` for every node that a
// name can be given to.

namespace offsetfs::fs {

// The node `name` stands for in the directory `dir`; nothing for a name that is no name there: only
// canonical decimal numbers (no sign, no leading zero), 20-digit segment names, known suffixes.
std::optional<Node> parse_name(const Node& dir, std::string_view name);

// The last component of a node's path.
std::string print_name(const Node& node);

// The fixed names a listing of `dir` shows, in order; not what depends on data (records, segments).
std::span<const Node> fixed_entries(NodeKind dir);

}  // namespace offsetfs::fs
