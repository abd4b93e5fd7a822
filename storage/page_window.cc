#include "storage/page_window.h"

#include <cstdint>

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

namespace offsetfs::storage {

PageWindow::PageWindow(int fd, PageRange range)
    : range_(range),
      address_(::mmap(nullptr, range.bytes(), PROT_READ, MAP_SHARED, fd, range.from.value)) {
  // So that a fault reads no more than its page, should one that we copy have gone meanwhile.
  if (address_ != MAP_FAILED) ::madvise(address_, range.bytes(), MADV_RANDOM);
}

PageWindow::~PageWindow() {
  if (address_ != MAP_FAILED) ::munmap(address_, range_.bytes());
}

bool PageWindow::may_look(int fd) {
  // Far behind the end of any log there are no pages: where one is claimed, every one is.
  constexpr Position kFar{std::int64_t{1} << 40};
  const PageRange range{kFar, 1};
  return !PageWindow(fd, range).cached(range)[0];
}

std::vector<bool> PageWindow::cached(PageRange range) const {
  std::vector<unsigned char> pages(range.pages);
  if (address_ == MAP_FAILED || ::mincore(at(range.from), range.bytes(), pages.data()) != 0) {
    return std::vector<bool>(range.pages);
  }
  std::vector<bool> cached;
  cached.reserve(range.pages);
  for (const auto page : pages) cached.push_back((page & 1) != 0);
  return cached;
}

bool PageWindow::copy(Position position, std::span<char> to) const {
  if (address_ == MAP_FAILED) return false;
  // Not memcpy: where the file was cut short that would be SIGBUS, and this is EFAULT.
  const iovec local{to.data(), to.size()};
  const iovec remote{at(position), to.size()};
  return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) ==
         static_cast<ssize_t>(to.size());
}

char* PageWindow::at(Position position) const {
  return static_cast<char*>(address_) + (position - range_.from);
}

}  // namespace offsetfs::storage
