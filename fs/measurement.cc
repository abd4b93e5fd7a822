#include "fs/measurement.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace offsetfs::fs {

using storage::Position;
using storage::Result;
using End = StretchResult::End;

namespace {

constexpr std::int64_t kStretchBytes = 16 << 20;

// [from, piece.end), cut near every 16 MiB where the index knows a boundary.
std::vector<Stretch> cut(const StreamPiece& piece, Position from) {
  std::vector<Stretch> stretches{{0, from, piece.end}};
  if (piece.segment == nullptr || piece.end - from < 2 * kStretchBytes) return stretches;
  const storage::OffsetIndex* const index = piece.segment->offset_index();
  if (index == nullptr) return stretches;
  for (Position goal = from + kStretchBytes; goal + kStretchBytes / 2 < piece.end;
       goal = goal + kStretchBytes) {
    auto entry = index->lookup_position(goal);
    if (!entry || !*entry) continue;
    const Position boundary = (*entry)->position;
    if (boundary <= stretches.back().begin || boundary >= piece.end) continue;
    stretches.back().end = boundary;
    stretches.push_back({0, boundary, piece.end});
  }
  return stretches;
}

}  // namespace

storage::Error interrupted() { return {storage::Errc::kIo, EINTR, "interrupted"}; }

Result<std::shared_ptr<Measurement>> Measurement::prepare(
    std::shared_ptr<const StreamPieces> pieces, std::shared_ptr<const BatchLines> lines,
    std::shared_ptr<ResumePoints> points, storage::DecodeLimits limits, Position from,
    std::int64_t output_position) {
  std::vector<Stretch> stretches;
  if (pieces->count() == 1 && !lines->shows_damage()) {
    ASSIGN_OR_RETURN(const StreamPiece piece, pieces->open(0));
    stretches = cut(piece, from);
  } else {
    for (std::size_t i = 0; i < pieces->count(); ++i) {
      // Where a piece begins and ends is asked when its turn comes.
      stretches.push_back({static_cast<std::uint32_t>(i), Position{-1}, Position{-1}});
    }
    if (!stretches.empty()) stretches.front().begin = from;
  }
  return std::make_shared<Measurement>(std::move(pieces), std::move(lines), std::move(points),
                                       limits, std::move(stretches), output_position);
}

Measurement::Measurement(std::shared_ptr<const StreamPieces> pieces,
                         std::shared_ptr<const BatchLines> lines,
                         std::shared_ptr<ResumePoints> points, storage::DecodeLimits limits,
                         std::vector<Stretch> stretches, std::int64_t output_position)
    : pieces_(std::move(pieces)),
      lines_(std::move(lines)),
      points_(std::move(points)),
      limits_(limits),
      stretches_(std::move(stretches)),
      results_(stretches_.size()) {
  measured_.output_bytes = output_position;
  done_ = stretches_.empty();
  if (!done_) measured_.reached = chain_ = stretches_.front().begin;
}

bool Measurement::work() {
  std::unique_lock lock(mutex_);
  if (done_ || next_ >= stretches_.size()) return false;
  const std::size_t i = next_++;
  const Stretch stretch = stretches_[i];
  lock.unlock();
  StretchResult result = scan(stretch);
  lock.lock();
  results_[i] = Walked{stretch, std::move(result)};
  merge(lock);
  return !done_ && next_ < stretches_.size();
}

StretchResult Measurement::scan(const Stretch& stretch) const {
  auto piece = pieces_->open(stretch.piece);
  if (!piece) {
    StretchResult failed;
    failed.end = End::kFailed;
    failed.error = std::move(piece.error());
    return failed;
  }
  Stretch exact = stretch;
  if (exact.begin.value < 0) exact.begin = piece->begin;
  if (exact.end.value < 0) exact.end = piece->end;
  return scan_stretch(*piece, exact, *lines_, limits_, cancelled_);
}

// Takes results in order. One thread at a time; what it finds to be walked again it walks itself,
// without the lock, while the others go on.
void Measurement::merge(std::unique_lock<std::mutex>& lock) {
  while (!merging_ && !done_ && results_[merged_]) {
    Walked walked = std::move(*results_[merged_]);
    results_[merged_].reset();
    correct_next();
    if (walked.stretch != stretches_[merged_]) {
      const Stretch again = stretches_[merged_];
      merging_ = true;
      lock.unlock();
      walked.result = scan(again);
      lock.lock();
      merging_ = false;
      if (done_) return;
    }
    accept(std::move(walked.result));
  }
}

// The next stretch begins where the batches before it ended, whatever the index said.
void Measurement::correct_next() {
  if (merged_ == 0 || stretches_[merged_ - 1].piece != stretches_[merged_].piece) return;
  Stretch& next = stretches_[merged_];
  next.begin = chain_;
  next.end = std::max(next.begin, next.end);
}

void Measurement::accept(StretchResult result) {
  if (result.end == End::kFailed) return finish_with(std::move(result.error));
  if (result.end == End::kCancelled) return finish_with(interrupted());
  for (ResumePoint& point : result.points) {
    point.output_position += measured_.output_bytes;
    points_->add(point);
  }
  for (Anchor& anchor : result.last_batches) anchor.output_position += measured_.output_bytes;
  if (!result.last_batches.empty()) measured_.last_batches = std::move(result.last_batches);
  measured_.output_bytes += result.bytes;
  measured_.reached = chain_ = result.reached;

  const std::size_t i = merged_++;
  const bool piece_goes_on =
      merged_ < stretches_.size() && stretches_[merged_].piece == stretches_[i].piece;
  if (result.end == End::kDamaged && !piece_goes_on) {
    measured_.damage = StreamDamage{stretches_[i].piece, result.reached, std::move(result.error)};
    return finish();
  }
  if (result.end != End::kReached && piece_goes_on) {
    // A boundary that is none may look like a torn or damaged batch before it. What follows is
    // walked in one go: then it is certain.
    stretches_[merged_].end = stretches_.back().end;
    stretches_.resize(merged_ + 1);
  }
  if (merged_ == stretches_.size()) finish();
}

void Measurement::finish() {
  done_ = true;
  finished_.notify_all();
}

void Measurement::finish_with(storage::Error error) {
  error_ = std::move(error);
  finish();
}

void Measurement::cancel() {
  cancelled_ = true;
  std::unique_lock lock(mutex_);
  if (!done_) finish_with(interrupted());
}

Result<Measured> Measurement::outcome() const {
  if (error_) return storage::fail(*error_);
  return measured_;
}

Result<Measured> Measurement::wait(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  ++waiting_;
  const bool done = finished_.wait(lock, stop, [this] { return done_; });
  --waiting_;
  if (done) return outcome();
  if (waiting_ == 0) {
    cancelled_ = true;
    finish_with(interrupted());
  }
  return storage::fail(interrupted());
}

Result<Measured> Measurement::run(std::stop_token stop) {
  {
    // The thread that works is one of those who wait.
    std::unique_lock lock(mutex_);
    ++waiting_;
  }
  std::stop_callback on_stop(stop, [this] {
    std::unique_lock lock(mutex_);
    if (waiting_ == 1) cancelled_ = true;
  });
  while (work()) {
  }
  std::unique_lock lock(mutex_);
  --waiting_;
  return outcome();
}

}  // namespace offsetfs::fs
