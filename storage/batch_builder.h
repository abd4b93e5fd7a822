#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "storage/batch_header.h"
#include "storage/record.h"
#include "storage/units.h"

namespace offsetfs::storage {

// Makes record batches of magic 2, one after the other, and keeps its buffers between them. The
// layout is that of batch_header.h and record_batch.h; the records are compressed at the end, as
// one stream, header and count never. One thread.
class BatchBuilder {
 public:
  struct Options {
    Codec codec = Codec::kNone;
    Offset base_offset{};
    LeaderEpoch leader_epoch = kNoLeaderEpoch;
    TimestampType timestamp_type = TimestampType::kCreateTime;  // not kNone
    std::int64_t producer_id = -1;
    std::int16_t producer_epoch = -1;
    std::int32_t base_sequence = -1;
    bool is_transactional = false;
    bool is_control = false;
    // For compaction. Kept where later records were taken away; where a batch has no record left
    // (it then has to be set); where tombstones wait for their horizon.
    std::optional<Offset> last_offset;
    std::optional<TimestampMs> delete_horizon;
    // Else the largest of the records: the append time, or what an emptied batch remembers.
    std::optional<TimestampMs> max_timestamp;
  };

  BatchBuilder() : BatchBuilder(Options{}) {}
  explicit BatchBuilder(const Options& options) { start(options); }

  // Begins another batch. What finish() gave is no longer valid.
  void start(const Options& options);

  // At the offset after the last one. `timestamp`: -1 or more.
  void add(TimestampMs timestamp, std::optional<Bytes> key, std::optional<Bytes> value,
           std::span<const RecordHeader> headers = {});
  // At an offset beyond the last one, as after compaction.
  void add_at(Offset offset, TimestampMs timestamp, std::optional<Bytes> key,
              std::optional<Bytes> value, std::span<const RecordHeader> headers = {});

  std::int32_t records_count() const { return records_count_; }
  // The batch as it stands, were it not compressed.
  std::size_t size_bytes() const { return used_; }

  // The whole batch. Valid until start() or the end of this; may be changed in place, see below. To
  // be called once a batch. CHECKs that there are records, or last_offset and no records at all.
  std::span<char> finish();
  std::string build();  // a copy of that

 private:
  char* room_for(std::size_t count);
  void fill_header(char* batch, std::size_t size) const;

  Options options_;
  Offset next_offset_{};
  std::int32_t records_count_ = 0;
  TimestampMs base_timestamp_ = kNoTimestamp;
  TimestampMs max_timestamp_ = kNoTimestamp;
  std::string plain_;  // room for the header, then the records; filled up to used_
  std::size_t used_ = 0;
  std::string compressed_;  // the same, compressed
};

// What a broker does to a producer's batch when it appends it. Precondition of both: `batch` is a
// whole batch of magic 2.

// Outside the CRC. The offsets of the records follow, as they are relative.
void assign_offsets(std::span<char> batch, Offset base_offset, LeaderEpoch leader_epoch);
// Marks the batch LogAppendTime; the records keep the producer's times, which nobody looks at then.
void assign_append_time(std::span<char> batch, TimestampMs append_time);

// A transaction's end: a control batch of one record.
struct TransactionMarker {
  bool is_commit = true;
  std::int64_t producer_id = 0;
  std::int16_t producer_epoch = 0;
  std::int32_t coordinator_epoch = 0;
  TimestampMs timestamp{};
};
std::string build_marker(const TransactionMarker& marker, Offset offset, LeaderEpoch leader_epoch);

}  // namespace offsetfs::storage
