#pragma once

#include <optional>
#include <stop_token>

#include "fs/node.h"
#include "fs/partitions.h"
#include "fs/streams.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// What the ends of a stream over the partition mean now: of a kRange, a kTimeRange, or the whole
// partition (kPartitionStream). kNotFound: the ends are the wrong way round, or nothing is left
// between them.
//
// `first-K` and `last-K` count records, which takes a walk over batch headers. `exactly` says
// whether to walk, or to take the ends that a log without gaps would have.
struct RangeEnds {
  RecordRange range;
  // Everything in it is there already and will never be another: it lies below the high watermark.
  bool is_final = false;
};
storage::Result<RangeEnds> resolve_ends(const PartitionView& view, const Node& node,
                                        storage::TimestampMs now, bool show_control, bool exactly,
                                        std::stop_token stop = {});

// Whether resolving exactly may take long.
bool counts_many_records(const Node& node);

}  // namespace offsetfs::fs
