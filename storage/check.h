#pragma once

// CHECK(condition): a broken invariant of our own ends the process with file, line and the
// condition's text. Never for input: bad input is an Error.

namespace offsetfs::storage {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}

#define CHECK(condition)                                                                   \
  (static_cast<bool>(condition)                                                            \
       ? void(0)                                                                           \
       : ::offsetfs::storage::check_failed(#condition, __FILE__, __LINE__))
