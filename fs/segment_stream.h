#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "fs/batch_lines.h"
#include "fs/measurement.h"
#include "fs/resume_points.h"
#include "fs/stream_damage.h"
#include "fs/stream_pieces.h"
#include "fs/stream_resources.h"
#include "storage/mutex.h"
#include "storage/result.h"

namespace offsetfs::fs {

// The stream of one segment: what is known of it, shared by all who have it open. It holds no file:
// those who have it open do, and hand it over with each call.
//
// A segment that grows is measured on from where the last pass ended; one that is damaged from the
// damage, once its file was written to: somebody may have mended it. One that was truncated is
// measured again from the last batch that is still the same; what was given out behind it is stale
// for those who opened the stream before. Any thread; no lock is held across I/O.
class SegmentStream {
 public:
  // The segment with its end as it is now.
  using PieceNow = std::function<storage::Result<StreamPiece>()>;

  struct State {
    std::int64_t size_bytes = 0;  // exact: up to the damage, or to where the segment ends
    std::int64_t log_bytes = 0;   // of the segment, measured so far
    bool damaged = false;
    std::uint32_t generation =
        0;  // of truncations: what a stream was opened with, see stale_from()
  };

  SegmentStream(std::shared_ptr<const BatchLines> lines, StreamResources& resources);

  // The exact size as of now. Scans what has not been scanned yet: in this thread if it is little,
  // else in the pool; once, however many wait. kIo with EINTR if `stop` was requested.
  storage::Result<State> measure(const PieceNow& piece_now, std::stop_token stop = {});
  // What is known without looking: nothing before the first measure().
  std::optional<State> known() const;
  // True if resume points were given up since: the next measure() makes them anew.
  bool lacks_points() const;

  // Appends [position, position + size) to `out`: fewer only at the end. Measures what was appended
  // to the segment if the read goes beyond what is known. The damage as an error, once everything
  // before it was given.
  storage::Result<void> read(const PieceNow& piece_now, std::uint32_t generation,
                             std::int64_t position, std::size_t size, std::string& out);

  // The size before the log was truncated under who opened it with `generation`; nothing: it was
  // not.
  std::optional<std::int64_t> size_before_truncation(std::uint32_t generation) const;

  // For the budget: resume points held, and ways to give some or all of them up.
  std::size_t points_bytes() const { return points_->memory_bytes(); }
  bool thin_points() { return points_->thin(); }
  void drop_points();

 private:
  // A pass over more than this is made in the pool.
  static constexpr std::int64_t kLittleBytes = 4 << 20;

  struct Known {
    bool measured = false;
    storage::Position reached{};
    std::int64_t size_bytes = 0;
    std::optional<StreamDamage> damage;
    std::optional<std::int64_t> mtime_ns;  // of the `.log`, before it was found
    std::vector<Anchor> last_batches;
    std::uint32_t generation = 0;
    bool lacks_points = false;
  };
  struct Truncation {
    std::uint32_t generation = 0;  // before it
    std::int64_t stale_from = 0;
    std::int64_t size_before = 0;
  };

  State state() const REQUIRES(mutex_);
  storage::Result<bool> measure_once(const PieceNow& piece_now, const std::stop_token& stop);
  storage::Result<std::shared_ptr<Measurement>> begin(const StreamPiece& piece, const Known& known);
  storage::Result<void> take(const std::shared_ptr<Measurement>& job, const StreamPieces* pieces,
                             storage::Result<Measured> measured);
  bool check_for_truncation(const StreamPiece& piece);
  void truncate(const StreamPiece& piece, const Known& known);
  bool covers(const StreamPiece& piece, std::int64_t end) const;
  std::int64_t stale_from(std::uint32_t generation) const;

  const std::shared_ptr<const BatchLines> lines_;
  StreamResources& resources_;
  const std::uint64_t stream_;
  const std::int64_t front_;  // where the first line begins
  const std::shared_ptr<ResumePoints> points_;

  mutable storage::Mutex mutex_;
  Known known_ GUARDED_BY(mutex_);
  std::shared_ptr<Measurement> job_ GUARDED_BY(mutex_);  // the pass under way, or to be taken in
  std::optional<std::int64_t> job_mtime_ns_ GUARDED_BY(mutex_);  // before it began
  std::vector<Truncation> truncations_ GUARDED_BY(mutex_);
};

}  // namespace offsetfs::fs
