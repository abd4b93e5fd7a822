#pragma once

#include "fs/node.h"
#include "fs/node_facts.h"
#include "fs/partitions.h"
#include "storage/batch_header.h"
#include "storage/partition_log.h"
#include "storage/record.h"
#include "storage/result.h"

// `offsets/N`, `offsets/N.json` and `offsets/N.key`.

namespace offsetfs::fs {

// `node` of kind kRecord, but for kLookup. kCorrupt where the record's batch is damaged.
storage::Result<NodeFacts> record_facts(const PartitionView& view, const Node& node,
                                        bool show_control);

// Of a plain `offsets/N` whose record is at hand: for listings that give attributes.
NodeFacts plain_record_facts(const PartitionView& view, const storage::Record& record,
                             const storage::BatchHeader& header,
                             storage::Offset segment_base_offset);

// The record of a plain name, or why there is none; for attributes of it.
storage::Result<storage::RecordLookup> find_plain_record(const PartitionView& view,
                                                         storage::Offset offset, bool show_control);

}  // namespace offsetfs::fs
