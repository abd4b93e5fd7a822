#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "fs/log_sink.h"
#include "fs/read_buffers.h"
#include "fs/scan_pool.h"
#include "fs/single_flight_cache.h"
#include "storage/problems.h"
#include "storage/record_batch.h"
#include "storage/units.h"

namespace offsetfs::fs {

// A batch by what it is rather than by whose it is: a file's numbers may come again, with other
// bytes in it.
struct BatchKey {
  std::uint64_t stream = 0;
  std::uint32_t piece = 0;
  std::uint32_t crc = 0;
  std::int64_t position = 0;
  std::int64_t base_offset = 0;
  std::int32_t ordinal = -1;  // of a record: for its line

  friend bool operator==(const BatchKey&, const BatchKey&) = default;
};

struct BatchKeyHash {
  std::size_t operator()(const BatchKey& key) const noexcept {
    const auto mix = (key.stream * 0x9e3779b97f4a7c15U) ^ static_cast<std::uint64_t>(key.position) ^
                     (static_cast<std::uint64_t>(key.crc) << 32) ^
                     static_cast<std::uint64_t>(key.ordinal + 1) * 0xff51afd7ed558ccdU;
    return std::hash<std::uint64_t>{}(mix);
  }
};

// What the streams of a mount share. Any thread.
struct StreamResources {
  StreamResources(storage::DecodeLimits decode_limits, std::size_t batches_bytes, int scan_threads,
                  storage::Problems& where_problems_go, std::function<bool()> broker_at_work = {})
      : limits(decode_limits),
        problems(where_problems_go),
        batches(batches_bytes),
        big_lines(batches_bytes),
        is_broker_at_work(broker_at_work),
        scans(scan_threads, std::move(broker_at_work)) {}

  const storage::DecodeLimits limits;
  storage::Problems& problems;
  SingleFlightCache<BatchKey, storage::DecodedBatch, BatchKeyHash> batches;
  SingleFlightCache<BatchKey, std::string, BatchKeyHash> big_lines;
  ReadBufferPool buffers;
  std::atomic<std::uint64_t> next_stream{1};
  std::atomic<std::uint64_t> scans_begun{0};
  std::atomic<std::uint64_t> scanned_bytes{0};
  std::atomic<std::uint64_t> batches_decoded{0};
  const std::function<bool()> is_broker_at_work;  // may be null
  LogSink log;                                    // set before it is used; may be empty
  // How many more segments may be held open ahead of readers: see log_pieces.h.
  std::atomic<std::int64_t> room_ahead{64};
  ScanPool scans;  // last: its threads use the others
};

}  // namespace offsetfs::fs
