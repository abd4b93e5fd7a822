#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fs/log_place.h"
#include "fs/renderer.h"
#include "fs/stream_resources.h"
#include "storage/partition_log.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// Whole lines of records that follow each other in a log, and where the next ones begin. What a
// stream that never ends is made of: it needs no positions, since nobody seeks in it, and a reader
// whose log changes under it goes on by offset.
struct LogChunk {
  std::string bytes;
  LogPlace next;
  std::vector<storage::Offset> segments;  // base offsets of those it was read from

  std::size_t memory_bytes() const { return sizeof(*this) + bytes.capacity(); }
};

// Makes them. A value; any thread.
struct ChunkMaker {
  const storage::PartitionLog& log;
  const RecordRenderer& renderer;
  bool show_control = false;
  StreamResources& resources;
  std::uint64_t stream = 0;  // StreamResources::next_stream: of the log

  // The records at or after `from` and below `end`, a batch boundary or not: all there are, or
  // about `want` bytes of lines. More by a batch, or by a part of a big one, and by any one line.
  // No bytes: there was nothing to show up to `next`, which is further on than `from`.
  //
  // kNotFound: the log is not as the caller thinks (retention, a truncation): look at its bounds
  // again. kCorrupt, kUnsupported, kTooLarge: damage lies at `from`; Problems has named it and the
  // offset to go on from. Every line before damage was given.
  storage::Result<LogChunk> make(const LogPlace& from, storage::Offset end, std::size_t want) const;
};

}  // namespace offsetfs::fs
