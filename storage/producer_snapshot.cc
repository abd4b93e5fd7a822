#include "storage/producer_snapshot.h"

#include <concepts>
#include <cstdio>

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

}  // namespace

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
