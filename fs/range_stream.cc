#include "fs/range_stream.h"

#include <algorithm>
#include <utility>

#include "fs/measurement.h"
#include "fs/slice_reader.h"
#include "storage/io_priority.h"

namespace offsetfs::fs {

using storage::Bytes;
using storage::Position;
using storage::Result;

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
  ASSIGN_OR_RETURN(const StreamPiece first, pieces_->open(0));
  ASSIGN_OR_RETURN(const auto job, Measurement::prepare(pieces_, lines_, points_, resources_.limits,
                                                        first.begin, head_bytes));
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
  if (!read) return overtaken(read.error());
  const SliceEnd& end = *read;
  const bool whole = buffer.size() == static_cast<std::size_t>(to - from);
  if (end.damage && !whole) {
    report_damage(*pieces_, *end.damage, resources_.problems);
    // Of a measured stream, half a read would pass for its end.
    if (buffer.empty() || size_bytes_) return storage::fail(damage_error(*pieces_, *end.damage));
  } else if (size_bytes_ && !whole) {
    return storage::fail(storage::Errc::kOutOfRange, "the log became shorter while it was read");
  }
  return Bytes(buffer);
}

// A segment that the stream has not come to yet is gone: that is no name that does not exist, and
// there is no other stream to be opened in its place either.
tl::unexpected<storage::Error> RangeStream::overtaken(storage::Error error) const {
  if (error.code != storage::Errc::kNotFound) return storage::fail(std::move(error));
  error = {storage::Errc::kIo, 0, error.what + " before it was read: an open stream ends there"};
  if (resources_.log && !overtaken_.exchange(true)) resources_.log(LogLevel::kWarning, error.what);
  return storage::fail(std::move(error));
}

}  // namespace offsetfs::fs
