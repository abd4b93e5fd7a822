#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "fs/log_sink.h"
#include "fs/node.h"
#include "fs/renderer.h"
#include "fs/stream_file.h"
#include "storage/partition_log.h"
#include "storage/problems.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// The records of a range or a time range, its ends resolved. Clipped to [log start, log end) and
// frozen at the open.
struct RecordRange {
  storage::Offset from{0};
  storage::Offset to{INT64_MAX};  // exclusive
  // from_time <= timestamp < to_time, in offset order; nothing: any time, or none.
  std::optional<storage::TimestampMs> from_time;
  std::optional<storage::TimestampMs> to_time;
  // The name means other records at another time (`last-5..last`, `now-1h..now`).
  bool moving = false;
  // Asked before a segment is opened, if set: an error of its ends the stream there. Any thread.
  std::function<storage::Result<void>(const storage::SegmentEntry&)> admit = {};
};

struct StreamResources;

// Every stream of a mount: makes exact sizes, remembers them, and bounds what streams hold in
// memory. One for the life of the mount. Any thread.
//
// Opening scans: it waits, and may be interrupted (`stop`; then kIo with EINTR). A scan runs once
// however many wait, in threads of its own, side by side with others, so that a short one does not
// wait for a long one; it ends early when nobody waits any more.
//
// A node's stream is known by the node and by the file that stands behind it (device and inode): a
// segment that compaction replaced is another stream.
class Streams {
 public:
  using Log = std::shared_ptr<const storage::PartitionLog>;

  struct Options {
    bool show_control = false;
    storage::DecodeLimits limits;
    int scan_threads = 2;
    // Whether a broker needs the disk more than a scan does; may be null.
    std::function<bool()> is_broker_at_work = {};
    // Budgets over all streams together. Beyond them the longest unused goes first; it is made
    // anew when it is needed.
    std::size_t resume_points_bytes = 8U << 20;
    std::size_t batches_bytes = 8U << 20;  // decoded batches that straddle reads
    // What spans several segments and more log than this has no size (namespace.md, "Sizes").
    std::int64_t measured_range_bytes = 64LL << 20;
    // Segments held open ahead of readers, over all streams together: retention takes none of them
    // away from under a reader. Three descriptors each.
    std::int64_t segments_ahead = 64;
    LogSink log = {};  // where it is said that a stream came to an end before its time
  };

  // What stat says. `exact` sizes of sealed segments never change.
  struct Size {
    std::int64_t bytes = 0;
    bool exact = false;
  };

  // `problems` gets the damage that streams meet; must outlive this.
  Streams(const Options& options, storage::Problems& problems);
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // Whether an open_segment() would have more than a little to scan.
  bool opens_slowly(const Node& node, const Log& log, const storage::SegmentEntry& entry) const;

  // The same of an open_range().
  bool range_opens_slowly(const Log& log, const RecordRange& range) const;

  // `segments/BASE/records.FORM` (kSegmentStream) and batches.jsonl (kSegmentBatches). Log start
  // and the like do not apply: the file as it lies.
  storage::Result<std::unique_ptr<StreamFile>> open_segment(const Node& node, const Log& log,
                                                            const storage::SegmentEntry& entry,
                                                            const RenderContext& context,
                                                            std::stop_token stop = {});

  // `offsets/A..B.FORM`, `time/T1..T2.FORM`, `records.FORM` of the partition (kRange, kTimeRange,
  // kPartitionStream). kNotFound: nothing is left after the clip.
  storage::Result<std::unique_ptr<StreamFile>> open_range(const Node& node, const Log& log,
                                                          const RecordRange& range,
                                                          const RenderContext& context,
                                                          std::stop_token stop = {});

  // Exact once the stream was opened; a segment that grows is followed as long as what is new is
  // little. Before: an estimate, at or above the truth where a cheap bound allows; 0 only for what
  // is surely empty. Never scans.
  storage::Result<Size> segment_size(const Node& node, const Log& log,
                                     const storage::SegmentEntry& entry,
                                     const RenderContext& context);
  // Of the newest open; before any: an estimate, or 0 for what would have no size.
  storage::Result<Size> range_size(const Node& node, const Log& log, const RecordRange& range,
                                   const RenderContext& context);

  // Ends every scan and refuses new ones: those who wait get EINTR.
  void stop();

  // What other streams of the mount share with these.
  StreamResources& resources();

  // For `stats`.
  struct Counters {
    std::uint64_t scans = 0;
    std::uint64_t scanned_bytes = 0;
    std::uint64_t batches_decoded = 0;    // by reads; scans not counted
    std::size_t resume_points_bytes = 0;  // held now
    std::size_t batches_bytes = 0;
  };
  Counters counters() const;

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace offsetfs::fs
