#include "storage/batch_header.h"

#include <limits>

#include "storage/byte_reader.h"
#include "storage/crc32c.h"

namespace offsetfs::storage {
namespace {

// Where the CRC is stored, and where what it covers begins.
constexpr std::size_t kV2CrcFrom = 21;
constexpr std::size_t kLegacyCrcFrom = 16;
// The least of the size field: what no entry of that magic can do without.
constexpr std::int32_t kLeastSizeField = 14;
constexpr std::int32_t kLeastV1SizeField = 22;
constexpr std::int32_t kLeastV2SizeField = BatchHeader::kV2HeaderBytes - 12;

HeaderStatus damaged(std::string* why, std::string text) {
  if (why != nullptr) *why = std::move(text);
  return HeaderStatus::kDamaged;
}

std::string unlike(const char* field, std::int64_t found, const std::string& expected) {
  return std::string(field) + " " + std::to_string(found) + ", expected " + expected;
}

std::int32_t least_size_field(std::int8_t magic) {
  if (magic == 0) return kLeastSizeField;
  return magic == 1 ? kLeastV1SizeField : kLeastV2SizeField;
}

HeaderStatus parse_legacy(ByteReader in, BatchHeader& header) {
  header.crc = in.u32();
  in.skip(1);  // magic
  header.attributes = static_cast<std::uint8_t>(in.i8());
  header.max_timestamp = header.magic == 1 ? TimestampMs{in.i64()} : kNoTimestamp;
  header.base_timestamp = header.max_timestamp;
  if (!in.ok()) return HeaderStatus::kNeedMore;
  header.last_offset = header.base_offset;
  header.leader_epoch = kNoLeaderEpoch;
  header.producer_id = -1;
  header.producer_epoch = -1;
  header.base_sequence = -1;
  header.records_count = -1;
  return HeaderStatus::kOk;
}

HeaderStatus parse_v2(ByteReader in, BatchHeader& header, std::string* why) {
  header.leader_epoch = {in.i32()};
  in.skip(1);  // magic
  header.crc = in.u32();
  header.attributes = in.i16();
  const std::int32_t last_offset_delta = in.i32();
  header.base_timestamp = {in.i64()};
  header.max_timestamp = {in.i64()};
  header.producer_id = in.i64();
  header.producer_epoch = in.i16();
  header.base_sequence = in.i32();
  header.records_count = in.i32();
  if (!in.ok()) return HeaderStatus::kNeedMore;
  if (last_offset_delta < 0)
    return damaged(why, unlike("last offset delta", last_offset_delta, "0 or more"));
  if (header.base_offset.value > std::numeric_limits<std::int64_t>::max() - last_offset_delta - 1)
    return damaged(why, unlike("base offset", header.base_offset.value, "room for the batch"));
  header.last_offset = header.base_offset + last_offset_delta;
  // Compaction takes records away and leaves the offsets' range: fewer is normal, more can't be.
  const std::int64_t most = std::int64_t{last_offset_delta} + 1;
  if (header.records_count < 0 || header.records_count > most)
    return damaged(why,
                   unlike("records count", header.records_count, "0 to " + std::to_string(most)));
  return HeaderStatus::kOk;
}

}  // namespace

const char* codec_name(Codec codec) {
  switch (codec) {
    case Codec::kNone: return "none";
    case Codec::kGzip: return "gzip";
    case Codec::kSnappy: return "snappy";
    case Codec::kLz4: return "lz4";
    case Codec::kZstd: return "zstd";
  }
  return "unknown";
}

HeaderStatus parse_batch_header(Bytes bytes, BatchHeader& header, std::string* why) {
  if (bytes.size() < static_cast<std::size_t>(BatchHeader::kPrefixBytes))
    return HeaderStatus::kNeedMore;
  ByteReader in(bytes);
  header.base_offset = {in.i64()};
  const std::int32_t size_field = in.i32();
  header.magic = static_cast<std::int8_t>(bytes[BatchHeader::kPrefixBytes - 1]);
  header.size_bytes = BatchHeader::kLogOverheadBytes + size_field;

  if (size_field == 0 && header.base_offset.value == 0) return HeaderStatus::kZeros;
  if (size_field < kLeastSizeField)
    return damaged(why, unlike("size", size_field, "at least " + std::to_string(kLeastSizeField)));
  if (header.magic < 0 || header.magic > 2)
    return damaged(why, unlike("magic", header.magic, "0, 1 or 2"));
  const std::int32_t least = least_size_field(header.magic);
  if (size_field < least)
    return damaged(why, unlike("size", size_field, "at least " + std::to_string(least)));
  if (header.base_offset.value < 0 ||
      header.base_offset.value == std::numeric_limits<std::int64_t>::max())
    return damaged(why, unlike("offset", header.base_offset.value, "0 or more"));
  return header.is_v2() ? parse_v2(in, header, why) : parse_legacy(in, header);
}

bool is_whole_batch(Bytes bytes, std::int64_t left, BatchHeader& header) {
  return parse_batch_header(bytes, header, nullptr) == HeaderStatus::kOk &&
         header.size_bytes <= left;
}

std::uint32_t compute_batch_crc(const BatchHeader& header, Bytes entry) {
  return header.is_v2() ? crc32c(entry.substr(kV2CrcFrom)) : crc32(entry.substr(kLegacyCrcFrom));
}

}  // namespace offsetfs::storage
