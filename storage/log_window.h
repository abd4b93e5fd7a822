#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "storage/batch_header.h"
#include "storage/file.h"
#include "storage/owned_bytes.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::storage {

// What stands at a position of a `.log` where a batch could begin. Judged by the header alone.
enum class Probe {
  kBatch,  // a plausible header whose batch ends at or before the limit
  kEnd,    // the limit itself
  kShort,  // a plausible header whose batch goes beyond the limit, or too few bytes for a header
  kZeros,  // a size of 0 at an offset of 0: never written, or lost
  kBad,    // no header that can be
};

// Looks at single headers of a `.log` here and there, through a small piece of it held in memory,
// so that small batches behind each other cost one read. One thread. Not for whole files: see
// batch_scanner.h.
class LogWindow {
 public:
  static constexpr std::size_t kDefaultPieceBytes = 4096;
  // No broker takes a batch of more; a length beyond is damage.
  static constexpr std::int64_t kMostBatchBytes = 256 << 20;

  // The file must outlive this. Nothing at or beyond `limit` is looked at.
  LogWindow(const File& file, Position limit, std::size_t piece_bytes = kDefaultPieceBytes);

  // The bytes from `position` on that the window holds after reading, at least `want` of them but
  // for the limit or the file's end. Valid until the next call.
  Result<Bytes> bytes_at(Position position, std::size_t want);
  // `why` gets the reason of kBad; may be null.
  Result<Probe> probe(Position position, BatchHeader& header, std::string* why);
  // How much the next read will take, if the window lacks what is asked for then: where a whole
  // batch is likely to be wanted, its header and body come in one read.
  void expect(std::size_t bytes) { expected_bytes_ = bytes; }
  // The whole entry that probe() found at `position`, read at once where the window lacks it; the
  // window may be empty afterwards. kOutOfRange where the file has become shorter.
  Result<OwnedBytes> take_entry(Position position, const BatchHeader& header);
  // True if its bytes bear its CRC.
  Result<bool> crc_good(Position position, const BatchHeader& header);

  // Whether the batch that probe() found lies in line with the others of its segment
  // (batch_order.h).
  Result<bool> lies_in_line(Position position, const BatchHeader& header,
                            std::optional<Offset> expected_offset, Offset segment_base_offset);

  Position limit() const { return limit_; }

 private:
  bool holds(Position position, std::size_t size) const;

  const File& file_;
  const Position limit_;
  const std::size_t piece_bytes_;
  std::size_t expected_bytes_ = 0;
  OwnedBytes piece_;  // size(): as much as was read
  Position piece_position_{};
};

}  // namespace offsetfs::storage
