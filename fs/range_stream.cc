#include "fs/range_stream.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "fs/measurement.h"
#include "storage/io_priority.h"

namespace offsetfs::fs {

using storage::Bytes;
using storage::Errc;
using storage::MutexLock;
using storage::Position;
using storage::Result;

namespace {

// For the pass that measures: it lets go of nothing that is held for the reader who comes after it.
class PassedPieces : public StreamPieces {
 public:
  explicit PassedPieces(std::shared_ptr<const StreamPieces> pieces) : pieces_(std::move(pieces)) {}
  std::size_t count() const override { return pieces_->count(); }
  Result<StreamPiece> open(std::size_t piece) const override { return pieces_->glance(piece); }

 private:
  const std::shared_ptr<const StreamPieces> pieces_;
};

bool lies_behind(const PlacedBatch& a, const PlacedBatch& b) {
  return std::tie(a.segment_base_offset, a.position) > std::tie(b.segment_base_offset, b.position);
}

}  // namespace

RangeStream::RangeStream(std::shared_ptr<const StreamPieces> pieces,
                         std::shared_ptr<const BatchLines> lines, StreamResources& resources)
    : pieces_(std::move(pieces)),
      lines_(std::move(lines)),
      resources_(resources),
      stream_(resources.next_stream++),
      points_(std::make_shared<ResumePoints>(static_cast<std::int64_t>(lines_->head().size()))) {}

Result<void> RangeStream::measure(std::stop_token stop) {
  const auto head_bytes = static_cast<std::int64_t>(lines_->head().size());
  if (pieces_->count() == 0) {
    size_bytes_ = head_bytes;
    return {};
  }
  ASSIGN_OR_RETURN(const StreamPiece first, pieces_->glance(0));
  ASSIGN_OR_RETURN(const auto job,
                   Measurement::prepare(std::make_shared<PassedPieces>(pieces_), lines_, points_,
                                        resources_.limits, first.begin, head_bytes));
  resources_.scans_begun.fetch_add(1, std::memory_order_relaxed);
  constexpr std::int64_t kLittleBytes = 4 << 20;
  const bool little = pieces_->count() == 1 && first.end - first.begin <= kLittleBytes;
  if (!little) resources_.scans.add(job);
  ASSIGN_OR_RETURN(Measured measured, little ? job->run(stop) : job->wait(stop));
  size_bytes_ = measured.output_bytes;
  damage_ = std::move(measured.damage);
  if (damage_) report_damage(*pieces_, *damage_, resources_.problems);
  return {};
}

std::optional<std::int64_t> RangeStream::size_bytes() const { return size_bytes_; }

OpenFlags RangeStream::flags() const { return {.direct_io = true}; }

Result<Bytes> RangeStream::read(std::uint64_t position, std::size_t size,
                                std::string& buffer) const {
  buffer.clear();
  const auto from = static_cast<std::int64_t>(std::min<std::uint64_t>(position, INT64_MAX / 2));
  std::int64_t to = from + static_cast<std::int64_t>(size);
  if (size_bytes_) {
    to = std::min(to, *size_bytes_);
    if (from >= to) {
      if (damage_) return storage::fail(damage_error(*pieces_, *damage_));
      return Bytes{};
    }
  }
  // A stream without a size is one over much of the log.
  const storage::IdleIo idle(!size_bytes_ && resources_.is_broker_at_work &&
                             resources_.is_broker_at_work());
  const SliceReader reader{*pieces_,   *lines_, *points_,
                           resources_, stream_, !size_bytes_.has_value()};
  const auto read = reader.read(from, to, buffer);
  const bool whole = read && buffer.size() == static_cast<std::size_t>(to - from);
  // The last bytes are no more what was measured once the last batch is lost.
  RETURN_IF_ERROR(check_standing(read, buffer.size(), whole && to != size_bytes_));
  if (!read) return overtaken(read.error());
  const SliceEnd& end = *read;
  if (end.damage && !whole) {
    report_damage(*pieces_, *end.damage, resources_.problems);
    // Of a measured stream, half a read would pass for its end.
    if (buffer.empty() || size_bytes_) return storage::fail(damage_error(*pieces_, *end.damage));
  } else if (size_bytes_ && !whole && !end.cut_short) {
    return overtaken(
        {Errc::kOutOfRange, 0,
         "what " + std::to_string(*size_bytes_) + " bytes were measured of has become less since"});
  }
  return Bytes(buffer);
}

// Whether what was read may be given: it and what was given before are still in the log. Asked
// after the read, so that nothing of it can have come in between.
Result<void> RangeStream::check_standing(const Result<SliceEnd>& read, std::size_t bytes,
                                         bool whole) const {
  std::vector<PlacedBatch> given;
  {
    const MutexLock lock(mutex_);
    if (furthest_) given.push_back(*furthest_);
  }
  if (read && read->reached) given.push_back(*read->reached);
  ASSIGN_OR_RETURN(const StreamPieces::Standing standing, pieces_->standing(given));
  if (standing == StreamPieces::Standing::kCut) return truncated();
  if (standing == StreamPieces::Standing::kCutAhead && !whole) {
    // Of one without a size less may be given at once. Damage is what the truncation left.
    const bool goes_on = read && !read->damage && bytes > 0 && (read->cut_short || !size_bytes_);
    if (!goes_on) return truncated();
  }
  if (!read || !read->reached) return {};
  const MutexLock lock(mutex_);
  if (!furthest_ || lies_behind(*read->reached, *furthest_)) furthest_ = read->reached;
  return {};
}

tl::unexpected<storage::Error> RangeStream::truncated() const {
  const storage::Error error{Errc::kOutOfRange, 0,
                             pieces_->name() +
                                 ": records that an open stream was to show were truncated away: "
                                 "it ends there"};
  say_once(error);
  return storage::fail(error);
}

// What the stream has not come to yet is gone, or another: that is no name that does not exist, and
// there is no other stream to be opened in its place either.
tl::unexpected<storage::Error> RangeStream::overtaken(storage::Error error) const {
  if (error.code == Errc::kNotFound) {
    error.what += " before it was read";
  } else if (error.code != Errc::kOutOfRange) {
    return storage::fail(std::move(error));
  }
  error = {Errc::kIo, 0, error.what + ": an open stream ends there"};
  say_once(error);
  return storage::fail(std::move(error));
}

void RangeStream::say_once(const storage::Error& error) const {
  if (resources_.log && !said_.exchange(true)) resources_.log(LogLevel::kWarning, error.what);
}

}  // namespace offsetfs::fs
