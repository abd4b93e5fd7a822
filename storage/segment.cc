#include "storage/segment.h"

#include <utility>

namespace offsetfs::storage {

namespace {

std::string path_of(const std::string& stem, const SegmentEntry& entry, SegmentFile file) {
  return stem + segment_file_name({entry.base_offset, file, entry.suffix_of(file)});
}

}  // namespace

Result<std::shared_ptr<const Segment>> Segment::open(std::shared_ptr<const SourceDir> dir,
                                                     std::string stem, const SegmentEntry& entry,
                                                     std::shared_ptr<Problems> problems) {
  ASSIGN_OR_RETURN(std::unique_ptr<const File> log,
                   dir->open_file(path_of(stem, entry, SegmentFile::kLog)));
  ASSIGN_OR_RETURN(const FileInfo info, log->info());
  return std::shared_ptr<const Segment>(new Segment(std::move(dir), std::move(stem), entry,
                                                    std::move(log), info, std::move(problems)));
}

Segment::Segment(std::shared_ptr<const SourceDir> dir, std::string stem, const SegmentEntry& entry,
                 std::unique_ptr<const File> log, FileInfo info, std::shared_ptr<Problems> problems)
    : dir_(std::move(dir)),
      stem_(std::move(stem)),
      entry_(entry),
      base_offset_(entry.base_offset),
      log_(std::move(log)),
      opened_info_(info),
      problems_(std::move(problems)) {}

template <class Index>
const Index* Segment::opened(Lazy<Index>& lazy, SegmentFile kind) const {
  if (lazy.tried.load(std::memory_order_acquire)) return lazy.index.get();
  const MutexLock lock(opening_);
  if (lazy.tried.load(std::memory_order_relaxed)) return lazy.index.get();
  if (entry_.has(kind)) {
    auto file = dir_->open_file(path_of(stem_, entry_, kind));
    if (file) {
      lazy.index = std::make_unique<const Index>(std::move(*file), base_offset_);
    } else if (file.error().code != Errc::kNotFound && problems_) {
      problems_->add({dir_->name_of(path_of(stem_, entry_, kind)), -1,
                      "is not used as an index: " + file.error().what});
    }
  }
  lazy.tried.store(true, std::memory_order_release);
  return lazy.index.get();
}

Result<Position> Segment::sealed_size(std::uint64_t listing, bool& changed) const {
  if (sealed_in_.load(std::memory_order_acquire) == listing)
    return Position{sealed_size_.load(std::memory_order_relaxed)};
  ASSIGN_OR_RETURN(const FileInfo info, log_->info());
  const MutexLock lock(mutex_);
  changed = sealed_info_ && (sealed_info_->size_bytes != info.size_bytes ||
                             sealed_info_->mtime_ns != info.mtime_ns);
  sealed_info_ = info;
  sealed_size_.store(info.size_bytes, std::memory_order_relaxed);
  sealed_in_.store(listing, std::memory_order_release);
  return Position{info.size_bytes};
}

void Segment::opened_sealed(std::uint64_t listing) const {
  const MutexLock lock(mutex_);
  sealed_info_ = opened_info_;
  sealed_size_.store(opened_info_.size_bytes, std::memory_order_relaxed);
  sealed_in_.store(listing, std::memory_order_release);
}

const OffsetIndex* Segment::offset_index() const {
  return opened(offset_index_, SegmentFile::kOffsetIndex);
}

const TimeIndex* Segment::time_index() const {
  return opened(time_index_, SegmentFile::kTimeIndex);
}

Result<BatchPlace> Segment::find_batch(Offset target, Position valid_end) const {
  ASSIGN_OR_RETURN(BatchSearch found, search(target, valid_end, DecodeLimits{}));
  switch (found.outcome) {
    case BatchSearch::Outcome::kFound: return std::move(found.place);
    case BatchSearch::Outcome::kPastEnd:
      return fail(Errc::kNotFound,
                  log_->name() + ": every batch ends below offset " + std::to_string(target.value));
    case BatchSearch::Outcome::kDamaged: break;
  }
  return fail(Errc::kCorrupt, log_->name() + ": position " +
                                  std::to_string(found.damage.position.value) + ": " +
                                  found.damage.what);
}

Result<Position> Segment::end_below(Offset offset, Position valid_end) const {
  ASSIGN_OR_RETURN(const BatchSearch found, search(offset, valid_end, DecodeLimits{}));
  switch (found.outcome) {
    case BatchSearch::Outcome::kPastEnd: break;
    case BatchSearch::Outcome::kFound: {
      const BatchHeader& header = found.place.header;
      // Of a legacy wrapper the header tells the last offset only.
      const bool begins_below = header.base_offset < offset || !header.is_v2();
      return begins_below ? found.place.position + header.size_bytes : found.place.position;
    }
    case BatchSearch::Outcome::kDamaged:
      if (found.damage.first >= offset) return found.damage.position;
      break;
  }
  return valid_end;
}

Result<std::shared_ptr<const DecodedBatch>> Segment::read_batch(const BatchPlace& place,
                                                                const DecodeLimits& limits) const {
  LogWindow window(*log_, place.position + place.header.size_bytes);
  ASSIGN_OR_RETURN(OwnedBytes entry, window.take_entry(place.position, place.header));
  auto batch = DecodedBatch::decode(std::move(entry), limits);
  if (batch) return batch;
  report(place.position, batch.error().what);
  return fail(batch.error().code, log_->name() + ": position " +
                                      std::to_string(place.position.value) + ": " +
                                      batch.error().what);
}

void Segment::report(Position position, const std::string& what) const {
  if (problems_) problems_->add({log_->name(), position.value, what});
}

}  // namespace offsetfs::storage
