#include "storage/log_window.h"

#include <algorithm>
#include <utility>

#include "storage/batch_order.h"

namespace offsetfs::storage {

LogWindow::LogWindow(const File& file, Position limit, std::size_t piece_bytes)
    : file_(file), limit_(limit), piece_bytes_(piece_bytes) {}

bool LogWindow::holds(Position position, std::size_t size) const {
  const std::int64_t inside = position - piece_position_;
  return inside >= 0 && inside <= static_cast<std::int64_t>(piece_.size()) &&
         piece_.size() - static_cast<std::size_t>(inside) >= size;
}

Result<Bytes> LogWindow::bytes_at(Position position, std::size_t want) {
  const std::int64_t left = limit_ - position;
  if (left <= 0) return Bytes{};
  want = std::min(want, static_cast<std::size_t>(left));
  if (!holds(position, want)) {
    const std::size_t piece = expected_bytes_ != 0 ? expected_bytes_ : piece_bytes_;
    const std::size_t size = std::min(std::max(want, piece), static_cast<std::size_t>(left));
    expected_bytes_ = 0;
    if (piece_.capacity() < size) piece_ = OwnedBytes(size);
    piece_.resize(size);
    auto read = file_.read_at(position, piece_.writable());
    piece_.resize(read ? *read : 0);
    piece_position_ = position;
    if (!read) return fail(std::move(read.error()));
  }
  return piece_.view().substr(static_cast<std::size_t>(position - piece_position_));
}

Result<Probe> LogWindow::probe(Position position, BatchHeader& header, std::string* why) {
  const std::int64_t left = limit_ - position;
  if (left <= 0) return Probe::kEnd;
  ASSIGN_OR_RETURN(const Bytes bytes,
                   bytes_at(position, static_cast<std::size_t>(BatchHeader::kV2HeaderBytes)));
  switch (parse_batch_header(bytes, header, why)) {
    case HeaderStatus::kOk:
      if (header.size_bytes > kMostBatchBytes) {
        if (why != nullptr) *why = "a batch of " + std::to_string(header.size_bytes) + " bytes";
        return Probe::kBad;
      }
      return header.size_bytes <= left ? Probe::kBatch : Probe::kShort;
    case HeaderStatus::kNeedMore: return Probe::kShort;
    case HeaderStatus::kZeros: return Probe::kZeros;
    case HeaderStatus::kDamaged: return Probe::kBad;
  }
  return Probe::kBad;
}

Result<OwnedBytes> LogWindow::take_entry(Position position, const BatchHeader& header) {
  const auto size = static_cast<std::size_t>(header.size_bytes);
  if (holds(position, size)) {
    const auto inside = static_cast<std::size_t>(position - piece_position_);
    if (inside != 0 || piece_.capacity() - size > size / 4) {
      return OwnedBytes(piece_.view().substr(inside, size));
    }
    piece_.resize(size);
    return std::exchange(piece_, OwnedBytes());
  }
  OwnedBytes entry(size);
  ASSIGN_OR_RETURN(const std::size_t read, file_.read_at(position, entry.writable()));
  if (read < size) {
    return fail(Errc::kOutOfRange, file_.name() + ": position " + std::to_string(position.value) +
                                       ": expected a batch of " + std::to_string(size) +
                                       " bytes, found " + std::to_string(read) +
                                       ": the file has become shorter");
  }
  return entry;
}

Result<bool> LogWindow::lies_in_line(Position position, const BatchHeader& header,
                                     std::optional<Offset> expected_offset,
                                     Offset segment_base_offset) {
  return storage::lies_in_line(
      header, expected_offset, segment_base_offset, [&](BatchHeader& next) -> Result<bool> {
        ASSIGN_OR_RETURN(const Probe found, probe(position + header.size_bytes, next, nullptr));
        return found == Probe::kBatch;
      });
}

Result<bool> LogWindow::crc_good(Position position, const BatchHeader& header) {
  const auto size = static_cast<std::size_t>(header.size_bytes);
  if (holds(position, size)) {
    const auto inside = static_cast<std::size_t>(position - piece_position_);
    return compute_batch_crc(header, piece_.view().substr(inside, size)) == header.crc;
  }
  ASSIGN_OR_RETURN(const OwnedBytes bytes, take_entry(position, header));
  return compute_batch_crc(header, bytes.view()) == header.crc;
}

}  // namespace offsetfs::storage
