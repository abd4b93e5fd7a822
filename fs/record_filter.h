#pragma once

#include <cstdint>

#include "storage/batch_header.h"
#include "storage/record.h"
#include "storage/units.h"

namespace offsetfs::fs {

// Which records a stream shows. A value.
struct RecordFilter {
  bool show_control = false;
  storage::Offset from{0};
  storage::Offset to{INT64_MAX};  // exclusive
  bool timed = false;             // from_time <= timestamp < to_time, and never one without a time
  storage::TimestampMs from_time{INT64_MIN};
  storage::TimestampMs to_time{INT64_MAX};

  // False only if no record of the batch can pass. Whether a batch holds an earlier time than its
  // greatest can't be told from its header, so of times only this one bound is used; and not for
  // magic 1, where wrappers are known whose messages bear other times.
  bool may_pass(const storage::BatchHeader& header) const {
    if (header.records_count == 0 || (header.is_control() && !show_control)) return false;
    if (header.last_offset < from) return false;
    if (header.is_v2() && header.base_offset >= to) return false;
    if (!timed || !header.is_v2()) return true;
    if (header.max_timestamp < from_time) return false;
    return header.timestamp_type() != storage::TimestampType::kLogAppendTime ||
           header.max_timestamp < to_time;
  }

  // True only if every record of the batch passes, control or not.
  bool passes_all(const storage::BatchHeader& header) const {
    return !timed && header.is_v2() && header.base_offset >= from && header.last_offset < to;
  }

  bool passes(const storage::Record& record) const {
    if (record.offset < from || record.offset >= to) return false;
    if (!timed) return true;
    return record.timestamp != storage::kNoTimestamp && record.timestamp >= from_time &&
           record.timestamp < to_time;
  }
};

}  // namespace offsetfs::fs
