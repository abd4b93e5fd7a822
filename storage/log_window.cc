#include "storage/log_window.h"

#include <algorithm>

namespace offsetfs::storage {

LogWindow::LogWindow(const File& file, Position limit, std::size_t piece_bytes)
    : file_(file), limit_(limit), piece_bytes_(piece_bytes) {}

Result<Bytes> LogWindow::bytes_at(Position position, std::size_t want) {
  const std::int64_t left = limit_ - position;
  if (left <= 0) return Bytes{};
  want = std::min(want, static_cast<std::size_t>(left));
  const std::int64_t inside = position - piece_position_;
  const bool held = inside >= 0 && inside <= static_cast<std::int64_t>(piece_size_);
  if (!held || piece_size_ - static_cast<std::size_t>(inside) < want) {
    const std::size_t size = std::min(std::max(want, piece_bytes_), static_cast<std::size_t>(left));
    if (piece_.size() < size) piece_.resize(size);
    piece_size_ = 0;
    ASSIGN_OR_RETURN(piece_size_, file_.read_at(position, std::span<char>(piece_.data(), size)));
    piece_position_ = position;
  }
  const auto from = static_cast<std::size_t>(position - piece_position_);
  return Bytes(piece_.data() + from, piece_size_ - from);
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

Result<std::string> LogWindow::entry(Position position, const BatchHeader& header) {
  const auto size = static_cast<std::size_t>(header.size_bytes);
  const std::int64_t inside = position - piece_position_;
  if (inside >= 0 && inside < static_cast<std::int64_t>(piece_size_) &&
      piece_size_ - static_cast<std::size_t>(inside) >= size) {
    return std::string(piece_.data() + inside, size);
  }
  std::string entry(size, '\0');
  ASSIGN_OR_RETURN(const std::size_t read, file_.read_at(position, std::span<char>(entry)));
  if (read < size) {
    return fail(Errc::kOutOfRange, file_.name() + ": position " + std::to_string(position.value) +
                                       ": expected a batch of " + std::to_string(size) +
                                       " bytes, found " + std::to_string(read) +
                                       ": the file has become shorter");
  }
  return entry;
}

Result<bool> LogWindow::crc_good(Position position, const BatchHeader& header) {
  ASSIGN_OR_RETURN(const std::string bytes, entry(position, header));
  return compute_batch_crc(header, bytes) == header.crc;
}

}  // namespace offsetfs::storage
