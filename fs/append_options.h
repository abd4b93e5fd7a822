#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "storage/batch_header.h"

namespace offsetfs::fs {

// How records become batches: what a producer's settings of these names say. Plain values: mount/
// parses and checks them.
struct AppendOptions {
  // A batch is closed when it has so many bytes, before they are compressed (`batch.bytes`).
  std::int64_t batch_bytes = 16'384;
  // How long a batch waits for more (`linger.ms`). 0: what a write brings is in the log when the
  // write returns.
  std::int64_t linger_ms = 0;
  // `compression`; nothing: the topic's compression.type, or none where that leaves it to
  // producers.
  std::optional<storage::Codec> codec;
  // Between key and value of a plain line (`key_separator`); empty: lines have no keys.
  std::string key_separator;
  // A directory with a broker's meta.properties may be written (`force`).
  bool force = false;
};

}  // namespace offsetfs::fs
