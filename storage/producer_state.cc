#include "storage/producer_state.h"

#include <algorithm>
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

  of(header).note_data(header);
  return std::nullopt;
}

std::optional<AbortedTransaction> ProducerState::note_marker(const BatchHeader& header,
                                                             Bytes entry) {
  const auto marker = parse_marker(entry);
  if (!marker) return std::nullopt;
  const Offset first = of(header).note_marker(header, marker->coordinator_epoch);
  if (first.value < 0 || !marker->is_abort) return std::nullopt;
  Offset stable = header.last_offset + 1;
  for (const auto& [id, other] : producers_)
    if (other.current_txn_first_offset.value >= 0)
      stable = std::min(stable, other.current_txn_first_offset);
  return AbortedTransaction{header.producer_id, first, header.last_offset, stable};
}

// As it was is kept, to be taken back.
ProducerSnapshotEntry& ProducerState::of(const BatchHeader& header) {
  const auto found = producers_.find(header.producer_id);
  previous_id_ = header.producer_id;
  previous_ = found == producers_.end() ? std::nullopt
                                        : std::optional<ProducerSnapshotEntry>(found->second);
  return producers_[header.producer_id];
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
