#include "storage/tail_survey.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "storage/batch_header.h"
#include "storage/byte_reader.h"

namespace offsetfs::storage {
namespace {

constexpr std::int64_t kSector = 512;
constexpr std::int64_t kPieceBytes = 1 << 20;
constexpr std::int64_t kMostBatchBytes = 256 << 20;

bool all_zero(Bytes bytes) { return bytes.find_first_not_of('\0') == Bytes::npos; }

class Survey {
 public:
  Survey(const File& file, Position from, Position end, Offset next_offset)
      : file_(file), from_(from), end_(end), next_offset_(next_offset) {}

  Result<TailSurvey> run() {
    std::string piece(static_cast<std::size_t>(kPieceBytes + BatchHeader::kV2HeaderBytes), '\0');
    found_.only_zeros = true;
    for (std::int64_t at = from_.value; at < end_.value && !found_.next_valid; at += kPieceBytes) {
      ASSIGN_OR_RETURN(const std::size_t read, file_.read_at({at}, piece));
      const Bytes bytes(piece.data(), read);
      found_.only_zeros = found_.only_zeros && all_zero(bytes);
      RETURN_IF_ERROR(look_for_batch(bytes, at));
    }
    ASSIGN_OR_RETURN(found_.hole, has_hole(found_.next_valid.value_or(end_)));
    ASSIGN_OR_RETURN(found_.hole_at_front, has_hole(std::min(from_ + 1, end_)));
    return found_;
  }

 private:
  Result<void> look_for_batch(Bytes bytes, std::int64_t at) {
    const auto tried = std::min(bytes.size(), static_cast<std::size_t>(kPieceBytes));
    for (std::size_t i = 0; i < tried; ++i) {
      if (at + static_cast<std::int64_t>(i) == from_.value) continue;  // the bad one itself
      if (bytes.size() - i < BatchHeader::kV2HeaderBytes) break;
      ASSIGN_OR_RETURN(const bool valid,
                       is_batch(bytes.substr(i), {at + static_cast<std::int64_t>(i)}));
      if (!valid) continue;
      found_.next_valid = Position{at + static_cast<std::int64_t>(i)};
      break;
    }
    return {};
  }

  Result<bool> is_batch(Bytes bytes, Position position) {
    if (bytes[16] < 0 || bytes[16] > 2) return false;
    const Offset offset{load_big_endian<std::int64_t>(bytes.data())};
    if (offset < next_offset_ || offset - next_offset_ > INT32_MAX) return false;
    BatchHeader header;
    if (parse_batch_header(bytes.substr(0, BatchHeader::kV2HeaderBytes), header, nullptr) !=
        HeaderStatus::kOk)
      return false;
    if (header.size_bytes > end_ - position || header.size_bytes > kMostBatchBytes) return false;
    checked_bytes_ += header.size_bytes;
    if (checked_bytes_ > kMostSurveyBytes) return true;
    entry_.resize(static_cast<std::size_t>(header.size_bytes));
    ASSIGN_OR_RETURN(const std::size_t read, file_.read_at(position, entry_));
    return read == entry_.size() && compute_batch_crc(header, entry_) == header.crc;
  }

  Result<bool> has_hole(Position until) {
    std::string sector(static_cast<std::size_t>(kSector), '\0');
    for (std::int64_t at = from_.value; at < until.value;) {
      const std::int64_t next = std::min((at / kSector + 1) * kSector, end_.value);
      const auto size = static_cast<std::size_t>(next - at);
      ASSIGN_OR_RETURN(const std::size_t read, file_.read_at({at}, {sector.data(), size}));
      const bool whole = at % kSector == 0;
      if (read == size && all_zero({sector.data(), size}) && (whole || lost_at_front(size)))
        return true;
      at = next;
    }
    return false;
  }

  // Whether `zeros` zeros can't be the genuine front of the batch that should stand at from_: no
  // size is 0, and its offset is known.
  bool lost_at_front(std::size_t zeros) const {
    if (zeros >= 12) return true;
    char expected[8];
    store_big_endian(expected, next_offset_.value);
    return !all_zero({expected, std::min(zeros, sizeof expected)});
  }

  const File& file_;
  const Position from_, end_;
  const Offset next_offset_;
  TailSurvey found_;
  std::int64_t checked_bytes_ = 0;
  std::string entry_;
};

}  // namespace

Result<TailSurvey> survey_tail(const File& file, Position from, Position end, Offset next_offset) {
  return Survey(file, from, end, next_offset).run();
}

}  // namespace offsetfs::storage
