#include "storage/batch_cache.h"

#include <algorithm>

namespace offsetfs::storage {

CachedBatch::CachedBatch(BatchPlace place, std::shared_ptr<const DecodedBatch> batch)
    : place_(std::move(place)), batch_(std::move(batch)) {
  // The header of a legacy wrapper names its last message only.
  first_offset_ =
      place_.header.is_v2() ? place_.header.base_offset : batch_->records().first_offset();
}

std::size_t CachedBatch::memory_bytes() const { return sizeof(*this) + batch_->memory_bytes(); }

Result<std::optional<Record>> CachedBatch::record_at_or_after(Offset target) const {
  RecordReader reader = batch_->records();
  std::int32_t next_mark = kMarkEvery;  // ordinal of the first that is still to be left
  {
    const MutexLock lock(mutex_);
    const auto after = std::upper_bound(marks_.begin(), marks_.end(), target,
                                        [](Offset t, const Mark& mark) { return t < mark.offset; });
    if (after != marks_.begin()) {
      const Mark& mark = *std::prev(after);
      reader.seek(mark.record_position, mark.ordinal);
    }
    if (!marks_.empty()) next_mark = marks_.back().ordinal + kMarkEvery;
  }
  std::vector<Mark> met;
  std::optional<Record> found;
  Record record;
  while (true) {
    const Mark here{{}, reader.record_position(), reader.ordinal()};
    const RecordReader::Step step = reader.next(record);
    if (step == RecordReader::Step::kEnd) break;
    if (step == RecordReader::Step::kCorrupt) return fail(Errc::kCorrupt, reader.why());
    if (here.ordinal == next_mark) {
      met.push_back({record.offset, here.record_position, here.ordinal});
      next_mark += kMarkEvery;
    }
    if (record.offset < target) continue;
    found = record;
    break;
  }
  if (!met.empty()) {
    const MutexLock lock(mutex_);
    for (const Mark& mark : met) {  // somebody else may have walked here meanwhile
      if (marks_.empty() || mark.ordinal > marks_.back().ordinal) marks_.push_back(mark);
    }
  }
  return found;
}

BatchCache::Owner BatchCache::new_owner() {
  const MutexLock lock(mutex_);
  return ++last_owner_;
}

std::shared_ptr<const CachedBatch> BatchCache::find(Owner owner, Offset offset) {
  const MutexLock lock(mutex_);
  const auto found = by_offset_.lower_bound({owner, offset});
  if (found == by_offset_.end() || found->first.first != owner) return nullptr;
  if (offset < found->second->batch->first_offset()) return nullptr;
  by_use_.splice(by_use_.begin(), by_use_, found->second);
  return found->second->batch;
}

void BatchCache::insert(Owner owner, std::shared_ptr<const CachedBatch> batch,
                        std::uint64_t forgets) {
  const Key key{owner, batch->last_offset()};
  const std::size_t bytes = batch->memory_bytes();
  Slots dropped;  // freed outside the lock
  const MutexLock lock(mutex_);
  if (forgets != forgets_) return;
  const auto [place, is_new] = by_offset_.try_emplace(key);
  if (!is_new) {
    bytes_ -= place->second->bytes;
    dropped.splice(dropped.end(), by_use_, place->second);
  }
  by_use_.push_front({std::move(batch), bytes, place});
  place->second = by_use_.begin();
  bytes_ += bytes;
  while ((bytes_ > limit_bytes_ || by_use_.size() > kMostBatches) && by_use_.size() > 1) {
    const auto last = std::prev(by_use_.end());
    bytes_ -= last->bytes;
    by_offset_.erase(last->place);
    dropped.splice(dropped.end(), by_use_, last);
  }
}

void BatchCache::forget(Owner owner, Offset from, Offset to) {
  Slots dropped;
  const MutexLock lock(mutex_);
  ++forgets_;
  checked_.forget(owner, from, to);
  auto at = by_offset_.lower_bound({owner, from});
  while (at != by_offset_.end() && at->first < Key{owner, to}) {
    bytes_ -= at->second->bytes;
    dropped.splice(dropped.end(), by_use_, at->second);
    at = by_offset_.erase(at);
  }
}

std::uint64_t BatchCache::forgets() const {
  const MutexLock lock(mutex_);
  return forgets_;
}

std::optional<BatchExcerpt> BatchCache::excerpt(Owner owner, Offset offset) {
  const MutexLock lock(mutex_);
  const auto whole = by_offset_.lower_bound({owner, offset});
  if (whole != by_offset_.end() && whole->first.first == owner &&
      offset >= whole->second->batch->first_offset()) {
    return std::nullopt;
  }
  return checked_.find(owner, offset);
}

void BatchCache::checked(Owner owner, const CachedBatch& batch, const LogStamp& stamp,
                         std::uint64_t forgets) {
  {
    const MutexLock lock(mutex_);
    if (checked_.knows(owner, batch.last_offset(), stamp)) return;
  }
  auto marks = CheckedBatches::marks_of(*batch.batch());
  if (!marks) return;
  const MutexLock lock(mutex_);
  if (forgets == forgets_) checked_.insert(owner, batch.place(), stamp, std::move(*marks));
}

std::size_t BatchCache::memory_bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace offsetfs::storage
