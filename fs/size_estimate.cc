#include "fs/size_estimate.h"

#include <algorithm>

namespace offsetfs::fs {

namespace {

// Text compresses to a fifth or so; more is rare.
constexpr std::int64_t kExpansion = 8;
// Offset, time and separators; a record takes at least 7 bytes of the log beside key and value.
constexpr std::int64_t kTsvLineBytes = 48;
// The names of the fields, offset, time, partition, broker.
constexpr std::int64_t kJsonLineBytes = 176;
constexpr std::int64_t kBatchLineBytes = 640;
constexpr std::int64_t kLeastRecordBytes = 7;

std::int64_t payload_bytes(const LogMeasures& measures) {
  const bool compressed = measures.first_batch && measures.first_batch->codec_id() != 0;
  return compressed ? measures.log_bytes * kExpansion : measures.log_bytes;
}

}  // namespace

std::int64_t estimate_stream_size(Form form, const LogMeasures& measures) {
  if (measures.log_bytes == 0) return 0;
  const std::int64_t payload = payload_bytes(measures);
  const std::int64_t records =
      std::clamp<std::int64_t>(measures.most_records, 0, payload / kLeastRecordBytes);
  switch (form) {
    case Form::kTsv: return payload + payload / 4 + records * kTsvLineBytes + 64;
    case Form::kJsonl:
      // Quotes and newlines take two bytes, what is no UTF-8 four for three.
      return payload + payload / 2 +
             records * (kJsonLineBytes + static_cast<std::int64_t>(measures.topic_bytes));
    default: return payload;
  }
}

std::int64_t estimate_batches_size(const LogMeasures& measures) {
  if (measures.log_bytes == 0) return 0;
  const std::int64_t first = measures.first_batch ? measures.first_batch->size_bytes : 61;
  const std::int64_t batches = measures.log_bytes / std::max<std::int64_t>(61, first / 4) + 1;
  return batches * kBatchLineBytes;
}

}  // namespace offsetfs::fs
