#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "storage/file.h"
#include "storage/page_cache.h"
#include "storage/page_window.h"
#include "storage/unique_fd.h"

// What both backends have in common: reading without a trace in the page cache.
//
//   - Where a file is cached whole (the usual case of a warm log), a read is one pread.
//   - Elsewhere the pages are looked at first. Cached ones are copied through a window on them, for
//     a read of them may start a read-ahead (page_window.h). The others are gaps. Only one reader
//     at a time is at work on the pages of a gap (page_reservations.h).
//   - Gaps are read by the backend, all at once if it can: with RWF_DONTCACHE, which drops what it
//     brought in; where there is none, POSIX_FADV_DONTNEED drops the pages of the gaps and no
//     others.
//
// Of somebody else's file that we may not write, the kernel does not tell what is cached. Then all
// is read with RWF_DONTCACHE, and where there is none, what we read stays: nothing that was cached
// is ever dropped.
//
// Our own read-ahead is off (POSIX_FADV_RANDOM): it would leave behind what nobody asked for. So a
// reader that wants speed on what is not cached asks for large pieces.

namespace offsetfs::storage {

class KernelFile : public File {
 public:
  Result<std::size_t> read_at(Position position, std::span<char> buffer) const final;
  Result<void> read_many(std::span<Read> reads) const final;
  Result<FileInfo> info() const final;

 protected:
  // A part of a read that is not in the page cache.
  struct Gap {
    Position position;
    std::span<char> buffer;
    std::size_t bytes_read = 0;  // out; less than the buffer only at the end of the file
    std::size_t read = 0;        // which of the reads it belongs to
    bool drop = false;           // its pages were not cached, and should not be afterwards
  };

  KernelFile(int fd, std::string name, CacheTraits traits);
  // Reads all gaps, waiting for them. `rwf_flags` are preadv2's. kIo names file and position.
  virtual Result<void> fill(std::span<Gap> gaps, int rwf_flags) const = 0;
  // fill() by pread, one gap after the other.
  Result<void> fill_by_pread(std::span<Gap> gaps, int rwf_flags) const;
  tl::unexpected<Error> read_failed(int sys_errno, Position position) const;
  int fd() const { return fd_.get(); }

 private:
  // A part of one read's buffer.
  struct Part {
    Read& read;
    std::size_t number;  // of the read
    std::size_t from;    // in its buffer
    std::size_t to;
    Position position() const { return read.position + static_cast<std::int64_t>(from); }
    std::span<char> buffer() const { return read.buffer.subspan(from, to - from); }
    PageRange pages() const { return PageRange::holding(position(), to - from); }
  };
  // These fill the part; what they cannot fill without reading uncached pages becomes `slow` parts,
  // then gaps. Where they meet the end of the file, they lower the read's bytes_read to it.
  Result<void> read_cached(Part part, std::vector<Part>& slow) const;
  Result<void> read_now(Part part) const;
  bool copy_cached(Part part) const;
  Result<void> read_slowly(std::span<Read> reads, std::span<const Part> slow) const;
  void gather(Part part, std::vector<Gap>& gaps) const;
  void gather_window(Part part, std::vector<Gap>& gaps) const;
  std::size_t copy_run(Part part, const PageWindow& window) const;

  CachedPieces::Cached cached_front(Part& part) const;
  bool may_look() const;
  const PageWindow* kept_window() const;
  Result<void> fill_and_drop(std::span<Gap> gaps) const;
  void drop(const Gap& gap) const;

  const UniqueFd fd_;
  const CacheTraits traits_;
  const std::int64_t size_when_opened_;
  const CachedPieces pieces_;
  mutable PageReservations reservations_;
  mutable std::atomic<int> may_look_{-1};  // -1: not asked yet
  mutable std::once_flag window_made_;
  mutable std::optional<PageWindow> window_;  // see kept_window()
};

}  // namespace offsetfs::storage
