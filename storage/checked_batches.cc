#include "storage/checked_batches.h"

#include <algorithm>

namespace offsetfs::storage {

bool CheckedBatches::keeps(const BatchHeader& header) {
  return header.is_v2() && header.codec_id() == 0 && header.size_bytes >= kLeastBytes;
}

std::size_t CheckedBatches::Slot::bytes() const {
  constexpr std::size_t kNodes = 128;  // of the list and the map, but for the slot itself
  return sizeof(Slot) + kNodes + marks.capacity() * sizeof(Mark);
}

std::optional<BatchExcerpt> CheckedBatches::find(Owner owner, Offset offset) {
  const auto found = by_offset_.lower_bound({owner, offset});
  if (found == by_offset_.end() || found->first.first != owner) return std::nullopt;
  const Slot& slot = *found->second;
  const Offset base_offset = slot.place.header.base_offset;
  if (offset < base_offset) return std::nullopt;
  by_use_.splice(by_use_.begin(), by_use_, found->second);
  const auto after = std::upper_bound(
      slot.marks.begin(), slot.marks.end(), offset - base_offset,
      [](std::int64_t delta, const Mark& mark) { return delta < mark.offset_delta; });
  if (after == slot.marks.begin() || after == slot.marks.end()) return std::nullopt;
  const Mark& first = *std::prev(after);
  return BatchExcerpt{slot.place, slot.stamp, first.position, after->position, first.ordinal};
}

bool CheckedBatches::knows(Owner owner, Offset last_offset, const LogStamp& stamp) const {
  const auto found = by_offset_.find({owner, last_offset});
  return found != by_offset_.end() && found->second->stamp == stamp;
}

std::optional<CheckedBatches::Marks> CheckedBatches::marks_of(const DecodedBatch& batch) {
  RecordReader reader = batch.records();
  const Offset base_offset = batch.header().base_offset;
  Marks marks;
  Record record;
  while (true) {
    const Mark here{reader.record_position(), reader.ordinal(), 0};
    const auto step = reader.next(record);
    if (step == RecordReader::Step::kCorrupt) return std::nullopt;
    if (step == RecordReader::Step::kEnd) {
      // Behind the last record: what lies above its offset is a gap, and not looked for here. There
      // is no delta above the largest; what the last mark begins is not looked for either, then.
      if (!marks.empty() && record.offset - base_offset < INT32_MAX) {
        marks.push_back({here.position, here.ordinal,
                         static_cast<std::int32_t>(record.offset - base_offset) + 1});
      }
      marks.shrink_to_fit();
      return marks;
    }
    if (marks.empty() || reader.record_position() - marks.back().position > kMarkBytes) {
      marks.push_back(here);
      marks.back().offset_delta = static_cast<std::int32_t>(record.offset - base_offset);
    }
  }
}

void CheckedBatches::insert(Owner owner, const BatchPlace& place, const LogStamp& stamp,
                            Marks marks) {
  const Key key{owner, place.header.last_offset};
  if (const auto old = by_offset_.find(key); old != by_offset_.end()) drop(old);
  by_use_.push_front({place, stamp, std::move(marks), {}});
  by_use_.front().at = by_offset_.emplace(key, by_use_.begin()).first;
  bytes_ += by_use_.front().bytes();
  while (bytes_ > limit_bytes_ && !by_use_.empty()) drop(by_use_.back().at);
}

void CheckedBatches::forget(Owner owner, Offset from, Offset to) {
  auto at = by_offset_.lower_bound({owner, from});
  while (at != by_offset_.end() && at->first < Key{owner, to}) drop(at++);
}

void CheckedBatches::drop(ByOffset::iterator at) {
  bytes_ -= at->second->bytes();
  by_use_.erase(at->second);
  by_offset_.erase(at);
}

}  // namespace offsetfs::storage
