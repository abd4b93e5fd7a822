#include "fs/segment_stream.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "fs/slice_reader.h"

namespace offsetfs::fs {

using storage::BatchHeader;
using storage::Bytes;
using storage::MutexLock;
using storage::Position;
using storage::Result;

namespace {

// Whether the batch at `position` still is the one that was measured there.
bool still_there(const StreamPiece& piece, Position position, std::int64_t size_bytes,
                 std::uint32_t crc) {
  std::array<char, BatchHeader::kV2HeaderBytes> bytes;
  auto read = piece.file->read_at(position, bytes);
  BatchHeader header;
  return read &&
         storage::parse_batch_header(Bytes(bytes.data(), *read), header, nullptr) ==
             storage::HeaderStatus::kOk &&
         header.crc == crc && (size_bytes == 0 || header.size_bytes == size_bytes) &&
         position + header.size_bytes <= piece.end;
}

std::optional<std::int64_t> mtime_of(const StreamPiece& piece) {
  const auto info = piece.file->info();
  if (!info) return std::nullopt;
  return info->mtime_ns;
}

}  // namespace

SegmentStream::SegmentStream(std::shared_ptr<const BatchLines> lines, StreamResources& resources)
    : lines_(std::move(lines)),
      resources_(resources),
      stream_(resources.next_stream++),
      front_(static_cast<std::int64_t>(lines_->head().size())),
      points_(std::make_shared<ResumePoints>(front_)) {
  known_.size_bytes = front_;
}

SegmentStream::State SegmentStream::state() const {
  return {known_.size_bytes, known_.reached.value, known_.damage.has_value(), known_.generation};
}

std::optional<SegmentStream::State> SegmentStream::known() const {
  MutexLock lock(mutex_);
  if (!known_.measured) return std::nullopt;
  return state();
}

bool SegmentStream::lacks_points() const {
  MutexLock lock(mutex_);
  return known_.lacks_points;
}

Result<SegmentStream::State> SegmentStream::measure(const PieceNow& piece_now,
                                                    std::stop_token stop) {
  // A pass that others began may have ended before what was appended since: then one more.
  for (;;) {
    ASSIGN_OR_RETURN(const bool up_to_date, measure_once(piece_now, stop));
    if (!up_to_date) continue;
    MutexLock lock(mutex_);
    return state();
  }
}

// False: come again.
Result<bool> SegmentStream::measure_once(const PieceNow& piece_now, const std::stop_token& stop) {
  std::shared_ptr<Measurement> job;
  {
    MutexLock lock(mutex_);
    job = job_;
  }
  if (job) {
    auto measured = job->wait(stop);
    if (!measured && stop.stop_requested()) return storage::fail(interrupted());
    const bool given_up = job->was_cancelled();  // by those who waited before
    auto taken = take(job, nullptr, std::move(measured));
    if (!taken && !given_up) return storage::fail(std::move(taken.error()));
    return false;
  }

  ASSIGN_OR_RETURN(const StreamPiece piece, piece_now());
  if (check_for_truncation(piece)) return false;
  Known known;
  {
    MutexLock lock(mutex_);
    if (job_) return false;
    known = known_;
  }
  const auto mtime_ns = mtime_of(piece);
  const bool complete = known.measured && !known.lacks_points;
  if (complete && (known.damage ? known.mtime_ns == mtime_ns : known.reached >= piece.end))
    return true;
  ASSIGN_OR_RETURN(job, begin(piece, known));
  {
    MutexLock lock(mutex_);
    if (job_ || known_.generation != known.generation || known_.reached != known.reached)
      return false;
    job_ = job;
    job_mtime_ns_ = mtime_ns;
  }
  const Position from = known.lacks_points ? piece.begin : std::max(known.reached, piece.begin);
  resources_.scans_begun.fetch_add(1, std::memory_order_relaxed);
  resources_.scanned_bytes.fetch_add(static_cast<std::uint64_t>(piece.end - from),
                                     std::memory_order_relaxed);
  const bool little = piece.end - from <= kLittleBytes;
  if (!little) resources_.scans.add(job);
  auto measured = little ? job->run(stop) : job->wait(stop);
  if (!measured && stop.stop_requested() && !job->was_cancelled())
    return storage::fail(interrupted());  // others wait on
  const SinglePiece pieces(piece);
  RETURN_IF_ERROR(take(job, &pieces, std::move(measured)));
  return true;
}

Result<std::shared_ptr<Measurement>> SegmentStream::begin(const StreamPiece& piece,
                                                          const Known& known) {
  const bool anew = !known.measured || known.lacks_points;
  return Measurement::prepare(std::make_shared<SinglePiece>(piece), lines_, points_,
                              resources_.limits, anew ? piece.begin : known.reached,
                              anew ? front_ : known.size_bytes);
}

// The pass is over: what it found is known from now on. By the first who comes.
Result<void> SegmentStream::take(const std::shared_ptr<Measurement>& job,
                                 const StreamPieces* pieces, Result<Measured> measured) {
  std::optional<StreamDamage> damage;
  {
    MutexLock lock(mutex_);
    if (job_ != job) return {};
    job_.reset();
    if (!measured) return storage::fail(std::move(measured.error()));
    known_.measured = true;
    known_.lacks_points = false;
    known_.reached = measured->reached;
    known_.size_bytes = measured->output_bytes;
    known_.damage = std::move(measured->damage);
    known_.mtime_ns = job_mtime_ns_;
    if (!measured->last_batches.empty()) known_.last_batches = std::move(measured->last_batches);
    damage = known_.damage;
  }
  if (damage && pieces != nullptr) report_damage(*pieces, *damage, resources_.problems);
  return {};
}

// True if the log lost what was measured: it will be measured again. A file is looked at whether it
// grows or not: in a sealed one that is cut others may stand in the place of the last batches.
bool SegmentStream::check_for_truncation(const StreamPiece& piece) {
  Known known;
  {
    MutexLock lock(mutex_);
    if (!known_.measured || job_) return false;
    known = known_;
  }
  const bool shorter = piece.end < known.reached;
  if (known.last_batches.empty()) {
    if (!shorter) return false;
  } else {
    // Another reader may have measured further since this one looked for the end.
    StreamPiece whole = piece;
    if (shorter) {
      const auto info = piece.file->info();
      if (info) whole.end = std::max(piece.end, Position{info->size_bytes});
    }
    const Anchor& last = known.last_batches.back();
    if (still_there(whole, last.position, last.size_bytes, last.crc)) return false;
  }
  truncate(piece, known);
  return true;
}

void SegmentStream::truncate(const StreamPiece& piece, const Known& known) {
  // The last batch that is still the same: among the latest exactly, further back by the resume
  // points, which may lie a little before it.
  Position reached = piece.begin;
  std::int64_t size_bytes = front_;
  std::vector<Anchor> anchors = known.last_batches;
  std::int64_t next_output = known.size_bytes;
  while (!anchors.empty()) {
    const Anchor& anchor = anchors.back();
    if (still_there(piece, anchor.position, anchor.size_bytes, anchor.crc)) {
      reached = anchor.position + anchor.size_bytes;
      size_bytes = next_output;
      break;
    }
    next_output = anchor.output_position;
    anchors.pop_back();
  }
  if (anchors.empty()) {
    const std::vector<ResumePoint> fronts = points_->batch_fronts();
    const auto lost =
        std::partition_point(fronts.begin(), fronts.end(), [&](const ResumePoint& point) {
          return still_there(piece, Position{point.batch_position}, 0, point.batch_crc);
        });
    if (lost != fronts.begin()) {
      reached = Position{std::prev(lost)->batch_position};
      size_bytes = std::prev(lost)->output_position;
    }
  }

  MutexLock lock(mutex_);
  if (job_ || known_.generation != known.generation || known_.reached != known.reached) return;
  points_->cut(size_bytes);
  truncations_.push_back({known_.generation, size_bytes, known_.size_bytes});
  known_.generation++;
  known_.reached = reached;
  known_.size_bytes = size_bytes;
  known_.damage.reset();
  known_.last_batches = std::move(anchors);
}

std::int64_t SegmentStream::stale_from(std::uint32_t generation) const {
  MutexLock lock(mutex_);
  std::int64_t from = std::numeric_limits<std::int64_t>::max();
  for (const Truncation& truncation : truncations_) {
    if (truncation.generation >= generation) from = std::min(from, truncation.stale_from);
  }
  return from;
}

std::optional<std::int64_t> SegmentStream::size_before_truncation(std::uint32_t generation) const {
  MutexLock lock(mutex_);
  std::optional<std::int64_t> size;
  for (const Truncation& truncation : truncations_) {
    if (truncation.generation >= generation)
      size = std::max(size.value_or(0), truncation.size_before);
  }
  return size;
}

void SegmentStream::drop_points() {
  MutexLock lock(mutex_);
  if (job_) return;
  points_->clear();
  known_.lacks_points = known_.measured;
}

Result<void> SegmentStream::read(const PieceNow& piece_now, std::uint32_t generation,
                                 std::int64_t position, std::size_t size, std::string& out) {
  ASSIGN_OR_RETURN(StreamPiece piece, piece_now());
  std::int64_t end = position + static_cast<std::int64_t>(size);
  if (!covers(piece, end)) RETURN_IF_ERROR(measure(piece_now));
  {
    // Others may have measured further since this one looked for the end.
    MutexLock lock(mutex_);
    if (known_.measured) piece.end = std::max(piece.end, known_.reached);
  }
  const SinglePiece pieces(piece);
  std::int64_t stale = stale_from(generation);
  const auto truncated = [&] {
    return storage::fail(storage::Errc::kOutOfRange,
                         piece.file->name() + ": truncated under an open stream");
  };
  if (position >= stale) return truncated();
  {
    MutexLock lock(mutex_);
    end = std::min({end, known_.size_bytes, stale});
    if (position >= end) {
      if (!known_.damage) return {};
      return storage::fail(damage_error(pieces, *known_.damage));
    }
  }
  const SliceReader reader{pieces, *lines_, *points_, resources_, stream_};
  const std::size_t before = out.size();
  const auto read = reader.read(position, end, out);
  // Asked after the read, so that nothing of it can have come in the place of what was measured.
  if (check_for_truncation(piece)) {
    stale = stale_from(generation);
    end = std::min(end, stale);
    if (position >= end) {
      out.resize(before);
      return truncated();
    }
    if (out.size() - before > static_cast<std::size_t>(end - position))
      out.resize(before + static_cast<std::size_t>(end - position));
  }
  if (!read) return storage::fail(read.error());
  const SliceEnd& slice = *read;
  if (out.size() - before == static_cast<std::size_t>(end - position)) return {};
  // The log is not what it was when it was measured. Half a read would pass for the stream's end.
  out.resize(before);
  if (!slice.damage)
    return storage::fail(storage::Errc::kOutOfRange,
                         piece.file->name() + ": became shorter while it was read");
  report_damage(pieces, *slice.damage, resources_.problems);
  return storage::fail(damage_error(pieces, *slice.damage));
}

// True if what is known says all about the stream up to `end`.
bool SegmentStream::covers(const StreamPiece& piece, std::int64_t end) const {
  MutexLock lock(mutex_);
  if (!known_.measured || piece.end < known_.reached) return false;
  return end <= known_.size_bytes || known_.damage || piece.end == known_.reached;
}

}  // namespace offsetfs::fs
