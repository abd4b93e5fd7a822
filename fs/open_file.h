#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "fs/attributes.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// How the kernel is to treat an open file; the meaning of libfuse's flags of the same names.
struct OpenFlags {
  bool keep_cache = false;   // what it cached of the file before is still right
  bool direct_io = false;    // reads come as the reader makes them and are clipped at no size
  bool nonseekable = false;  // a stream without positions
  bool is_written = false;   // close(2) is told of, and may fail
};

class Follower;

// What is told of an open file whose name is gone. Shared with it, so that it can be asked while
// the file is being closed. Any thread.
struct OpenAttributes {
  Attributes at_open;
  // The size by now, of what may have grown until its name went; nothing, or null: as at the open.
  std::function<std::optional<std::int64_t>()> size_now;

  Attributes now() const;
};

// One open file: what OPEN found, kept until RELEASE. The segments it holds open outlive retention;
// a stream of many holds those next ahead of its reader (log_pieces.h). Any thread, several at
// once.
class OpenFile {
 public:
  virtual ~OpenFile() = default;

  // The bytes at [position, position + size): fewer only at the end of the file; the kernel fills
  // up with zeros what is missing of a size that it was told. The view is into
  // the file's own memory, or into `buffer` where the bytes had to be made; it is valid until
  // `buffer` changes or the file is closed. kOutOfRange where what was open has been truncated
  // away.
  virtual storage::Result<storage::Bytes> read(std::uint64_t position, std::size_t size,
                                               std::string& buffer) const = 0;

  // Only of a file that is written; others fail with EBADF. Bytes go to the end, whatever position
  // was asked for. How many were taken: fewer than given where an error would come next.
  virtual storage::Result<std::size_t> write(storage::Bytes bytes, pid_t writer);
  // Each close(2), by whom; a file that is shared among processes is closed several times.
  virtual storage::Result<void> flush(pid_t closer);
  virtual storage::Result<void> sync();

  virtual OpenFlags flags() const { return {}; }

  // Not null for a stream that is waited for instead of read: see follower.h.
  virtual std::shared_ptr<Follower> follower() const { return nullptr; }

  // The size as this opener has been told it, where the file of the name is not the same any more:
  // a size from elsewhere would cut its reads off, or fill them up with zeros. Else nothing.
  virtual std::optional<std::int64_t> promised_bytes() const { return std::nullopt; }

  virtual std::function<std::optional<std::int64_t>()> size_now() const { return nullptr; }
  // Set once, before the file is shared; null: nothing is told of it.
  void set_attributes(const Attributes& at_open) {
    attributes_ = std::make_shared<const OpenAttributes>(OpenAttributes{at_open, size_now()});
  }
  const std::shared_ptr<const OpenAttributes>& attributes() const { return attributes_; }

 private:
  std::shared_ptr<const OpenAttributes> attributes_;
};

inline Attributes OpenAttributes::now() const {
  Attributes attributes = at_open;
  if (const auto size = size_now ? size_now() : std::nullopt) attributes.stat.st_size = *size;
  attributes.timeout = kNever;
  return attributes;
}

inline storage::Result<std::size_t> OpenFile::write(storage::Bytes, pid_t) {
  return storage::fail_errno(EBADF, "not open for writing");
}
inline storage::Result<void> OpenFile::flush(pid_t) { return {}; }
inline storage::Result<void> OpenFile::sync() { return {}; }

}  // namespace offsetfs::fs
