#include "storage/producer_snapshot.h"

#include <concepts>
#include <cstdio>
#include <utility>

#include "storage/byte_reader.h"
#include "storage/crc32c.h"

namespace offsetfs::storage {
namespace {

constexpr std::int16_t kVersion = 1;
constexpr std::size_t kCrcCoversFrom = 6;
constexpr std::size_t kHeaderBytes = 10;
constexpr std::size_t kEntryBytes = 46;

std::string hex(std::uint32_t value) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", value);
  return text;
}

ProducerSnapshotEntry read_entry(ByteReader& reader) {
  ProducerSnapshotEntry entry;
  entry.producer_id = reader.i64();
  entry.producer_epoch = reader.i16();
  entry.last_sequence = reader.i32();
  entry.last_offset = Offset{reader.i64()};
  entry.offset_delta = reader.i32();
  entry.last_timestamp = TimestampMs{reader.i64()};
  entry.coordinator_epoch = reader.i32();
  entry.current_txn_first_offset = Offset{reader.i64()};
  return entry;
}

template <std::integral T>
void append(std::string& bytes, T value) {
  bytes.resize(bytes.size() + sizeof value);
  store_big_endian(bytes.data() + bytes.size() - sizeof value, value);
}

// Sequences go round from INT32_MAX to 0.
std::int32_t last_sequence_of(const BatchHeader& header, std::int32_t offset_delta) {
  if (header.base_sequence < 0) return -1;
  return static_cast<std::int32_t>((std::int64_t{header.base_sequence} + offset_delta) & INT32_MAX);
}

}  // namespace

void ProducerSnapshotEntry::enter_epoch(const BatchHeader& header) {
  if (producer_id >= 0 && producer_epoch == header.producer_epoch) return;
  producer_id = header.producer_id;
  producer_epoch = header.producer_epoch;
  last_sequence = -1;
  last_offset = Offset{-1};
  offset_delta = 0;
}

void ProducerSnapshotEntry::note_data(const BatchHeader& header) {
  enter_epoch(header);
  last_offset = header.last_offset;
  offset_delta = static_cast<std::int32_t>(header.last_offset - header.base_offset);
  last_sequence = last_sequence_of(header, offset_delta);
  last_timestamp = header.max_timestamp;
  if (header.is_transactional() && current_txn_first_offset.value < 0)
    current_txn_first_offset = header.base_offset;
}

Offset ProducerSnapshotEntry::note_marker(const BatchHeader& header,
                                          std::int32_t new_coordinator_epoch) {
  enter_epoch(header);
  last_timestamp = header.max_timestamp;
  coordinator_epoch = new_coordinator_epoch;
  return std::exchange(current_txn_first_offset, Offset{-1});
}

Result<std::vector<ProducerSnapshotEntry>> parse_producer_snapshot(Bytes bytes,
                                                                   const std::string& name) {
  ByteReader reader(bytes);
  const auto version = reader.i16();
  const auto crc = reader.u32();
  const auto count = reader.i32();
  if (!reader.ok()) {
    return fail(Errc::kCorrupt, name + ": " + std::to_string(bytes.size()) +
                                    " bytes, a producer snapshot has at least " +
                                    std::to_string(kHeaderBytes));
  }
  if (version != kVersion) {
    return fail(Errc::kUnsupported, name + ": version " + std::to_string(version) + ", expected 1");
  }
  const auto actual_crc = crc32c(bytes.substr(kCrcCoversFrom));
  if (actual_crc != crc) {
    return fail(Errc::kCorrupt,
                name + ": CRC: expected " + hex(crc) + ", found " + hex(actual_crc));
  }
  if (count < 0 || reader.remaining() != static_cast<std::size_t>(count) * kEntryBytes) {
    return fail(Errc::kCorrupt, name + ": " + std::to_string(count) + " entries don't fill " +
                                    std::to_string(bytes.size()) + " bytes");
  }
  std::vector<ProducerSnapshotEntry> entries;
  entries.reserve(static_cast<std::size_t>(count));
  while (reader.remaining() > 0) entries.push_back(read_entry(reader));
  return entries;
}

std::string render_producer_snapshot(std::span<const ProducerSnapshotEntry> entries) {
  std::string bytes;
  bytes.reserve(kHeaderBytes + entries.size() * kEntryBytes);
  append(bytes, kVersion);
  append(bytes, std::uint32_t{0});  // the CRC, once the rest is there
  append(bytes, static_cast<std::int32_t>(entries.size()));
  for (const auto& entry : entries) {
    append(bytes, entry.producer_id);
    append(bytes, entry.producer_epoch);
    append(bytes, entry.last_sequence);
    append(bytes, entry.last_offset.value);
    append(bytes, entry.offset_delta);
    append(bytes, entry.last_timestamp.value);
    append(bytes, entry.coordinator_epoch);
    append(bytes, entry.current_txn_first_offset.value);
  }
  store_big_endian(bytes.data() + 2, crc32c(Bytes(bytes).substr(kCrcCoversFrom)));
  return bytes;
}

}  // namespace offsetfs::storage
