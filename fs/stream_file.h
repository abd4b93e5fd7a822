#pragma once

#include <cstdint>
#include <optional>

#include "fs/open_file.h"

namespace offsetfs::fs {

// An open stream: lines, one a record or one a batch, as one opener sees them.
//
// Errors of read(): kCorrupt (kUnsupported, kTooLarge) at the first byte that damage keeps back:
// every byte before it was delivered; Problems has named the place and the offset to go on from.
// kOutOfRange from where the log was truncated under the stream. kIo: a segment can't be read, or
// it vanished before it was open; the log says which.
class StreamFile : public OpenFile {
 public:
  // The exact size in bytes as of the open: up to the damage, if flags() says direct_io for that.
  // Nothing: a stream over much, like a file in /proc: st_size 0, to be read to its end.
  virtual std::optional<std::int64_t> size_bytes() const = 0;
};

}  // namespace offsetfs::fs
