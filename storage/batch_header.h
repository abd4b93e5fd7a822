#pragma once

#include <cstdint>
#include <string>

#include "storage/result.h"
#include "storage/units.h"

// The header of one entry of a `.log`: a record batch of magic 2, or a message of magic 0 or 1
// (plain, or a wrapper whose value holds compressed messages). Big-endian throughout.
//
//   magic 2   base_offset: i64  batch_length: i32  partition_leader_epoch: i32  magic: i8
//             crc: u32 (CRC-32C of all that follows)  attributes: i16  last_offset_delta: i32
//             base_timestamp: i64  max_timestamp: i64  producer_id: i64  producer_epoch: i16
//             base_sequence: i32  records_count: i32  records                        (61 bytes)
//   magic 1   offset: i64  size: i32  crc: u32 (CRC-32 of all that follows)  magic: i8
//             attributes: i8  timestamp: i64  key: i32 + bytes  value: i32 + bytes
//   magic 0   the same without the timestamp
//
// Source: Kafka's DefaultRecordBatch, LegacyRecord.

namespace offsetfs::storage {

enum class Codec : std::uint8_t { kNone = 0, kGzip = 1, kSnappy = 2, kLz4 = 3, kZstd = 4 };
const char* codec_name(Codec codec);  // "none", "gzip", "snappy", "lz4", "zstd"

enum class TimestampType : std::uint8_t { kNone, kCreateTime, kLogAppendTime };

struct BatchHeader {
  static constexpr std::int64_t kPrefixBytes = 17;    // up to and with magic: enough for size_bytes
  static constexpr std::int64_t kV2HeaderBytes = 61;
  static constexpr std::int64_t kLogOverheadBytes = 12;  // base_offset and batch_length

  std::int8_t magic = 2;
  // Magic 2: of the first record ever put in the batch. Magic 0 and 1: equal to last_offset, since
  // the header of a wrapper names its last message; the first is known after decompression only.
  Offset base_offset{};
  Offset last_offset{};            // inclusive; never derived from the records
  std::int64_t size_bytes = 0;     // of the whole entry, header included
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  std::uint32_t crc = 0;           // as stored
  std::int16_t attributes = 0;
  TimestampMs base_timestamp = kNoTimestamp;  // the delete horizon if has_delete_horizon()
  TimestampMs max_timestamp = kNoTimestamp;   // magic 1: the message's; magic 0: none
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = -1;
  std::int32_t base_sequence = -1;
  std::int32_t records_count = -1;  // magic 0 and 1: -1, unknown before decompression

  bool is_v2() const { return magic >= 2; }
  Offset next_offset() const { return last_offset + 1; }
  int codec_id() const { return attributes & 7; }  // 5..7 exist in no Kafka
  TimestampType timestamp_type() const {
    if (magic == 0) return TimestampType::kNone;
    return (attributes & 8) != 0 ? TimestampType::kLogAppendTime : TimestampType::kCreateTime;
  }
  bool is_transactional() const { return is_v2() && (attributes & 0x10) != 0; }
  bool is_control() const { return is_v2() && (attributes & 0x20) != 0; }
  bool has_delete_horizon() const { return is_v2() && (attributes & 0x40) != 0; }
  bool has_producer() const { return producer_id >= 0; }
};

enum class HeaderStatus {
  kOk,
  kNeedMore,   // `bytes` is shorter than the header of its magic
  kZeros,      // a size of 0 and an offset of 0: space that was never written
  kDamaged,    // a size, magic, delta or count that cannot be
};

// Reads the header at the front of `bytes` (17 bytes decide on kNeedMore; 61 are enough for every
// magic, and a legacy entry needs its first 34 at most). `why` gets the reason of kDamaged; may be
// null. Nothing behind the header is looked at: no CRC.
HeaderStatus parse_batch_header(Bytes bytes, BatchHeader& header, std::string* why);

// True if a header stands at the front of `bytes` whose batch ends within the next `left` bytes.
bool is_whole_batch(Bytes bytes, std::int64_t left, BatchHeader& header);

// The CRC over `entry` (the whole of it, header.size_bytes long) as its magic wants it.
std::uint32_t compute_batch_crc(const BatchHeader& header, Bytes entry);

}  // namespace offsetfs::storage
