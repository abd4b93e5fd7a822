#include "storage/page_cache.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <string>

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "storage/page_window.h"
#include "storage/rwf.h"

namespace offsetfs::storage {
namespace {

// Linux 6.5; glibc 2.36 and its headers don't know it.
constexpr long kCachestat = 451;
struct CachestatRange {
  std::uint64_t offset;
  std::uint64_t size;
};
struct Cachestat {
  std::uint64_t cached;
  std::uint64_t others[4];
};

std::optional<std::size_t> count_by_window(int fd, PageRange range) {
  if (!PageWindow::may_look(fd)) return std::nullopt;
  const auto cached = PageWindow(fd, range).cached(range);
  return static_cast<std::size_t>(std::count(cached.begin(), cached.end(), true));
}

// Reads where no file has bytes: nothing moves, but the flag is judged.
bool takes_dontcache(int fd) {
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  char byte = 0;
  const iovec to{&byte, 1};
  return ::preadv2(fd, &to, 1, kFar, kRwfDontcache) == 0;
}

bool is_in_memory(int fd) {
  struct statfs fs {};
  if (::fstatfs(fd, &fs) != 0) return false;
  return fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC;
}

std::size_t read_ahead_bytes(dev_t device) {
  const auto number = std::to_string(major(device)) + ":" + std::to_string(minor(device));
  // A disk, a partition of one, a file system with a backing device of its own.
  for (const auto& path : {"/sys/dev/block/" + number + "/queue/read_ahead_kb",
                           "/sys/dev/block/" + number + "/../queue/read_ahead_kb",
                           "/sys/class/bdi/" + number + "/read_ahead_kb"}) {
    std::size_t kib = 0;
    if (std::ifstream(path) >> kib) return kib << 10;
  }
  return std::size_t{2} << 20;  // more than the kernel's default
}

std::uint64_t now_in_tenths() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 10 +
         static_cast<std::uint64_t>(now.tv_nsec) / 100'000'000 + 1;
}

PageRange range_of(std::int64_t piece) {
  constexpr auto kBytes = static_cast<std::int64_t>(CachedPieces::kPieceBytes);
  return PageRange::holding(Position{piece * kBytes}, CachedPieces::kPieceBytes);
}

// piece: 32 bits, tenths of a second: 30 bits (three years), Cached: 2 bits
std::uint64_t pack(std::int64_t piece, std::uint64_t tenths, CachedPieces::Cached cached) {
  return static_cast<std::uint64_t>(piece) << 32 | (tenths & 0x3fffffff) << 2 |
         static_cast<std::uint64_t>(cached);
}

}  // namespace

std::optional<std::size_t> count_cached(int fd, PageRange range) {
  static std::atomic<bool> has_cachestat{true};
  if (has_cachestat.load(std::memory_order_relaxed)) {
    const CachestatRange wanted{static_cast<std::uint64_t>(range.from.value), range.bytes()};
    Cachestat found{};
    if (::syscall(kCachestat, fd, &wanted, &found, 0) == 0) return found.cached;
    // Other refusals may be a seccomp profile's, or this file's own: the window knows.
    if (errno == ENOSYS) has_cachestat.store(false, std::memory_order_relaxed);
  }
  return count_by_window(fd, range);
}

CacheTraits CacheTraitsByDevice::of(int fd) const {
  struct stat st {};
  if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return {};
  const MutexLock lock(mutex_);
  auto known = known_.find(st.st_dev);
  if (known == known_.end()) {
    const CacheTraits traits{.dontcache = allow_dontcache_ && takes_dontcache(fd),
                             .in_memory = is_in_memory(fd),
                             .read_ahead_bytes = read_ahead_bytes(st.st_dev)};
    known = known_.emplace(st.st_dev, traits).first;
  }
  return known->second;
}

CachedPieces::CachedPieces(std::int64_t file_bytes, std::size_t read_ahead_bytes)
    : read_ahead_bytes_(read_ahead_bytes),
      seen_(std::bit_ceil(std::clamp<std::size_t>(
          static_cast<std::size_t>(file_bytes) / kPieceBytes + 1, 1, 1024))) {}

CachedPieces::Cached CachedPieces::state_of(int fd, std::int64_t piece,
                                            const PageReservations& reservations) const {
  // What was whole and has lost pages since is read with RWF_DONTCACHE, which drops them again: so
  // that may be believed longer.
  constexpr std::uint64_t kWholeTenths = 100, kOtherTenths = 10;
  auto& slot = seen_[static_cast<std::size_t>(piece) % seen_.size()];
  const auto now = now_in_tenths() & 0x3fffffff;
  const auto seen = slot.load(std::memory_order_relaxed);
  const auto age = now - (seen >> 2 & 0x3fffffff);
  const auto was = static_cast<Cached>(seen & 3);
  if (seen != 0 && seen >> 32 == static_cast<std::uint64_t>(piece) &&
      age <= (was == Cached::kWhole ? kWholeTenths : kOtherTenths)) {
    return was;
  }
  if (reservations.holds_any_of(range_of(piece))) return Cached::kNotWhole;
  const auto cached = look(fd, piece);
  // What comes and goes meanwhile is not to be believed.
  if (reservations.holds_any_of(range_of(piece))) return Cached::kNotWhole;
  slot.store(pack(piece, now, cached), std::memory_order_relaxed);
  return cached;
}

CachedPieces::Cached CachedPieces::look(int fd, std::int64_t piece) const {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return Cached::kUnknown;
  const Position from{piece * static_cast<std::int64_t>(kPieceBytes)};
  // Of [from, from + size): the part that the file has, but for one page in `spared`.
  const auto whole = [&](Position begin, std::size_t size, std::size_t spared) {
    const auto left =
        std::min<std::int64_t>(st.st_size - begin.value, static_cast<std::int64_t>(size));
    if (left <= 0) return Cached::kWhole;
    const auto range = PageRange::holding(begin, static_cast<std::size_t>(left));
    const auto cached = count_cached(fd, range);
    if (!cached) return Cached::kUnknown;
    const auto may_miss = spared == 0 ? 0 : range.pages / spared;
    return *cached + may_miss >= range.pages ? Cached::kWhole : Cached::kNotWhole;
  };
  const auto itself = whole(from, kPieceBytes, 0);
  if (itself != Cached::kWhole || st.st_size <= from.value) {
    return itself == Cached::kUnknown ? itself : Cached::kNotWhole;
  }
  // A read-ahead starts at a page that a reader who stopped short of it left marked, which is near
  // where the cached pages end. A page here and there that reclaim took is no such end.
  return whole(from + static_cast<std::int64_t>(kPieceBytes), read_ahead_bytes_, 64);
}

}  // namespace offsetfs::storage
