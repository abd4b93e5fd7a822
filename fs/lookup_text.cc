#include "fs/lookup_text.h"

#include "fs/time_expression.h"
#include "storage/segment_files.h"

namespace offsetfs::fs {
namespace {

using storage::BatchPlace;
using storage::Offset;
using storage::RecordLookup;

const char* result_word(RecordLookup::Outcome outcome) {
  switch (outcome) {
    case RecordLookup::Outcome::kPresent: return "present";
    case RecordLookup::Outcome::kControl: return "control";
    case RecordLookup::Outcome::kCompacted: return "compacted";
    case RecordLookup::Outcome::kBelowLogStart: return "below_log_start";
    case RecordLookup::Outcome::kPastLogEnd: return "past_log_end";
    case RecordLookup::Outcome::kDamaged: return "damaged";
    case RecordLookup::Outcome::kAboveHighWatermark: return "above_high_watermark";
  }
  return "";
}

void add(std::string& text, const char* key, const std::string& value) {
  text.append(key).append(": ").append(value).push_back('\n');
}

std::string or_none(const std::optional<Offset>& offset) {
  return offset ? std::to_string(offset->value) : "none";
}

void add_place(std::string& text, const BatchPlace& place) {
  add(text, "segment", storage::segment_base_name(place.segment_base_offset));
  add(text, "index_entry",
      place.index_entry ? "offset " + std::to_string(place.index_entry->offset.value) +
                              " at position " + std::to_string(place.index_entry->position.value)
                        : "none");
  add(text, "batches_scanned", std::to_string(place.batches_scanned));
  add(text, "position", std::to_string(place.position.value));
}

}  // namespace

std::string lookup_text(const RecordLookup& lookup) {
  std::string text;
  add(text, "result", result_word(lookup.outcome));
  if (lookup.place) add_place(text, *lookup.place);
  add(text, "next", or_none(lookup.next));
  add(text, "reason", lookup.reason);
  return text;
}

std::string time_lookup_text(const std::string& written, storage::TimestampMs time,
                             const storage::TimeLookup& lookup) {
  std::string text;
  add(text, "result", lookup.record ? "present" : "none");
  add(text, "time", print_time(time) + " (" + std::to_string(time.value) + " ms)");
  if (lookup.place) add_place(text, *lookup.place);
  add(text, "offsets_for_times", or_none(lookup.kafka));
  add(text, "next", or_none(lookup.record));
  std::string reason;
  if (!lookup.record) {
    reason = "no record, and none behind it, has a timestamp at or after this time";
  } else if (lookup.kafka == lookup.record) {
    reason = "the first record with a timestamp at or after this time";
  } else if (lookup.kafka) {
    reason = "offsetsForTimes answers with offset " + std::to_string(lookup.kafka->value) +
             ", which bears no visible record; this is the next one";
  } else {
    reason =
        "a broker gives up at an empty or trimmed segment on the way and answers nothing; the "
        "records behind it were searched all the same";
  }
  add(text, "reason", reason);
  const bool digits = written.find_first_not_of("0123456789") == std::string::npos;
  if (const std::string doubt = digits ? suspicion(time) : ""; !doubt.empty())
    add(text, "warning", doubt);
  return text;
}

}  // namespace offsetfs::fs
