#pragma once

#include <cstddef>
#include <optional>

#include "fs/read_buffers.h"
#include "storage/batch_header.h"
#include "storage/file.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// Bytes of a `.log` in ascending order, read in as few reads as the guesses allow, into a borrowed
// buffer. One thread.
class BatchWindow {
 public:
  // Nothing at or beyond `limit` is read. The file and the buffers must outlive this.
  BatchWindow(const storage::File& file, storage::Position limit, ReadBuffers& buffers)
      : file_(file), limit_(limit), buffers_(buffers) {}

  // The bytes at [position, position + want), fewer only at the limit or where the file ends. If
  // they must be read, `guess` bytes are read at once. Valid until the next call.
  storage::Result<storage::Bytes> bytes_at(storage::Position position, std::size_t want,
                                           std::size_t guess);

  // Whether the batch at `position`, whose header was read, lies in line with the others of its
  // segment (storage/batch_order.h).
  storage::Result<bool> lies_in_line(storage::Position position, const storage::BatchHeader& header,
                                     std::optional<storage::Offset> expected_offset,
                                     storage::Offset segment_base_offset, std::size_t guess);

 private:
  // The header of the batch behind; false where no whole batch stands there. A small batch at
  // `position` is read with it: its body is wanted next.
  storage::Result<bool> read_next(storage::Position position, const storage::BatchHeader& header,
                                  std::size_t guess, storage::BatchHeader& next);

  const storage::File& file_;
  const storage::Position limit_;
  ReadBuffers& buffers_;
  storage::Position begin_{};
  std::size_t size_ = 0;
};

}  // namespace offsetfs::fs
