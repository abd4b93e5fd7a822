#include "storage/kernel_file.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "storage/file_info.h"
#include "storage/page_window.h"
#include "storage/pages.h"
#include "storage/rwf.h"

namespace offsetfs::storage {
namespace {

// Behind it positions would not fit their type.
constexpr Position kLastPosition{std::numeric_limits<std::int64_t>::max() - (1 << 20)};

// Larger parts are looked at window by window.
constexpr std::size_t kMostWindowPages = 1024;

ssize_t pread_with(int fd, std::span<char> buffer, Position position, int rwf_flags) {
  if (rwf_flags == 0) return ::pread(fd, buffer.data(), buffer.size(), position.value);
  const iovec to{buffer.data(), buffer.size()};
  return ::preadv2(fd, &to, 1, position.value, rwf_flags);
}

std::int64_t size_of(int fd) {
  struct stat st {};
  return ::fstat(fd, &st) == 0 ? st.st_size : 0;
}

}  // namespace

KernelFile::KernelFile(int fd, std::string name, CacheTraits traits)
    : File(std::move(name)),
      fd_(fd),
      traits_(traits),
      size_when_opened_(size_of(fd)),
      pieces_(size_when_opened_, traits.read_ahead_bytes) {
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
}

Result<FileInfo> KernelFile::info() const {
  struct stat st {};
  if (::fstat(fd(), &st) != 0) return fail_errno(errno, name());
  return to_file_info(st);
}

Result<std::size_t> KernelFile::read_at(Position position, std::span<char> buffer) const {
  Read read{position, buffer};
  RETURN_IF_ERROR(read_many({&read, 1}));
  return read.bytes_read;
}

Result<void> KernelFile::read_many(std::span<Read> reads) const {
  std::vector<Part> slow;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    auto& read = reads[i];
    read.bytes_read = read.buffer.size();
    RETURN_IF_ERROR(read_cached({read, i, 0, read.buffer.size()}, slow));
  }
  if (slow.empty()) return {};
  return read_slowly(reads, slow);
}

Result<void> KernelFile::read_cached(Part part, std::vector<Part>& slow) const {
  if (part.position().value < 0) return read_failed(EINVAL, part.position());
  if (part.position() > kLastPosition - static_cast<std::int64_t>(part.to)) {
    part.read.bytes_read = 0;  // no file reaches there
    return {};
  }
  if (traits_.in_memory) return read_now(part);
  while (part.from < part.read.bytes_read) {
    Part front = part;
    const auto cached = cached_front(front);
    if (cached == CachedPieces::Cached::kWhole) {
      RETURN_IF_ERROR(read_now(front));
    } else if (cached == CachedPieces::Cached::kUnknown || !copy_cached(front)) {
      slow.push_back(front);
    }
    part.from = front.to;
  }
  return {};
}

// Cuts the part down to those of its pieces in front that are cached alike.
CachedPieces::Cached KernelFile::cached_front(Part& part) const {
  constexpr auto kPiece = static_cast<std::int64_t>(CachedPieces::kPieceBytes);
  const Position begin = part.position();
  const Position end = part.read.position + static_cast<std::int64_t>(part.to);
  auto piece = begin.value / kPiece;
  const auto cached = pieces_.state_of(fd(), piece, reservations_);
  for (++piece; piece * kPiece < end.value; ++piece) {
    if (pieces_.state_of(fd(), piece, reservations_) == cached) continue;
    part.to = part.from + static_cast<std::size_t>(piece * kPiece - begin.value);
    break;
  }
  return cached;
}

Result<void> KernelFile::read_now(Part part) const {
  if (part.from == part.to) return {};
  Gap all{.position = part.position(), .buffer = part.buffer()};
  // Should some of it have gone since we looked, it goes again.
  RETURN_IF_ERROR(fill_by_pread({&all, 1}, traits_.dontcache ? kRwfDontcache : 0));
  if (all.bytes_read < all.buffer.size()) {
    part.read.bytes_read = std::min(part.read.bytes_read, part.from + all.bytes_read);
  }
  return {};
}

// Where a piece is cached in parts, as a preallocated index is, this one may be all the same. Does
// nothing and returns false if it is not.
bool KernelFile::copy_cached(Part part) const {
  const auto pages = part.pages();
  const auto is_cached = [&] {
    return !reservations_.holds_any_of(pages) && count_cached(fd(), pages) == pages.pages &&
           !reservations_.holds_any_of(pages);
  };
  if (pages.pages > kMostWindowPages || !is_cached()) return false;
  std::optional<PageWindow> own;
  const PageWindow* window = kept_window();
  if (window == nullptr || !window->holds(pages)) window = &own.emplace(fd(), pages);
  const auto end = copy_run(part, *window);
  return end == std::min(part.to, part.read.bytes_read);
}

// A window for the life of a small file: a window of its own costs a read ten times what it takes
// to copy. Null for a large one, whose pages would count as our memory.
const PageWindow* KernelFile::kept_window() const {
  constexpr std::int64_t kMostBytes = std::int64_t{16} << 20;
  if (size_when_opened_ > kMostBytes) return nullptr;
  std::call_once(window_made_, [&] {
    window_.emplace(fd(), PageRange::holding(Position{0}, static_cast<std::size_t>(kMostBytes)));
  });
  return &*window_;
}

Result<void> KernelFile::read_slowly(std::span<Read> reads, std::span<const Part> slow) const {
  std::vector<PageRange> ranges;
  for (const auto& part : slow) ranges.push_back(part.pages());
  const auto reservation = reservations_.reserve(std::move(ranges));

  std::vector<Gap> gaps;
  for (const auto& part : slow) gather(part, gaps);
  if (gaps.empty()) return {};
  RETURN_IF_ERROR(fill_and_drop(gaps));
  for (const auto& gap : gaps) {
    if (gap.bytes_read == gap.buffer.size()) continue;
    auto& read = reads[gap.read];
    const auto end = static_cast<std::size_t>(gap.position - read.position) + gap.bytes_read;
    read.bytes_read = std::min(read.bytes_read, end);
  }
  return {};
}

void KernelFile::gather(Part part, std::vector<Gap>& gaps) const {
  const auto end = part.to;
  while (part.from < std::min(end, part.read.bytes_read)) {
    part.to = std::min(part.from + kMostWindowPages * page_bytes(), end);
    const auto cached = count_cached(fd(), part.pages());
    if (cached && *cached > 0 && may_look()) {
      gather_window(part, gaps);
    } else {
      gaps.push_back({.position = part.position(),
                      .buffer = part.buffer(),
                      .read = part.number,
                      .drop = cached == std::size_t{0}});
    }
    part.from = part.to;
  }
}

// Copies the cached pages of the part, and makes gaps of the runs between them.
void KernelFile::gather_window(Part part, std::vector<Gap>& gaps) const {
  const auto range = part.pages();
  const PageWindow window(fd(), range);
  const auto cached = window.cached(range);
  const auto end = part.to;
  // Where in the buffer a page ends.
  const auto end_of = [&](std::size_t page) {
    const auto bytes =
        range.from - part.read.position + static_cast<std::int64_t>((page + 1) * page_bytes());
    return std::min(static_cast<std::size_t>(bytes), end);
  };
  for (std::size_t page = 0; page < range.pages && part.from < part.read.bytes_read; ++page) {
    const bool is_cached = cached[page];
    while (page + 1 < range.pages && cached[page + 1] == is_cached) ++page;
    part.to = end_of(page);
    if (is_cached) part.from = copy_run(part, window);
    if (part.from < std::min(part.to, part.read.bytes_read)) {
      gaps.push_back({.position = part.position(),
                      .buffer = part.buffer(),
                      .read = part.number,
                      .drop = !is_cached});
    }
    part.from = part.to;
  }
}

// Returns how far the part could be copied.
std::size_t KernelFile::copy_run(Part part, const PageWindow& window) const {
  // A page shows zeros behind the end of the file; what the size says now is there for sure.
  const Position end{size_of(fd())};
  const Position wanted = part.position() + static_cast<std::int64_t>(part.to - part.from);
  if (end < wanted) {
    const auto bytes = std::max<std::int64_t>(end - part.position(), 0);
    part.to = part.from + static_cast<std::size_t>(bytes);
    part.read.bytes_read = std::min(part.read.bytes_read, part.to);
  }
  if (part.from == part.to) return part.from;
  return window.copy(part.position(), part.buffer()) ? part.to : part.from;
}

bool KernelFile::may_look() const {
  int may = may_look_.load(std::memory_order_relaxed);
  if (may < 0) {
    may = PageWindow::may_look(fd()) ? 1 : 0;
    may_look_.store(may, std::memory_order_relaxed);
  }
  return may == 1;
}

Result<void> KernelFile::fill_and_drop(std::span<Gap> gaps) const {
  if (traits_.dontcache) {
    auto filled = fill(gaps, kRwfDontcache);
    if (filled) {
      // Two that read one page at the same time may each keep it from being dropped by the other.
      for (const auto& gap : gaps) {
        const auto range = PageRange::holding(gap.position, gap.buffer.size());
        if (gap.drop && count_cached(fd(), range).value_or(0) > 0) drop(gap);
      }
      return {};
    }
    // Single files may be excepted (DAX).
    if (filled.error().sys_errno != EOPNOTSUPP) return filled;
  }
  RETURN_IF_ERROR(fill(gaps, 0));
  for (const auto& gap : gaps) {
    if (gap.drop) drop(gap);
  }
  return {};
}

void KernelFile::drop(const Gap& gap) const {
  const auto range = PageRange::holding(gap.position, gap.buffer.size());
  ::posix_fadvise(fd(), range.from.value, static_cast<off_t>(range.bytes()), POSIX_FADV_DONTNEED);
}

Result<void> KernelFile::fill_by_pread(std::span<Gap> gaps, int rwf_flags) const {
  for (auto& gap : gaps) {
    gap.bytes_read = 0;
    while (gap.bytes_read < gap.buffer.size()) {
      const auto here = gap.position + static_cast<std::int64_t>(gap.bytes_read);
      const ssize_t got = pread_with(fd(), gap.buffer.subspan(gap.bytes_read), here, rwf_flags);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return read_failed(errno, here);
      if (got == 0) break;
      gap.bytes_read += static_cast<std::size_t>(got);
    }
  }
  return {};
}

tl::unexpected<Error> KernelFile::read_failed(int sys_errno, Position position) const {
  return fail_errno(sys_errno, name() + ": read at " + std::to_string(position.value));
}

}  // namespace offsetfs::storage
