#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "storage/pages.h"
#include "storage/units.h"

namespace offsetfs::storage {

// Some pages of a file: which of them the page cache holds, and the bytes of those without asking
// for a read. For a read of a cached page is not always without consequence: whoever read the file
// last left a mark on one of its pages, and a read of that one starts a read-ahead of up to
// megabytes.
//
// Maps the pages for as long as it lives, and touches none by itself. Any thread.
class PageWindow {
 public:
  // Where the pages cannot be mapped, all functions below say no.
  PageWindow(int fd, PageRange range);
  ~PageWindow();
  PageWindow(const PageWindow&) = delete;
  PageWindow& operator=(const PageWindow&) = delete;

  // The kernel tells who owns the file, and who could write it; to others all pages look cached.
  static bool may_look(int fd);

  bool holds(PageRange range) const {
    return range_.from <= range.from && range.end() <= range_.end();
  }
  // Of a part of the window, page by page.
  std::vector<bool> cached(PageRange range) const;
  // Copies cached pages of the window; false if that cannot be done (the file was cut short
  // meanwhile).
  bool copy(Position position, std::span<char> to) const;

 private:
  char* at(Position position) const;

  const PageRange range_;
  void* const address_;
};

}  // namespace offsetfs::storage
