#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace offsetfs::fs {

// What a mount was asked for: counters that cost a request next to nothing. Any thread.
class Stats {
 public:
  enum class Counter : std::uint8_t {
    kLookups,
    kGetattrs,
    kReadlinks,
    kOpens,
    kSlowOpens,
    kReads,
    kReadBytes,
    kListings,
    kListedNames,
    kXattrs,
    kWrites,
    kWrittenBytes,
    kFailures,  // answers that are errors for another reason than that nothing is there
  };
  static constexpr std::size_t kCounters = 13;

  void add(Counter counter, std::uint64_t n = 1) {
    cells_[static_cast<std::size_t>(counter)].value.fetch_add(n, std::memory_order_relaxed);
  }
  std::uint64_t get(Counter counter) const {
    return cells_[static_cast<std::size_t>(counter)].value.load(std::memory_order_relaxed);
  }

  // A line each, name and value.
  std::string text() const;

 private:
  struct alignas(64) Cell {  // a cache line each: threads that count different things don't meet
    std::atomic<std::uint64_t> value = 0;
  };
  std::array<Cell, kCounters> cells_;
};

// One line of `stats`. All are of one length, whatever they count: so the size of the file is known
// before it is read, and who copies it does not find that it changed.
void add_stat(std::string& text, const char* name, std::uint64_t value);

}  // namespace offsetfs::fs
