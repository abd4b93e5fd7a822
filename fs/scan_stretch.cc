#include "fs/scan_stretch.h"

#include <algorithm>
#include <array>
#include <string>

#include "fs/line_tally.h"
#include "fs/stream_damage.h"
#include "storage/batch_scanner.h"

namespace offsetfs::fs {

using storage::BatchScanner;
using storage::Position;
using End = StretchResult::End;

namespace {

constexpr std::size_t kPieceBytes = 256 << 10;

class LastBatches {
 public:
  void add(const Anchor& anchor) { ring_[next_++ % kMost] = anchor; }
  std::vector<Anchor> oldest_first() const {
    std::vector<Anchor> anchors;
    const std::size_t count = std::min(next_, kMost);
    anchors.reserve(count);
    for (std::size_t i = next_ - count; i < next_; ++i) anchors.push_back(ring_[i % kMost]);
    return anchors;
  }

 private:
  static constexpr std::size_t kMost = 64;
  std::array<Anchor, kMost> ring_;
  std::size_t next_ = 0;
};

// What shows damage shows batches as they lie.
std::optional<storage::Offset> order_base(const StreamPiece& piece, const BatchLines& lines) {
  return lines.shows_damage() ? std::nullopt : segment_base_offset(piece);
}

class StretchScan {
 public:
  StretchScan(const StreamPiece& piece, const Stretch& stretch, const BatchLines& lines,
              const storage::DecodeLimits& limits)
      : piece_(piece),
        lines_(lines),
        limits_(limits),
        tally_(stretch.piece),
        scanner_(*piece.file, stretch.begin, stretch.end,
                 {.tail_may_be_torn = piece.living && stretch.end == piece.end,
                  .segment_base_offset = order_base(piece, lines),
                  .expected =
                      order_base(piece, lines) ? expected_at(piece, stretch.begin) : std::nullopt,
                  .piece_bytes = kPieceBytes}) {}

  StretchResult run(const std::atomic<bool>& cancelled) {
    while (!ended_) {
      if (cancelled.load(std::memory_order_relaxed))
        finish(End::kCancelled);
      else
        step();
    }
    result_.bytes = tally_.bytes();
    result_.points = tally_.points();
    result_.last_batches = last_batches_.oldest_first();
    return std::move(result_);
  }

 private:
  void step() {
    switch (scanner_.next()) {
      case BatchScanner::Step::kBatch: measure(scanner_.batch()); break;
      case BatchScanner::Step::kEnd:
        if (piece_.lost_behind && scanner_.position() >= piece_.end)
          fail(End::kDamaged, {storage::Errc::kCorrupt, 0, piece_.lost_behind->what});
        else
          finish(End::kReached);
        break;
      case BatchScanner::Step::kTornTail: finish(End::kTorn); break;
      case BatchScanner::Step::kDamaged: damaged(); break;
      case BatchScanner::Step::kIo: fail(End::kFailed, scanner_.error()); break;
    }
  }

  void measure(const BatchScanner::Batch& batch) {
    tally_.begin_batch(batch.header, batch.position);
    last_batches_.add({batch.position, batch.header.size_bytes, batch.header.crc, tally_.bytes()});
    if (!lines_.may_show(batch.header)) return;
    const BatchView view{&batch.header, batch.entry, batch.position, piece_.segment_base_offset,
                         piece_.records_end};
    auto measured = lines_.measure(view, limits_, scratch_, tally_);
    if (measured) return;
    fail(End::kDamaged, measured.error());
    result_.reached = batch.position;
  }

  void damaged() {
    if (!lines_.shows_damage()) return fail(End::kDamaged, scanner_.error());
    auto stretch = damaged_stretch(piece_, scanner_.position());
    if (!stretch) return fail(End::kFailed, stretch.error());
    tally_.begin_batch({}, stretch->position);
    lines_.measure_damage(*stretch, tally_);
    scanner_.resume_at(stretch->end);
  }

  void fail(End end, const storage::Error& error) {
    finish(end);
    result_.error = error;
  }

  void finish(End end) {
    ended_ = true;
    result_.end = end;
    result_.reached = scanner_.position();
  }

  const StreamPiece& piece_;
  const BatchLines& lines_;
  const storage::DecodeLimits& limits_;
  LineTally tally_;
  BatchScanner scanner_;
  std::string scratch_;
  LastBatches last_batches_;
  bool ended_ = false;
  StretchResult result_;
};

}  // namespace

StretchResult scan_stretch(const StreamPiece& piece, const Stretch& stretch,
                           const BatchLines& lines, const storage::DecodeLimits& limits,
                           const std::atomic<bool>& cancelled) {
  return StretchScan(piece, stretch, lines, limits).run(cancelled);
}

}  // namespace offsetfs::fs
