#include "storage/record_batch.h"

#include <algorithm>
#include <limits>

#include "storage/byte_reader.h"
#include "storage/codec.h"
#include "storage/crc32c.h"
#include "storage/varint.h"

namespace offsetfs::storage {
namespace {

constexpr int kLastCodec = static_cast<int>(Codec::kZstd);

Result<Codec> codec_of(const BatchHeader& header) {
  const int last = header.is_v2() ? kLastCodec : static_cast<int>(Codec::kLz4);
  if (header.codec_id() > last)
    return fail(Errc::kUnsupported, "codec " + std::to_string(header.codec_id()) + " in magic " +
                                        std::to_string(header.magic));
  return static_cast<Codec>(header.codec_id());
}

// A cursor over the fields of one v2 record. Every step says whether the field fitted.
struct FieldCursor {
  const char* at;
  const char* const end;

  bool skip_attributes() { return at++ != end; }
  bool varint(std::int32_t& value) {
    const char* const next = decode_varint(at, end, value);
    if (next == nullptr) [[unlikely]]
      return false;
    at = next;
    return true;
  }
  bool varlong(std::int64_t& value) {
    const char* const next = decode_varlong(at, end, value);
    if (next == nullptr) [[unlikely]]
      return false;
    at = next;
    return true;
  }
  bool nullable_bytes(std::optional<Bytes>& bytes) {
    std::int32_t length = 0;
    if (!varint(length)) [[unlikely]]
      return false;
    if (length < 0) {
      bytes.reset();
      return length == -1;
    }
    if (length > end - at) [[unlikely]]
      return false;
    bytes.emplace(at, static_cast<std::size_t>(length));
    at += length;
    return true;
  }
};

// Up to three bytes, unchecked: what fields take in all but odd records. False: longer.
bool take_short(const char*& at, std::uint32_t& raw) {
  const auto byte = [&](int i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(at[i]));
  };
  raw = byte(0);
  if (raw < 0x80) {
    at += 1;
    return true;
  }
  raw = (raw & 0x7f) | byte(1) << 7;
  if (raw < 0x80 << 7) {
    at += 2;
    return true;
  }
  raw = (raw & 0x3fff) | byte(2) << 14;
  at += 3;
  return raw < 0x80 << 14;
}

// Takes `nullable bytes` if as much as `ahead` bytes are left behind them.
bool take_bytes(const char*& at, const char* end, std::size_t ahead, std::optional<Bytes>& bytes) {
  std::uint32_t raw = 0;
  if (!take_short(at, raw)) [[unlikely]]
    return false;
  if (raw == 1) {
    bytes.reset();
    return true;
  }
  const std::size_t length = raw >> 1;
  if ((raw & 1) != 0 || length + ahead > static_cast<std::size_t>(end - at)) [[unlikely]]
    return false;
  bytes.emplace(at, length);
  at += length;
  return true;
}

// The headers must fill the rest of the record exactly.
bool parse_headers(FieldCursor& fields, RecordHeaders& headers) {
  std::int32_t count = 0;
  if (!fields.varint(count)) return false;
  const char* const begin = fields.at;
  if (count == 0) [[likely]] {
    headers = {};
    return fields.at == fields.end;
  }
  if (count < 0 || count > fields.end - fields.at) return false;
  std::optional<Bytes> ignored;
  for (std::int32_t i = 0; i < count; ++i) {
    std::optional<Bytes> key;
    if (!fields.nullable_bytes(key) || !key || !fields.nullable_bytes(ignored)) return false;
  }
  headers = {count, Bytes(begin, static_cast<std::size_t>(fields.at - begin))};
  return fields.at == fields.end;
}

// One message of magic 0 or 1, plain or inside a wrapper.
struct LegacyMessage {
  std::int64_t offset = 0;
  std::int8_t magic = 0;
  int codec_id = 0;
  std::int64_t timestamp = kNoTimestamp.value;
  std::optional<Bytes> key;
  std::optional<Bytes> value;
};

bool read_nullable(ByteReader& in, std::optional<Bytes>& bytes) {
  const std::int32_t length = in.i32();
  bytes.reset();
  if (length >= 0) bytes = in.bytes(length);
  return in.ok() && length >= -1;
}

// `entry`: offset and size included, exactly as long as the size says.
bool parse_message(Bytes entry, LegacyMessage& message) {
  ByteReader in(entry);
  message.offset = in.i64();
  in.skip(8);  // size, CRC
  message.magic = in.i8();
  message.codec_id = in.i8() & 7;
  message.timestamp = message.magic == 1 ? in.i64() : kNoTimestamp.value;
  return read_nullable(in, message.key) && read_nullable(in, message.value) &&
         in.remaining() == 0 && (message.magic == 0 || message.magic == 1);
}

// The whole entry at the front of `bytes`; nothing if it is cut off there.
Result<std::optional<Bytes>> front_entry(Bytes bytes) {
  constexpr auto kOverhead = static_cast<std::size_t>(BatchHeader::kLogOverheadBytes);
  constexpr std::int32_t kLeast = 14;
  if (bytes.size() < kOverhead) return std::nullopt;
  const auto size = load_big_endian<std::int32_t>(bytes.data() + 8);
  if (size < kLeast)
    return fail(Errc::kCorrupt, "an inner message of " + std::to_string(size) + " bytes");
  if (bytes.size() - kOverhead < static_cast<std::size_t>(size)) return std::nullopt;
  return bytes.substr(0, kOverhead + static_cast<std::size_t>(size));
}

}  // namespace

Result<RecordReader> RecordReader::open(const BatchHeader& header, Bytes entry,
                                        std::string& scratch, const DecodeLimits& limits) {
  // Positions in the records section are kept in 32 bits.
  const std::int64_t limit =
      std::min<std::int64_t>(limits.decompressed_bytes, std::numeric_limits<std::uint32_t>::max());
  RecordReader reader;
  reader.header_ = header;
  reader.first_offset_ = header.base_offset;
  RETURN_IF_ERROR(header.is_v2() ? reader.open_v2(entry, scratch, limit)
                                 : reader.open_legacy(entry, scratch, limit));
  return reader;
}

Result<void> RecordReader::open_v2(Bytes entry, std::string& scratch, std::int64_t limit) {
  records_count_ = header_.records_count;
  timestamp_type_ = header_.timestamp_type();
  last_delta_ = static_cast<std::int32_t>(header_.last_offset - header_.base_offset);
  // What compaction emptied: Kafka does not look at the section then, whatever the codec bits say.
  if (records_count_ == 0) return {};
  ASSIGN_OR_RETURN(const Codec codec, codec_of(header_));
  const Bytes stored = entry.substr(static_cast<std::size_t>(BatchHeader::kV2HeaderBytes));
  ASSIGN_OR_RETURN(section_, decompress(codec, stored, scratch, limit));

  RecordReader peek(*this);
  Record first;
  if (peek.next_v2(first) == Step::kRecord) first_offset_ = first.offset;
  return {};
}

RecordReader RecordReader::over_part(const BatchHeader& header, Bytes part, std::int32_t ordinal) {
  RecordReader reader;
  reader.header_ = header;
  reader.section_ = part;
  reader.ordinal_ = ordinal;
  reader.records_count_ = header.records_count;
  reader.timestamp_type_ = header.timestamp_type();
  reader.last_delta_ = static_cast<std::int32_t>(header.last_offset - header.base_offset);
  reader.first_offset_ = header.base_offset;
  return reader;
}

Result<void> RecordReader::open_legacy(Bytes entry, std::string& scratch, std::int64_t limit) {
  ASSIGN_OR_RETURN(const Codec codec, codec_of(header_));
  section_ = entry;
  records_count_ = 1;
  if (codec == Codec::kNone) return {};

  LegacyMessage wrapper;
  if (!parse_message(entry, wrapper) || !wrapper.value)
    return fail(Errc::kCorrupt, "a wrapper whose fields do not fit or whose value is null");
  const Lz4HeaderSum sum = header_.magic == 0 ? Lz4HeaderSum::kOldWrong : Lz4HeaderSum::kRight;
  ASSIGN_OR_RETURN(section_, decompress(codec, *wrapper.value, scratch, limit, sum));
  return open_wrapper();
}

// Counts the inner messages and learns what their offsets are relative to: the last one bears the
// wrapper's own offset.
Result<void> RecordReader::open_wrapper() {
  records_count_ = 0;
  std::int64_t first = 0;
  std::int64_t last = -1;
  Bytes rest = section_;
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<Bytes> message, front_entry(rest));
    if (!message) break;
    const auto offset = load_big_endian<std::int64_t>(message->data());
    if (offset <= last)
      return fail(Errc::kCorrupt,
                  "inner offset " + std::to_string(offset) + " after " + std::to_string(last));
    if (records_count_++ == 0) first = offset;
    last = offset;
    rest.remove_prefix(message->size());
  }
  if (records_count_ == 0) return fail(Errc::kCorrupt, "a wrapper without messages");
  // A last message that is cut off is dropped, as old brokers cut message sets at any byte.
  section_.remove_suffix(rest.size());

  const std::int64_t wrapper = header_.last_offset.value;
  // Old librdkafka left the wrapper's offset at 0; relative offsets are then absolute.
  const bool unassigned = header_.magic == 1 && wrapper == 0;
  if (last > wrapper && !unassigned)
    return fail(Errc::kCorrupt, "inner offset " + std::to_string(last) + " past the wrapper's " +
                                    std::to_string(wrapper));
  relative_base_ = header_.magic == 1 && !unassigned ? wrapper - last : 0;
  first_offset_ = {relative_base_ + first};
  return {};
}

RecordReader::Step RecordReader::next(Record& record) {
  if (header_.is_v2()) [[likely]]
    return next_v2(record);
  return next_legacy(record);
}

// What the fields say together with the header, and the step to the next record.
inline void RecordReader::finish_v2(Record& record, std::int64_t timestamp_delta,
                                    std::int32_t offset_delta, const char* end) {
  record.offset = header_.base_offset + offset_delta;
  record.timestamp_type = timestamp_type_;
  // Append time is kept in the header alone: the deltas are leftovers of the producer's times. Sums
  // wrap as Kafka's do, rather than trust the input.
  record.timestamp = timestamp_type_ == TimestampType::kLogAppendTime
                         ? header_.max_timestamp
                         : TimestampMs{static_cast<std::int64_t>(
                               static_cast<std::uint64_t>(header_.base_timestamp.value) +
                               static_cast<std::uint64_t>(timestamp_delta))};
  // Sequences go from 2147483647 to 0.
  record.sequence =
      header_.base_sequence < 0
          ? -1
          : static_cast<std::int32_t>((static_cast<std::uint32_t>(header_.base_sequence) +
                                       static_cast<std::uint32_t>(offset_delta)) &
                                      0x7fffffffU);
  previous_delta_ = offset_delta;
  position_ = static_cast<std::uint32_t>(end - section_.data());
  ++ordinal_;
}

// The innermost loop of every stream: the shape that nearly all records have, short fields and no
// headers, with as few checks as make it safe, and without a call, which would cost registers.
// Whatever else comes is read again from its first byte by next_v2_of_any_shape().
RecordReader::Step RecordReader::next_v2(Record& record) {
  constexpr std::size_t kBytesUpToValue = 3 + 1 + 3 + 3 + 3;
  constexpr std::size_t kBytesOfLength = 3;
  const char* at = section_.data() + position_;
  const char* const section_end = section_.data() + section_.size();
  if (ordinal_ == records_count_ ||
      static_cast<std::size_t>(section_end - at) < kBytesUpToValue + kBytesOfLength) [[unlikely]]
    return next_v2_of_any_shape(record);
  std::uint32_t length = 0;
  std::uint32_t timestamp = 0;
  std::uint32_t offset = 0;
  if (!take_short(at, length) || (length & 1) != 0 ||
      length >> 1 > static_cast<std::size_t>(section_end - at)) [[unlikely]]
    return next_v2_of_any_shape(record);
  const char* const end = at + (length >> 1);
  ++at;  // attributes
  if (!take_short(at, timestamp) || !take_short(at, offset) ||
      !take_bytes(at, section_end, kBytesOfLength, record.key) ||
      !take_bytes(at, section_end, 0, record.value)) [[unlikely]]
    return next_v2_of_any_shape(record);
  // All that was read lies in the record if just the count of headers is left, and that is 0.
  const auto offset_delta = static_cast<std::int32_t>(offset >> 1);
  if (end - at != 1 || *at != 0 || (offset & 1) != 0 || offset_delta <= previous_delta_ ||
      offset_delta > last_delta_) [[unlikely]]
    return next_v2_of_any_shape(record);
  record.headers = {};
  const auto timestamp_delta = static_cast<std::int32_t>((timestamp >> 1) ^ (0U - (timestamp & 1)));
  finish_v2(record, timestamp_delta, offset_delta, end);
  return Step::kRecord;
}

// What goes wrong is told elsewhere: a message that is put together here costs registers, too.
RecordReader::Step RecordReader::next_v2_of_any_shape(Record& record) {
  if (ordinal_ == records_count_) return end_v2();
  FieldCursor section{section_.data() + position_, section_.data() + section_.size()};
  std::int32_t length = 0;
  if (!section.varint(length) || length < 0 || length > section.end - section.at) [[unlikely]]
    return corrupt_record(Fault::kLength, length);

  FieldCursor fields{section.at, section.at + length};
  std::int64_t timestamp_delta = 0;
  std::int32_t offset_delta = 0;
  if (!fields.skip_attributes() || !fields.varlong(timestamp_delta) ||
      !fields.varint(offset_delta) || !fields.nullable_bytes(record.key) ||
      !fields.nullable_bytes(record.value) || !parse_headers(fields, record.headers)) [[unlikely]]
    return corrupt_record(Fault::kFields, length);
  if (offset_delta <= previous_delta_ || offset_delta > last_delta_) [[unlikely]]
    return corrupt_record(Fault::kOffset, offset_delta);

  finish_v2(record, timestamp_delta, offset_delta, fields.end);
  return Step::kRecord;
}

RecordReader::Step RecordReader::end_v2() {
  if (position_ == section_.size()) return Step::kEnd;
  return corrupt(std::to_string(section_.size() - position_) + " bytes follow the last record");
}

RecordReader::Step RecordReader::corrupt_record(Fault fault, std::int64_t found) {
  const std::string number = std::to_string(found);
  switch (fault) {
    case Fault::kLength: return corrupt("length " + number + " does not fit the records section");
    case Fault::kFields: return corrupt("its fields do not fit its length of " + number);
    case Fault::kOffset: return corrupt("offset delta " + number + " is out of order");
  }
  return corrupt("");
}

RecordReader::Step RecordReader::next_legacy(Record& record) {
  if (ordinal_ == records_count_) return Step::kEnd;
  const bool wrapped = header_.codec_id() != 0;
  Bytes entry = section_.substr(position_);
  if (wrapped) {
    const auto front = front_entry(entry);
    if (!front || !*front) return corrupt("no message begins here");  // only after a wrong seek()
    entry = **front;
  }

  LegacyMessage message;
  if (!parse_message(entry, message)) return corrupt("its fields do not fit its size");
  if (wrapped) {
    if (message.codec_id != 0) return corrupt("a compressed message inside a wrapper");
    const auto stored = load_big_endian<std::uint32_t>(entry.data() + 12);
    if (const std::uint32_t computed = crc32(entry.substr(16)); stored != computed)
      return corrupt(crc_mismatch(stored, computed));
  }

  record.offset = {relative_base_ + message.offset};
  record.key = message.key;
  record.value = message.value;
  record.headers = {};
  record.sequence = -1;
  // A message is read by its own magic, which may differ from its wrapper's (KAFKA-4298); what kind
  // of time it bears is said by the wrapper.
  record.timestamp_type = message.magic == 0 ? TimestampType::kNone : header_.timestamp_type();
  record.timestamp = record.timestamp_type == TimestampType::kLogAppendTime
                         ? header_.max_timestamp
                         : TimestampMs{message.timestamp};
  position_ += static_cast<std::uint32_t>(entry.size());
  ++ordinal_;
  return Step::kRecord;
}

RecordReader::Step RecordReader::corrupt(const std::string& why) {
  why_ = "record " + std::to_string(ordinal_) + " of " + std::to_string(records_count_) +
         ", at byte " + std::to_string(position_) + " of the records: " + why;
  return Step::kCorrupt;
}

void RecordReader::seek(std::uint32_t record_position, std::int32_t ordinal) {
  position_ = std::min(record_position, static_cast<std::uint32_t>(section_.size()));
  ordinal_ = std::min(ordinal, records_count_);
  previous_delta_ = -1;
}

Result<std::shared_ptr<const DecodedBatch>> DecodedBatch::decode(OwnedBytes owned,
                                                                 const DecodeLimits& limits) {
  const Bytes entry = owned.view();
  std::shared_ptr<DecodedBatch> batch(new DecodedBatch);
  BatchHeader& header = batch->header_;
  std::string why;
  switch (parse_batch_header(entry, header, &why)) {
    case HeaderStatus::kOk: break;
    case HeaderStatus::kNeedMore: return fail(Errc::kCorrupt, "ends within its header");
    case HeaderStatus::kZeros: return fail(Errc::kCorrupt, "zeros, expected a batch");
    case HeaderStatus::kDamaged: return fail(Errc::kCorrupt, why);
  }
  if (header.size_bytes != static_cast<std::int64_t>(entry.size()))
    return fail(Errc::kCorrupt, "size " + std::to_string(header.size_bytes) + ", found " +
                                    std::to_string(entry.size()) + " bytes");
  if (const std::uint32_t crc = compute_batch_crc(header, entry); crc != header.crc)
    return fail(Errc::kCorrupt, crc_mismatch(header.crc, crc));

  // Expanded in a buffer of the thread and then copied, so that a batch keeps no byte too many.
  thread_local std::string scratch;
  batch->entry_ = std::move(owned);
  ASSIGN_OR_RETURN(batch->first_, RecordReader::open(header, entry, scratch, limits));
  if (header.codec_id() != 0) {
    batch->scratch_.assign(batch->first_.section_);
    batch->first_.section_ = batch->scratch_;
    batch->entry_ = {};
    constexpr std::size_t kKeptScratchBytes = 4U << 20;
    if (scratch.capacity() > kKeptScratchBytes) std::string().swap(scratch);
  }
  return batch;
}

std::size_t DecodedBatch::memory_bytes() const {
  return sizeof *this + entry_.capacity() + scratch_.capacity();
}

}  // namespace offsetfs::storage
