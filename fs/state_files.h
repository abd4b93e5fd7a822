#pragma once

#include <stop_token>
#include <string>

#include "fs/names.h"
#include "fs/node_facts.h"
#include "fs/partitions.h"
#include "storage/result.h"

namespace offsetfs::fs {

// The content of `state/NAME`: one value and a newline, or a table. Empty where a directory can't
// tell without its broker (no checkpoint, no topic id).
//
// Of a long one (is_long) it walks the log's batch headers, and ends with EINTR at `stop`.
storage::Result<std::string> state_text(const PartitionView& view, StateFile file,
                                        bool show_control, std::stop_token stop);

// Whether its content is made of more than a few small files.
bool is_long(StateFile file);

// `node` of kind kStateFile. Of a long one without its content, and with a size that is at or above
// the truth.
storage::Result<NodeFacts> state_facts(const PartitionView& view, const Node& node,
                                       bool show_control);

}  // namespace offsetfs::fs
