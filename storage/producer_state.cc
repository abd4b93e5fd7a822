#include "storage/producer_state.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "storage/control_record.h"
#include "storage/record_batch.h"

namespace offsetfs::storage {
namespace {

struct Marker {
  bool is_abort = false;
  std::int32_t coordinator_epoch = 0;
};

// Nothing where the batch is no end of a transaction: another control record, or an emptied batch.
std::optional<Marker> parse_marker(Bytes entry) {
  const auto batch = DecodedBatch::decode(entry);
  if (!batch) return std::nullopt;
  RecordReader records = (*batch)->records();
  Record record;
  if (records.next(record) != RecordReader::Step::kRecord) return std::nullopt;
  const auto control = parse_control_record(record);
  if (!control) return std::nullopt;
  const auto* const end = std::get_if<EndTransactionMarker>(&control->body);
  if (end == nullptr) return std::nullopt;
  return Marker{control->type == 0, end->coordinator_epoch};
}

}  // namespace

ProducerState::ProducerState(Offset offset, std::span<const ProducerSnapshotEntry> producers)
    : next_offset_(offset) {
  for (const ProducerSnapshotEntry& producer : producers)
    producers_[producer.producer_id] = producer;
}

std::optional<AbortedTransaction> ProducerState::note(const BatchHeader& header, Bytes entry) {
  previous_next_offset_ = next_offset_;
  previous_id_ = -1;
  if (header.last_offset < next_offset_) return std::nullopt;
  next_offset_ = header.next_offset();
  if (!header.is_v2() || !header.has_producer()) return std::nullopt;
  if (header.is_control()) return note_marker(header, entry);

  ProducerSnapshotEntry& producer = of(header);
  const std::int64_t delta = header.last_offset - header.base_offset;
  producer.last_offset = header.last_offset;
  producer.offset_delta = static_cast<std::int32_t>(delta);
  // Sequences go round from INT32_MAX to 0.
  producer.last_sequence =
      header.base_sequence < 0
          ? -1
          : static_cast<std::int32_t>((std::int64_t{header.base_sequence} + delta) & INT32_MAX);
  producer.last_timestamp = header.max_timestamp;
  if (header.is_transactional() && producer.current_txn_first_offset.value < 0)
    producer.current_txn_first_offset = header.base_offset;
  return std::nullopt;
}

std::optional<AbortedTransaction> ProducerState::note_marker(const BatchHeader& header,
                                                             Bytes entry) {
  const auto marker = parse_marker(entry);
  if (!marker) return std::nullopt;
  ProducerSnapshotEntry& producer = of(header);
  producer.last_timestamp = header.max_timestamp;
  producer.coordinator_epoch = marker->coordinator_epoch;
  const Offset first = std::exchange(producer.current_txn_first_offset, Offset{-1});
  if (first.value < 0 || !marker->is_abort) return std::nullopt;
  Offset stable = header.last_offset + 1;
  for (const auto& [id, other] : producers_)
    if (other.current_txn_first_offset.value >= 0)
      stable = std::min(stable, other.current_txn_first_offset);
  return AbortedTransaction{header.producer_id, first, header.last_offset, stable};
}

// Of this epoch: a new one knows nothing of the batches of the one before.
ProducerSnapshotEntry& ProducerState::of(const BatchHeader& header) {
  const auto found = producers_.find(header.producer_id);
  previous_id_ = header.producer_id;
  previous_ = found == producers_.end() ? std::nullopt
                                        : std::optional<ProducerSnapshotEntry>(found->second);
  ProducerSnapshotEntry& producer = producers_[header.producer_id];
  if (producer.producer_id < 0 || producer.producer_epoch != header.producer_epoch) {
    producer.producer_id = header.producer_id;
    producer.producer_epoch = header.producer_epoch;
    producer.last_sequence = -1;
    producer.last_offset = Offset{-1};
    producer.offset_delta = 0;
  }
  return producer;
}

void ProducerState::take_back() {
  next_offset_ = previous_next_offset_;
  if (previous_id_ < 0) return;
  if (previous_)
    producers_[previous_id_] = *previous_;
  else
    producers_.erase(previous_id_);
  previous_id_ = -1;
}

std::string ProducerState::snapshot() const { return render_producer_snapshot(producers()); }

std::vector<ProducerSnapshotEntry> ProducerState::producers() const {
  std::vector<ProducerSnapshotEntry> entries;
  for (const auto& [id, producer] : producers_) entries.push_back(producer);
  return entries;
}

std::optional<Offset> ProducerState::first_open_transaction() const {
  std::optional<Offset> first;
  for (const auto& [id, producer] : producers_) {
    const Offset begin = producer.current_txn_first_offset;
    if (begin.value >= 0 && (!first || begin < *first)) first = begin;
  }
  return first;
}

}  // namespace offsetfs::storage
