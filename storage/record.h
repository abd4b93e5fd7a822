#pragma once

#include <cstdint>
#include <optional>

#include "storage/batch_header.h"
#include "storage/units.h"

namespace offsetfs::storage {

// One header of a record. A null value is not an empty one.
struct RecordHeader {
  Bytes key;
  std::optional<Bytes> value;
};

// The headers of a record, in order, duplicates kept: a view that is parsed as it is walked.
class RecordHeaders {
 public:
  RecordHeaders() = default;
  // `encoded`: count times (key length: vi, key, value length: vi, value), checked by whoever made
  // the record to be exactly that.
  RecordHeaders(std::int32_t count, Bytes encoded) : count_(count), encoded_(encoded) {}

  std::int32_t count() const { return count_; }
  bool empty() const { return count_ == 0; }

  // Takes the next header off the front of this view. Precondition: not empty.
  RecordHeader pop_front();

 private:
  std::int32_t count_ = 0;
  Bytes encoded_;
};

// One record as a view into the bytes of its (decompressed) batch: valid as long as those are.
struct Record {
  Offset offset{};
  TimestampMs timestamp = kNoTimestamp;  // what a consumer sees: LogAppendTime already applied
  TimestampType timestamp_type = TimestampType::kNone;
  std::int32_t sequence = -1;
  std::optional<Bytes> key;    // null is not empty
  std::optional<Bytes> value;  // null: a tombstone
  RecordHeaders headers;
};

}  // namespace offsetfs::storage
