#include "fs/stream_damage.h"

#include <array>
#include <utility>

#include "storage/batch_order.h"

namespace offsetfs::fs {

using storage::BatchHeader;
using storage::Bytes;
using storage::Position;
using storage::Result;

namespace {

std::optional<BatchHeader> header_at(const StreamPiece& piece, Position position) {
  std::array<char, BatchHeader::kV2HeaderBytes> bytes;
  const auto read = piece.file->read_at(position, bytes);
  BatchHeader header;
  if (!read || !storage::is_whole_batch(Bytes(bytes.data(), *read), piece.end - position, header))
    return std::nullopt;
  return header;
}

// Nothing if the batch can't be read at all, or is larger than any that is believed.
std::optional<std::uint32_t> crc_at(const StreamPiece& piece, const BatchHeader& header,
                                    Position position) {
  constexpr std::int64_t kMost = 256 << 20;
  if (header.size_bytes > kMost) return std::nullopt;
  std::string entry(static_cast<std::size_t>(header.size_bytes), '\0');
  const auto read = piece.file->read_at(position, entry);
  if (!read || *read < entry.size()) return std::nullopt;
  return storage::compute_batch_crc(header, entry);
}

// The cause alone: some who find damage name file and position, in their own words.
std::string bare_cause(const StreamPiece& piece, const StreamDamage& damage) {
  const std::string place =
      piece.file->name() + ": at position " + std::to_string(damage.position.value) + ": ";
  const std::string& what = damage.error.what;
  return what.starts_with(place) ? what.substr(place.size()) : what;
}

bool lies_in_line(const StreamPiece& piece, const BatchHeader& header, Position position) {
  const auto base = segment_base_offset(piece);
  if (!base) return true;
  return storage::lies_in_line(header, expected_at(piece, position), *base,
                               [&](BatchHeader& next) -> Result<bool> {
                                 const auto behind = header_at(piece, position + header.size_bytes);
                                 if (behind) next = *behind;
                                 return behind.has_value();
                               })
      .value_or(true);
}

}  // namespace

std::optional<storage::Offset> segment_base_offset(const StreamPiece& piece) {
  if (piece.segment == nullptr) return std::nullopt;
  return piece.segment->base_offset();
}

std::optional<storage::Offset> expected_at(const StreamPiece& piece, Position position) {
  if (piece.segment == nullptr) return std::nullopt;
  if (position.value == 0) return piece.segment->base_offset();
  const auto expected = piece.segment->expected_at(position, piece.end);
  return expected ? *expected : std::nullopt;
}

void report_damage(const StreamPieces& pieces, const StreamDamage& damage,
                   storage::Problems& problems) {
  const auto piece = pieces.open(damage.piece);
  if (!piece) return;
  if (piece->lost_behind && damage.position >= piece->end) return;  // named when it was found
  const auto header = header_at(*piece, damage.position);
  if (header && lies_in_line(*piece, *header, damage.position) &&
      crc_at(*piece, *header, damage.position) == header->crc) {
    // The batch is what was written: it is its records that make no sense.
    problems.add({piece->file->name(), damage.position.value,
                  bare_cause(*piece, damage) + "; go on from offset " +
                      std::to_string(header->next_offset().value)});
    return;
  }
  if (piece->segment == nullptr) {
    problems.add({piece->file->name(), damage.position.value, bare_cause(*piece, damage)});
    return;
  }
  // Names the damage in its problems, and where to go on.
  const auto found = piece->segment->damage_at(damage.position, std::nullopt, piece->end);
  if (!found)
    problems.add({piece->file->name(), damage.position.value, bare_cause(*piece, damage)});
}

storage::Error damage_error(const StreamPieces& pieces, const StreamDamage& damage) {
  storage::Error error = damage.error;
  if (const auto piece = pieces.open(damage.piece))
    error.what = piece->file->name() + ": at position " + std::to_string(damage.position.value) +
                 ": " + bare_cause(*piece, damage);
  return error;
}

Result<DamagedStretch> damaged_stretch(const StreamPiece& piece, Position position) {
  DamagedStretch stretch;
  stretch.position = position;
  stretch.end = piece.end;
  stretch.why = "no batch";
  if (piece.segment != nullptr) {
    // No expectation of an offset: a read that begins here has none, and must find the same.
    ASSIGN_OR_RETURN(storage::Damage damage,
                     piece.segment->damage_at(position, std::nullopt, piece.end));
    if (damage.end > position) stretch.end = damage.end;
    stretch.why = std::move(damage.what);
  }
  const auto header = header_at(piece, position);
  if (!header || position + header->size_bytes != stretch.end) return stretch;
  const auto crc = crc_at(piece, *header, position);
  if (!crc) return stretch;
  stretch.header = header;
  stretch.crc_computed = *crc;
  return stretch;
}

}  // namespace offsetfs::fs
