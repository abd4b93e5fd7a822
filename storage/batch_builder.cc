#include "storage/batch_builder.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "storage/byte_reader.h"
#include "storage/check.h"
#include "storage/codec.h"
#include "storage/crc32c.h"
#include "storage/varint.h"

namespace offsetfs::storage {
namespace {

constexpr auto kHeaderBytes = static_cast<std::size_t>(BatchHeader::kV2HeaderBytes);

// Positions of the header's fields.
constexpr std::size_t kBaseOffsetAt = 0;
constexpr std::size_t kBatchLengthAt = 8;
constexpr std::size_t kLeaderEpochAt = 12;
constexpr std::size_t kMagicAt = 16;
constexpr std::size_t kCrcAt = 17;
constexpr std::size_t kAttributesAt = 21;  // what the CRC covers begins here
constexpr std::size_t kLastOffsetDeltaAt = 23;
constexpr std::size_t kBaseTimestampAt = 27;
constexpr std::size_t kMaxTimestampAt = 35;
constexpr std::size_t kProducerIdAt = 43;
constexpr std::size_t kProducerEpochAt = 51;
constexpr std::size_t kBaseSequenceAt = 53;
constexpr std::size_t kRecordsCountAt = 57;

constexpr std::int16_t kLogAppendTimeBit = 0x08;
constexpr std::int16_t kTransactionalBit = 0x10;
constexpr std::int16_t kControlBit = 0x20;
constexpr std::int16_t kDeleteHorizonBit = 0x40;

std::int16_t attributes_of(const BatchBuilder::Options& options, bool has_records) {
  // An emptied batch has neither codec nor horizon.
  auto attributes = static_cast<std::int16_t>(has_records ? options.codec : Codec::kNone);
  const auto set = [&](std::int16_t bit) {
    attributes = static_cast<std::int16_t>(attributes | bit);
  };
  if (options.timestamp_type == TimestampType::kLogAppendTime) set(kLogAppendTimeBit);
  if (options.is_transactional) set(kTransactionalBit);
  if (options.is_control) set(kControlBit);
  if (options.delete_horizon && has_records) set(kDeleteHorizonBit);
  return attributes;
}

void store_crc(std::span<char> batch) {
  const Bytes summed(batch.data() + kAttributesAt, batch.size() - kAttributesAt);
  store_big_endian(batch.data() + kCrcAt, crc32c(summed));
}

// Lengths are 32 bits wide; what is longer fits no batch.
std::int32_t length_of(Bytes bytes) {
  CHECK(bytes.size() <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()));
  return static_cast<std::int32_t>(bytes.size());
}

std::size_t nullable_bytes(const std::optional<Bytes>& bytes) {
  return bytes ? varint_bytes(length_of(*bytes)) + bytes->size() : 1;
}

char* put_bytes(char* at, Bytes bytes) {
  at = put_varint(at, static_cast<std::int32_t>(bytes.size()));
  std::memcpy(at, bytes.data(), bytes.size());
  return at + bytes.size();
}

char* put_nullable(char* at, const std::optional<Bytes>& bytes) {
  return bytes ? put_bytes(at, *bytes) : put_varint(at, -1);
}

std::size_t headers_bytes(std::span<const RecordHeader> headers) {
  std::size_t sum = varint_bytes(static_cast<std::int32_t>(headers.size()));
  for (const RecordHeader& header : headers)
    sum += nullable_bytes(header.key) + nullable_bytes(header.value);
  return sum;
}

}  // namespace

void BatchBuilder::start(const Options& options) {
  CHECK(options.timestamp_type != TimestampType::kNone);
  options_ = options;
  next_offset_ = options.base_offset;
  records_count_ = 0;
  base_timestamp_ = kNoTimestamp;
  max_timestamp_ = kNoTimestamp;
  used_ = 0;
  room_for(kHeaderBytes);
  used_ = kHeaderBytes;
}

void BatchBuilder::add(TimestampMs timestamp, std::optional<Bytes> key, std::optional<Bytes> value,
                       std::span<const RecordHeader> headers) {
  add_at(next_offset_, timestamp, key, value, headers);
}

void BatchBuilder::add_at(Offset offset, TimestampMs timestamp, std::optional<Bytes> key,
                          std::optional<Bytes> value, std::span<const RecordHeader> headers) {
  const std::int64_t offset_delta = offset - options_.base_offset;
  CHECK(offset >= next_offset_);
  CHECK(offset_delta <= std::numeric_limits<std::int32_t>::max());
  CHECK(timestamp >= kNoTimestamp);
  if (records_count_ == 0) base_timestamp_ = options_.delete_horizon.value_or(timestamp);
  max_timestamp_ = std::max(max_timestamp_, timestamp);

  const auto delta = static_cast<std::int32_t>(offset_delta);
  // From -1 to the last moment is one more than fits: it wraps, and so does the reader's sum.
  const auto timestamp_delta =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(timestamp.value) -
                                static_cast<std::uint64_t>(base_timestamp_.value));
  const std::size_t body = 1 + varlong_bytes(timestamp_delta) + varint_bytes(delta) +
                           nullable_bytes(key) + nullable_bytes(value) + headers_bytes(headers);
  CHECK(body <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()));
  char* at = room_for(kMostVarintBytes + body);
  const char* const begin = at;
  at = put_varint(at, static_cast<std::int32_t>(body));
  *at++ = 0;  // attributes
  at = put_varlong(at, timestamp_delta);
  at = put_varint(at, delta);
  at = put_nullable(at, key);
  at = put_nullable(at, value);
  at = put_varint(at, static_cast<std::int32_t>(headers.size()));
  for (const RecordHeader& header : headers)
    at = put_nullable(put_bytes(at, header.key), header.value);
  used_ += static_cast<std::size_t>(at - begin);
  ++records_count_;
  next_offset_ = offset + 1;
}

// Grown by doubling; nothing is cleared that is about to be written twice.
char* BatchBuilder::room_for(std::size_t count) {
  if (plain_.size() - used_ < count) plain_.resize(std::max(used_ + count, plain_.size() * 2));
  return plain_.data() + used_;
}

std::span<char> BatchBuilder::finish() {
  const bool has_records = records_count_ > 0;
  CHECK(has_records || options_.last_offset);
  if (!has_records || options_.codec == Codec::kNone) {
    fill_header(plain_.data(), used_);
    return {plain_.data(), used_};
  }
  compressed_.resize(kHeaderBytes);
  compress(options_.codec, Bytes(plain_).substr(kHeaderBytes, used_ - kHeaderBytes), compressed_);
  fill_header(compressed_.data(), compressed_.size());
  return compressed_;
}

std::string BatchBuilder::build() {
  const std::span<char> batch = finish();
  return {batch.data(), batch.size()};
}

void BatchBuilder::fill_header(char* batch, std::size_t size) const {
  const std::size_t length = size - static_cast<std::size_t>(BatchHeader::kLogOverheadBytes);
  CHECK(length <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()));
  const Offset last_offset = options_.last_offset.value_or(next_offset_ - 1);
  CHECK(last_offset >= next_offset_ - 1 && last_offset >= options_.base_offset);
  const std::int64_t last_offset_delta = last_offset - options_.base_offset;
  CHECK(last_offset_delta <= std::numeric_limits<std::int32_t>::max());

  store_big_endian(batch + kBaseOffsetAt, options_.base_offset.value);
  store_big_endian(batch + kBatchLengthAt, static_cast<std::int32_t>(length));
  store_big_endian(batch + kLeaderEpochAt, options_.leader_epoch.value);
  store_big_endian(batch + kMagicAt, std::int8_t{2});
  store_big_endian(batch + kAttributesAt, attributes_of(options_, records_count_ > 0));
  store_big_endian(batch + kLastOffsetDeltaAt, static_cast<std::int32_t>(last_offset_delta));
  store_big_endian(batch + kBaseTimestampAt, base_timestamp_.value);
  store_big_endian(batch + kMaxTimestampAt, options_.max_timestamp.value_or(max_timestamp_).value);
  store_big_endian(batch + kProducerIdAt, options_.producer_id);
  store_big_endian(batch + kProducerEpochAt, options_.producer_epoch);
  store_big_endian(batch + kBaseSequenceAt, options_.base_sequence);
  store_big_endian(batch + kRecordsCountAt, records_count_);
  store_crc({batch, size});
}

void assign_offsets(std::span<char> batch, Offset base_offset, LeaderEpoch leader_epoch) {
  CHECK(batch.size() >= kHeaderBytes);
  store_big_endian(batch.data() + kBaseOffsetAt, base_offset.value);
  store_big_endian(batch.data() + kLeaderEpochAt, leader_epoch.value);
}

void assign_append_time(std::span<char> batch, TimestampMs append_time) {
  CHECK(batch.size() >= kHeaderBytes);
  const auto attributes = load_big_endian<std::int16_t>(batch.data() + kAttributesAt);
  store_big_endian(batch.data() + kAttributesAt,
                   static_cast<std::int16_t>(attributes | kLogAppendTimeBit));
  store_big_endian(batch.data() + kMaxTimestampAt, append_time.value);
  store_crc(batch);
}

std::string build_marker(const TransactionMarker& marker, Offset offset, LeaderEpoch leader_epoch) {
  BatchBuilder::Options options;
  options.base_offset = offset;
  options.leader_epoch = leader_epoch;
  options.producer_id = marker.producer_id;
  options.producer_epoch = marker.producer_epoch;
  options.is_transactional = true;
  options.is_control = true;
  // key := version: i16 = 0, type: i16    value := version: i16 = 0, coordinator epoch: i32
  char key[4] = {};
  char value[6] = {};
  store_big_endian(key + 2, static_cast<std::int16_t>(marker.is_commit ? 1 : 0));
  store_big_endian(value + 2, marker.coordinator_epoch);
  BatchBuilder builder(options);
  builder.add(marker.timestamp, Bytes(key, sizeof key), Bytes(value, sizeof value));
  return builder.build();
}

}  // namespace offsetfs::storage
