#include "storage/batch_scanner.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "storage/batch_order.h"
#include "storage/crc32c.h"

namespace offsetfs::storage {
namespace {

constexpr std::size_t kLeastHeadersPiece = 512;

bool all_zero(Bytes bytes) {
  return bytes.empty() ||
         (bytes[0] == '\0' && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

bool is_known_magic(std::int8_t magic) { return magic >= 0 && magic <= 2; }

}  // namespace

BatchScanner::BatchScanner(const File& file, Position from, Position limit, Options options)
    : file_(file), limit_(limit), options_(options), position_(from), expected_(options.expected) {
  if (options_.segment_base_offset && from.value == 0) expected_ = options_.segment_base_offset;
}

BatchScanner::Step BatchScanner::next() {
  batch_.entry = {};
  damage_end_ = {-1};
  const std::int64_t left = limit_ - position_;
  if (left <= 0) return Step::kEnd;
  auto bytes = window(position_, std::min(left, BatchHeader::kV2HeaderBytes));
  if (!bytes) return failed(std::move(bytes.error()));

  std::string why;
  switch (parse_batch_header(*bytes, batch_.header, &why)) {
    case HeaderStatus::kOk: break;
    case HeaderStatus::kNeedMore:
      return all_zero(*bytes)
                 ? Step::kTornTail
                 : cut_off(BatchHeader::kV2HeaderBytes, static_cast<std::int64_t>(bytes->size()));
    case HeaderStatus::kZeros: return zeros();
    case HeaderStatus::kDamaged: return bad_header(std::move(why));
  }
  batch_.position = position_;
  if (batch_.header.size_bytes > left) return cut_off(batch_.header.size_bytes, left);
  if (!options_.headers_only) {
    if (const Step step = read_body(); step != Step::kBatch) return step;
  }
  if (options_.segment_base_offset && !lies_in_line()) return out_of_line();
  expected_ = batch_.header.next_offset();
  position_ = position_ + batch_.header.size_bytes;
  return Step::kBatch;
}

// A header behind that can't be read denies nothing: who comes there will be told.
bool BatchScanner::lies_in_line() {
  return storage::lies_in_line(batch_.header, expected_, *options_.segment_base_offset,
                               [this](BatchHeader& next) { return read_next(next); })
      .value_or(true);
}

Result<bool> BatchScanner::read_next(BatchHeader& next) const {
  const Position behind = position_ + batch_.header.size_bytes;
  const std::int64_t left = limit_ - behind;
  if (left < BatchHeader::kPrefixBytes) return false;
  const std::int64_t ahead = behind - piece_position_;
  if (ahead >= 0 && ahead + BatchHeader::kV2HeaderBytes <= static_cast<std::int64_t>(piece_size_))
    return is_whole_batch(Bytes(piece_.get(), piece_size_).substr(static_cast<std::size_t>(ahead)),
                          left, next);
  // Beside the piece, which holds the batch at hand.
  std::array<char, BatchHeader::kV2HeaderBytes> beside;
  ASSIGN_OR_RETURN(const std::size_t read, file_.read_at(behind, beside));
  return is_whole_batch(Bytes(beside.data(), read), left, next);
}

BatchScanner::Step BatchScanner::out_of_line() {
  batch_.entry = {};
  const Step step = damaged(
      Errc::kCorrupt, "a batch of offsets " + std::to_string(batch_.header.base_offset.value) +
                          " to " + std::to_string(batch_.header.last_offset.value) +
                          " lies out of line with its neighbours");
  damage_end_ = position_ + batch_.header.size_bytes;
  return step;
}

BatchScanner::Step BatchScanner::read_body() {
  const std::int64_t size = batch_.header.size_bytes;
  if (size > options_.max_batch_bytes) {
    const bool plausible = plausible_at(position_ + size);
    const Step step =
        damaged(Errc::kTooLarge, "a batch of " + std::to_string(size) + " bytes, at most " +
                                     std::to_string(options_.max_batch_bytes) + " are read");
    if (plausible) damage_end_ = position_ + size;
    return step;
  }
  auto bytes = window(position_, size);
  if (!bytes) return failed(std::move(bytes.error()));
  const auto found = static_cast<std::int64_t>(bytes->size());
  if (found < size) return cut_off(size, found);  // cut down since the caller looked

  batch_.entry = bytes->substr(0, static_cast<std::size_t>(size));
  if (!options_.check_crc) return Step::kBatch;
  const std::uint32_t computed = compute_batch_crc(batch_.header, batch_.entry);
  return computed == batch_.header.crc ? Step::kBatch : bad_crc(computed);
}

void BatchScanner::resume_at(Position position) {
  position_ = position;
  damage_end_ = {-1};
}

BatchScanner::Step BatchScanner::bad_header(std::string why) {
  const bool size_holds = batch_.header.size_bytes > BatchHeader::kPrefixBytes;
  if (size_holds && !is_known_magic(batch_.header.magic)) return damaged(Errc::kUnsupported, why);
  // In a preallocated file a header that is half written stands before zeros.
  if (options_.tail_may_be_torn) {
    auto last = only_zeros_from(position_ + BatchHeader::kV2HeaderBytes);
    if (!last) return failed(std::move(last.error()));
    if (*last) return Step::kTornTail;
  }
  return damaged(Errc::kCorrupt, why);
}

BatchScanner::Step BatchScanner::bad_crc(std::uint32_t computed) {
  batch_.entry = {};
  const Position end = position_ + batch_.header.size_bytes;
  if (options_.tail_may_be_torn) {
    auto last = only_zeros_from(end);
    if (!last) return failed(std::move(last.error()));
    if (*last) return Step::kTornTail;
  }
  const bool plausible = plausible_at(end);
  const Step step = damaged(Errc::kCorrupt, crc_mismatch(batch_.header.crc, computed));
  if (plausible) damage_end_ = end;
  return step;
}

BatchScanner::Step BatchScanner::zeros() {
  auto only_zeros = only_zeros_from(position_);
  if (!only_zeros) return failed(std::move(only_zeros.error()));
  if (*only_zeros) return Step::kTornTail;
  return damaged(Errc::kCorrupt, "zeros, expected a batch; data follows them");
}

BatchScanner::Step BatchScanner::cut_off(std::int64_t needed, std::int64_t found) {
  if (options_.tail_may_be_torn) return Step::kTornTail;
  return damaged(Errc::kCorrupt, "a batch of " + std::to_string(needed) + " bytes or more, found " +
                                     std::to_string(found) + " up to the end");
}

BatchScanner::Step BatchScanner::damaged(Errc code, const std::string& why) {
  error_ = Error{code, 0,
                 file_.name() + ": at position " + std::to_string(position_.value) + ": " + why};
  return Step::kDamaged;
}

BatchScanner::Step BatchScanner::failed(Error error) {
  error_ = std::move(error);
  return Step::kIo;
}

// Of a living file one piece is looked at: see the class comment.
Result<bool> BatchScanner::only_zeros_from(Position from) {
  const auto piece_bytes = static_cast<std::int64_t>(options_.piece_bytes);
  while (from < limit_) {
    ASSIGN_OR_RETURN(const Bytes bytes, window(from, std::min(limit_ - from, piece_bytes)));
    if (!all_zero(bytes)) return false;
    if (bytes.empty() || options_.tail_may_be_torn) break;
    from = from + static_cast<std::int64_t>(bytes.size());
  }
  return true;
}

// Whether a walk can go on at `position`: a header stands there, or zeros do, or the end.
bool BatchScanner::plausible_at(Position position) {
  const std::int64_t left = limit_ - position;
  if (left <= 0) return left == 0;
  const auto bytes = window(position, std::min(left, BatchHeader::kV2HeaderBytes));
  if (!bytes) return false;
  BatchHeader header;
  switch (parse_batch_header(*bytes, header, nullptr)) {
    case HeaderStatus::kOk: return header.size_bytes <= left;
    case HeaderStatus::kZeros: return true;
    case HeaderStatus::kNeedMore: return true;
    case HeaderStatus::kDamaged: return false;
  }
  return false;
}

Result<Bytes> BatchScanner::window(Position from, std::int64_t want) {
  const std::int64_t ahead = from - piece_position_;
  const auto held = static_cast<std::int64_t>(piece_size_);
  if (ahead < 0 || ahead + want > held) {
    RETURN_IF_ERROR(move_piece_to(from, piece_to_read(from, want)));
    return Bytes(piece_.get(), piece_size_);
  }
  return Bytes(piece_.get(), piece_size_).substr(static_cast<std::size_t>(ahead));
}

// What was read already of the batch that straddles the pieces is kept.
Result<void> BatchScanner::move_piece_to(Position from, std::size_t size) {
  const auto ahead = static_cast<std::size_t>(from - piece_position_);
  const bool overlaps = from >= piece_position_ && ahead < piece_size_;
  const std::size_t kept = overlaps ? piece_size_ - ahead : 0;
  if (size > piece_capacity_) {
    auto larger = std::make_unique_for_overwrite<char[]>(size);
    if (kept != 0) std::memcpy(larger.get(), piece_.get() + ahead, kept);
    piece_ = std::move(larger);
    piece_capacity_ = size;
  } else if (kept != 0) {
    std::memmove(piece_.get(), piece_.get() + ahead, kept);
  }
  piece_size_ = 0;  // nothing, should the read fail
  piece_position_ = from;
  const Position rest = from + static_cast<std::int64_t>(kept);
  ASSIGN_OR_RETURN(const std::size_t read, file_.read_at(rest, {piece_.get() + kept, size - kept}));
  piece_size_ = kept + read;
  return {};
}

// A whole piece, or the one batch that is larger. With headers_only pieces begin small and grow as
// long as the next header keeps following the last piece, so that small batches are read through
// and the bodies of large ones are leapt over.
std::size_t BatchScanner::piece_to_read(Position from, std::int64_t want) {
  std::size_t piece = options_.piece_bytes;
  if (options_.headers_only) {
    const bool follows = from - piece_position_ <= static_cast<std::int64_t>(piece_size_);
    headers_piece_ = follows && headers_piece_ != 0 ? headers_piece_ * 4 : kLeastHeadersPiece;
    headers_piece_ = std::min(headers_piece_, options_.piece_bytes);
    piece = headers_piece_;
  }
  const auto left = static_cast<std::size_t>(limit_ - from);
  return std::min(std::max(piece, static_cast<std::size_t>(want)), left);
}

}  // namespace offsetfs::storage
