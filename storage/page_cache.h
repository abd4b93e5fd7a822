#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <sys/types.h>

#include "storage/mutex.h"
#include "storage/page_reservations.h"
#include "storage/pages.h"
#include "storage/units.h"

// What the page cache holds of a file, and what its file system lets us do about it.

namespace offsetfs::storage {

// How many of the pages are cached; nothing if the kernel does not tell us: it tells who owns a
// file, and who could write it.
std::optional<std::size_t> count_cached(int fd, PageRange range);

struct CacheTraits {
  bool dontcache = false;  // RWF_DONTCACHE drops what a read brought in (Linux 6.14, ext4, xfs ...)
  bool in_memory = false;  // the page cache is all there is of it (tmpfs)
  std::size_t read_ahead_bytes = 0;
};

// Asked once a device. Any thread.
class CacheTraitsByDevice {
 public:
  // Tests take RWF_DONTCACHE away.
  explicit CacheTraitsByDevice(bool allow_dontcache) : allow_dontcache_(allow_dontcache) {}
  CacheTraits of(int fd) const;

 private:
  const bool allow_dontcache_;
  mutable Mutex mutex_;
  mutable std::map<dev_t, CacheTraits> known_ GUARDED_BY(mutex_);
};

// Which pieces of a file are cached whole, and so far beyond their end that reading them starts no
// read-ahead. To look costs more than to read a page, so what was seen is believed for some
// seconds. Any thread.
class CachedPieces {
 public:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  enum class Cached { kWhole, kNotWhole, kUnknown };

  CachedPieces(std::int64_t file_bytes, std::size_t read_ahead_bytes);
  // `reservations`: pages of ours that come and go.
  Cached state_of(int fd, std::int64_t piece, const PageReservations& reservations) const;

 private:
  Cached look(int fd, std::int64_t piece) const;

  const std::size_t read_ahead_bytes_;
  // What was seen last, by piece modulo size: the piece, when, and what. 0: nothing.
  mutable std::vector<std::atomic<std::uint64_t>> seen_;
};

}  // namespace offsetfs::storage
