#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "fs/batch_lines.h"
#include "fs/resume_points.h"
#include "fs/scan_pool.h"
#include "fs/scan_stretch.h"
#include "fs/stream_damage.h"
#include "fs/stream_pieces.h"
#include "storage/record_batch.h"
#include "storage/result.h"

namespace offsetfs::fs {

// What a pass over a stream's log found.
struct Measured {
  storage::Position reached{};    // in the last piece: where a later pass goes on
  std::int64_t output_bytes = 0;  // up to the damage, if there is any
  std::optional<StreamDamage> damage;
  std::vector<Anchor> last_batches;  // of the last piece
};

// One pass that finds the exact size of a stream and its resume points. A large piece is cut at
// batch boundaries that its index names, and the stretches are walked side by side. An index is a
// hint: a stretch counts only if the one before it ended exactly where it begins; else that part is
// walked again from where the batches really are.
//
// Waited for by any number of threads; ended early when the last of them gave up.
class Measurement : public ScanPool::Job {
 public:
  // From `from` in the first piece, where the output stands at `output_position`. `points` gets the
  // resume points as they are found; it and `lines` must outlive this.
  static storage::Result<std::shared_ptr<Measurement>> prepare(
      std::shared_ptr<const StreamPieces> pieces, std::shared_ptr<const BatchLines> lines,
      std::shared_ptr<ResumePoints> points, storage::DecodeLimits limits, storage::Position from,
      std::int64_t output_position);

  Measurement(std::shared_ptr<const StreamPieces> pieces, std::shared_ptr<const BatchLines> lines,
              std::shared_ptr<ResumePoints> points, storage::DecodeLimits limits,
              std::vector<Stretch> stretches, std::int64_t output_position);

  bool work() override;
  void cancel() override;

  // kIo with EINTR: `stop` was requested, or the measurement cancelled.
  storage::Result<Measured> wait(std::stop_token stop);
  // Does the work in this thread.
  storage::Result<Measured> run(std::stop_token stop);

  bool was_cancelled() const { return cancelled_.load(); }

 private:
  struct Walked {
    Stretch stretch;
    StretchResult result;
  };

  StretchResult scan(const Stretch& stretch) const;
  void merge(std::unique_lock<std::mutex>& lock);
  void correct_next();
  void accept(StretchResult result);
  void finish();
  void finish_with(storage::Error error);
  storage::Result<Measured> outcome() const;

  const std::shared_ptr<const StreamPieces> pieces_;
  const std::shared_ptr<const BatchLines> lines_;
  const std::shared_ptr<ResumePoints> points_;
  const storage::DecodeLimits limits_;
  std::atomic<bool> cancelled_{false};

  mutable std::mutex mutex_;  // guards all below; never held while scanning
  std::condition_variable_any finished_;
  std::vector<Stretch> stretches_;
  std::vector<std::optional<Walked>> results_;  // of stretches_, and of some given up
  std::size_t next_ = 0;                        // to be begun
  std::size_t merged_ = 0;                      // results before it are part of measured_
  bool merging_ = false;                        // somebody walks one again
  bool done_ = false;
  int waiting_ = 0;
  storage::Position chain_{};  // where the verified batches end
  Measured measured_;
  std::optional<storage::Error> error_;
};

storage::Error interrupted();

}  // namespace offsetfs::fs
