#include "storage/compaction_filter.h"

#include <utility>

#include "storage/check.h"
#include "storage/control_record.h"
#include "storage/record_batch.h"
#include "storage/retention.h"

namespace offsetfs::storage {
namespace {

BatchBuilder::Options options_like(const BatchHeader& header) {
  BatchBuilder::Options options;
  options.codec = static_cast<Codec>(header.codec_id());
  options.base_offset = header.base_offset;
  options.leader_epoch = header.leader_epoch;
  options.timestamp_type = header.timestamp_type();
  options.producer_id = header.producer_id;
  options.producer_epoch = header.producer_epoch;
  options.base_sequence = header.base_sequence;
  options.is_transactional = header.is_transactional();
  options.is_control = header.is_control();
  options.last_offset = header.last_offset;
  return options;
}

}  // namespace

CompactionFilter::CompactionFilter(const Options& options, const KeyOffsets& keys,
                                   std::span<const ProducerSnapshotEntry> producers,
                                   CleanedTransactions& transactions)
    : options_(options), keys_(keys), transactions_(transactions) {
  for (const auto& producer : producers)
    producers_[producer.producer_id] = {producer.last_offset, producer.producer_epoch};
}

// Its sequence is in that batch; or, where the last thing it did was to end a transaction, its
// epoch is in the marker.
bool CompactionFilter::is_last_of_producer(const BatchHeader& header) const {
  if (!header.has_producer()) return false;
  const auto found = producers_.find(header.producer_id);
  if (found == producers_.end()) return false;
  if (found->second.last_offset.value >= 0) return header.last_offset == found->second.last_offset;
  return header.is_control() && header.producer_epoch == found->second.epoch;
}

bool CompactionFilter::stays(const BatchHeader& header, const Record& record) const {
  if (header.is_control() || record.offset > options_.last_mapped) return true;
  if (!record.key) return false;
  if (const auto latest = keys_.find(*record.key); latest && record.offset < *latest) return false;
  return record.value || !header.has_delete_horizon() || options_.now < header.base_timestamp;
}

Result<void> CompactionFilter::read(const BatchHeader& header, Bytes entry, bool drop_all) {
  kept_.clear();
  kept_any_ = dropped_any_ = keeps_tombstone_ = false;
  DecodeLimits limits;
  limits.decompressed_bytes = options_.decompressed_limit_bytes;
  ASSIGN_OR_RETURN(records_, RecordReader::open(header, entry, scratch_, limits));
  RecordReader records = records_;
  Record record;
  for (;;) {
    const auto step = records.next(record);
    if (step == RecordReader::Step::kCorrupt) return fail(Errc::kCorrupt, records.why());
    if (step == RecordReader::Step::kEnd) return {};
    if (record.timestamp < kNoTimestamp)
      return fail(Errc::kCorrupt, "offset " + std::to_string(record.offset.value) +
                                      ": a timestamp of " + std::to_string(record.timestamp.value));
    const bool is_kept = !drop_all && stays(header, record);
    kept_.push_back(is_kept);
    (is_kept ? kept_any_ : dropped_any_) = true;
    if (is_kept && !record.value) keeps_tombstone_ = true;
  }
}

Result<CompactionFilter::Kept> CompactionFilter::filter(const BatchHeader& header, Bytes entry) {
  if (!header.is_v2())
    return fail(Errc::kUnsupported, "a message of magic " + std::to_string(header.magic) +
                                        ": only logs of magic 2 are compacted");
  Kept kept;
  bool marker_is_void = false;
  bool drop_all = false;
  if (header.is_control()) {
    ASSIGN_OR_RETURN(const auto type, control_type(header, entry, scratch_));
    const auto marker = transactions_.note_control(header, type);
    kept.aborted = marker.aborted;
    marker_is_void = marker.is_void;
    drop_all =
        marker.is_void && header.has_delete_horizon() && header.base_timestamp <= options_.now;
  } else {
    drop_all = transactions_.note_data(header);
  }

  const bool ends_pass = header.last_offset == options_.last_mapped;
  const bool keeps_header = is_last_of_producer(header) || ends_pass;
  if (drop_all && !keeps_header) return kept;
  RETURN_IF_ERROR(read(header, entry, drop_all));
  if (!kept_any_) {
    if (keeps_header) kept.batch = emptied(header);
    return kept;
  }
  const bool new_horizon = (keeps_tombstone_ || marker_is_void) && !header.has_delete_horizon();
  if (!dropped_any_ && !new_horizon) {
    kept.batch = entry;
    return kept;
  }
  std::optional<TimestampMs> horizon;
  if (header.has_delete_horizon()) horizon = header.base_timestamp;
  if (new_horizon) horizon = add_saturated(options_.now, options_.delete_retention_ms);
  kept.batch = rebuild(header, horizon);
  return kept;
}

Bytes CompactionFilter::rebuild(const BatchHeader& header,
                                std::optional<TimestampMs> delete_horizon) {
  BatchBuilder::Options options = options_like(header);
  options.delete_horizon = delete_horizon;
  builder_.start(options);
  std::vector<RecordHeader> headers;
  Record record;
  for (const bool is_kept : kept_) {
    CHECK(records_.next(record) == RecordReader::Step::kRecord);  // as it was read before
    if (!is_kept) continue;
    headers.clear();
    for (RecordHeaders rest = record.headers; !rest.empty();) headers.push_back(rest.pop_front());
    builder_.add_at(record.offset, record.timestamp, record.key, record.value, headers);
  }
  const auto batch = builder_.finish();
  return {batch.data(), batch.size()};
}

Bytes CompactionFilter::emptied(const BatchHeader& header) {
  BatchBuilder::Options options = options_like(header);
  options.codec = Codec::kNone;
  options.max_timestamp = header.max_timestamp;
  builder_.start(options);
  const auto batch = builder_.finish();
  return {batch.data(), batch.size()};
}

Result<std::optional<std::int16_t>> CompactionFilter::control_type(const BatchHeader& header,
                                                                   Bytes entry,
                                                                   std::string& scratch) {
  ASSIGN_OR_RETURN(RecordReader records, RecordReader::open(header, entry, scratch, {}));
  Record record;
  const auto step = records.next(record);
  if (step == RecordReader::Step::kEnd) return std::nullopt;
  if (step == RecordReader::Step::kCorrupt) return fail(Errc::kCorrupt, records.why());
  ASSIGN_OR_RETURN(const auto control, parse_control_record(record));
  return control.type;
}

}  // namespace offsetfs::storage
