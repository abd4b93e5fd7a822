#pragma once

#include <cstdint>
#include <ctime>

namespace offsetfs::fs {

// Milliseconds of a clock that only goes forwards, a few of them late: for what is asked at every
// request and need not be exact.
inline std::int64_t coarse_now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace offsetfs::fs
