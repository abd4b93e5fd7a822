#include "fs/producer_table.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "fs/json_object.h"

namespace offsetfs::fs {
namespace {

using storage::ProducerSnapshotEntry;

constexpr std::array kColumns{
    "producer_id",  "producer_epoch", "last_sequence",     "last_offset",
    "offset_delta", "last_timestamp", "coordinator_epoch", "current_txn_first_offset"};

std::array<std::int64_t, kColumns.size()> row_of(const ProducerSnapshotEntry& producer) {
  return {producer.producer_id,       producer.producer_epoch,
          producer.last_sequence,     producer.last_offset.value,
          producer.offset_delta,      producer.last_timestamp.value,
          producer.coordinator_epoch, producer.current_txn_first_offset.value};
}

}  // namespace

std::string producer_table(std::span<const ProducerSnapshotEntry> producers) {
  std::string text;
  for (const char* const column : kColumns) text.append(column).push_back('\t');
  text.back() = '\n';
  for (const ProducerSnapshotEntry& producer : producers) {
    for (const std::int64_t value : row_of(producer)) {
      text.append(std::to_string(value)).push_back('\t');
    }
    text.back() = '\n';
  }
  return text;
}

std::string producer_lines(std::span<const ProducerSnapshotEntry> producers) {
  std::string text;
  for (const ProducerSnapshotEntry& producer : producers) {
    JsonObject line;
    const auto row = row_of(producer);
    for (std::size_t i = 0; i < row.size(); ++i) line.number(kColumns[i], row[i]);
    text.append(line.take()).push_back('\n');
  }
  return text;
}

}  // namespace offsetfs::fs
