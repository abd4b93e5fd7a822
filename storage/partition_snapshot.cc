#include "storage/partition_snapshot.h"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <utility>

namespace offsetfs::storage {
namespace {

constexpr std::int64_t kMtimeSettlesNs = 100'000'000;

std::int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

std::int64_t realtime_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

bool same_directory_state(const FileInfo& a, const FileInfo& b) {
  return a.dev == b.dev && a.ino == b.ino && a.mtime_ns == b.mtime_ns;
}

std::pair<Offset, SegmentSuffix> name_order(const SegmentEntry& entry) {
  return {entry.base_offset, entry.suffix};
}

std::string without_slash(std::string below) {
  if (!below.empty()) below.pop_back();
  return below;
}

}  // namespace

std::size_t PartitionLog::Snapshot::floor(Offset offset) const {
  const auto after =
      std::upper_bound(live().begin(), live().end(), offset,
                       [](Offset o, const SegmentEntry& entry) { return o < entry.base_offset; });
  if (after == live().begin()) return live().size();
  return static_cast<std::size_t>(after - live().begin()) - 1;
}

std::shared_ptr<const PartitionLog::Snapshot> PartitionLog::snapshot() const {
  const std::int64_t now = now_ms();
  if (now - checked_ms_.load(std::memory_order_relaxed) < kRecheckMs) {
    const MutexLock lock(mutex_);
    if (snapshot_) return snapshot_;
  }
  if (dir_->is_slow()) {  // whoever is told of changes looks, and waits, for all
    const MutexLock lock(mutex_);
    if (snapshot_) return snapshot_;
  }
  return look_again();
}

bool PartitionLog::refresh() const {
  std::shared_ptr<const Snapshot> before;
  {
    const MutexLock lock(mutex_);
    before = snapshot_;
  }
  constexpr int kMostTries = 3;
  for (int tries = 1;; ++tries) {
    bool outrun = false;
    const auto now = look_again(false, &outrun);
    if (!outrun || tries == kMostTries) return now != before;
  }
}

std::shared_ptr<const PartitionLog::Snapshot> PartitionLog::look_again(bool list,
                                                                       bool* outrun) const {
  std::shared_ptr<const Snapshot> old;
  std::string directory;
  std::optional<ino_t> dir_ino;
  {
    const MutexLock lock(mutex_);
    old = snapshot_;
    directory = without_slash(below_);
    dir_ino = dir_ino_;
  }
  const std::int64_t now = now_ms();
  const auto info = dir_->info(directory);
  if (!list && old && info && same_directory_state(*info, old->dir_info) && !old->may_be_stale) {
    checked_ms_.store(now, std::memory_order_relaxed);
    return old;
  }
  auto fresh = std::make_shared<Snapshot>();
  // Where a daemon or another machine gives the numbers out they may change under a directory.
  if (info && dir_ino && info->ino != *dir_ino && !dir_->is_guarded()) {
    fresh->may_be_stale = true;  // a topic created anew under the name: not this log
  } else if (info) {
    fresh->dir_info = *info;
    // Its mtime goes by ticks: what changes in the same one after the listing would not be seen.
    fresh->may_be_stale = realtime_ns() - info->mtime_ns < kMtimeSettlesNs;
    if (!list_into(*fresh, directory) && old) return old;
  } else {
    fresh->may_be_stale = true;
    if (info.error().code != Errc::kNotFound) {
      shared_.problems->add({dir_->name_of(directory), -1, info.error().what});
      if (old) return old;  // what was known may still be read
    }
  }
  auto published = publish(old, fresh, now);
  if (outrun != nullptr) *outrun = published != fresh;
  return published;
}

bool PartitionLog::list_into(Snapshot& fresh, const std::string& directory) const {
  struct LogFile {
    Offset base_offset;
    SegmentSuffix suffix;
    ino_t ino;
  };
  std::vector<SegmentFileName> names;
  std::vector<LogFile> logs;
  const auto listed = dir_->list(directory, [&](const SourceDir::Entry& entry) {
    const auto name = parse_segment_file(entry.name);
    if (!name && entry.kind != SourceDir::Kind::kOther) return true;
    if (entry.kind != SourceDir::Kind::kFile) {
      shared_.problems->add(
          {dir_->name_of(directory.empty() ? std::string(entry.name)
                                           : directory + "/" + std::string(entry.name)),
           -1, "is no regular file: not opened"});
      return true;
    }
    names.push_back(*name);
    if (name->file == SegmentFile::kLog) {
      logs.push_back({name->base_offset, name->suffix, entry.ino});
    }
    return true;
  });
  if (!listed) {
    shared_.problems->add({dir_->name_of(directory), -1, listed.error().what});
    fresh.may_be_stale = true;
  }
  fresh.list = resolve_segments(
      std::move(names), [&](Offset base_offset) { return next_offset_of_swap(base_offset); });
  const auto order = [](const LogFile& a, const LogFile& b) {
    return a.base_offset != b.base_offset ? a.base_offset < b.base_offset : a.suffix < b.suffix;
  };
  std::sort(logs.begin(), logs.end(), order);
  fresh.log_inos.reserve(fresh.live().size());
  for (const SegmentEntry& entry : fresh.live()) {
    const LogFile wanted{entry.base_offset, entry.suffix_of(SegmentFile::kLog), 0};
    const auto at = std::lower_bound(logs.begin(), logs.end(), wanted, order);
    fresh.log_inos.push_back(at != logs.end() && at->base_offset == entry.base_offset ? at->ino
                                                                                      : ino_t{0});
  }
  return listed.has_value();
}

std::optional<Offset> PartitionLog::next_offset_of_swap(Offset base_offset) const {
  SegmentEntry entry;
  entry.base_offset = base_offset;
  entry.suffix = SegmentSuffix::kSwap;
  entry.files = 1U << static_cast<int>(SegmentFile::kLog);
  entry.swapped = entry.files;
  const auto segment = Segment::open(dir_, below(""), entry, nullptr);
  if (!segment) return std::nullopt;
  const auto tail = (*segment)->find_tail(Position{(*segment)->opened_info().size_bytes}, false);
  if (!tail || !tail->last_batch) return std::nullopt;
  return tail->next_offset;
}

// Makes `fresh` what readers see, unless somebody was faster, and forgets what is not true any
// more.
std::shared_ptr<const PartitionLog::Snapshot> PartitionLog::publish(
    const std::shared_ptr<const Snapshot>& old, const std::shared_ptr<Snapshot>& fresh,
    std::int64_t now) const {
  const std::size_t count = fresh->live().size();
  fresh->times = std::make_unique<std::atomic<std::int64_t>[]>(count);
  for (std::size_t i = 0; i < count; ++i) fresh->times[i] = Snapshot::kUnknown;
  std::vector<Replaced> stale;
  fresh->number = old ? old->number + 1 : 1;
  if (old) {
    count_generations(*old, *fresh);
    stale = compare(*old, *fresh);
  }
  if (count > 0)
    fresh->highest_base =
        std::max(fresh->highest_base, std::optional(fresh->live().back().base_offset));
  {
    const MutexLock lock(mutex_);
    if (snapshot_ != old) return snapshot_;
    snapshot_ = fresh;
    if (!dir_ino_ && fresh->dir_info.ino != 0) dir_ino_ = fresh->dir_info.ino;
    checked_ms_.store(now, std::memory_order_relaxed);
    for (const Replaced& was : stale) {
      sealed_tails_.erase(was.entry.base_offset);
      if (was.next > was.entry.base_offset) losses_.fetch_add(1, std::memory_order_release);
    }
  }
  // What is gone must not be held open: its space on the disk would not come free.
  std::vector<SegmentEntry> gone;
  if (old)
    std::ranges::set_difference(old->list.set_aside, fresh->list.set_aside,
                                std::back_inserter(gone), {}, name_order, name_order);
  for (const SegmentEntry& was : gone)
    shared_.open_segments->forget({owner_, was.base_offset, was.suffix});
  for (const Replaced& was : stale) {
    shared_.open_segments->forget({owner_, was.entry.base_offset, was.entry.suffix});
    if (was.next > was.entry.base_offset) {
      shared_.batches->forget(owner_, was.entry.base_offset, was.next);
    }
  }
  return fresh;
}

void PartitionLog::count_generations(const Snapshot& old, Snapshot& fresh) {
  fresh.generations = old.generations;
  fresh.highest_base = old.highest_base;
  std::size_t o = 0;
  for (std::size_t n = 0; n < fresh.live().size(); ++n) {
    SegmentEntry& entry = fresh.list.live[n];
    while (o < old.live().size() && old.live()[o].base_offset < entry.base_offset) ++o;
    const bool known = o < old.live().size() && old.live()[o].base_offset == entry.base_offset;
    if (known && old.log_inos[o] == fresh.log_inos[n]) {
      entry.generation = old.live()[o].generation;
    } else if (old.highest_base && entry.base_offset <= *old.highest_base) {
      entry.generation = ++fresh.generations;
    }
  }
}

// The segments of `old` that are other files now, or none; what was learned of the rest is kept.
std::vector<PartitionLog::Replaced> PartitionLog::compare(const Snapshot& old, Snapshot& fresh) {
  std::vector<Replaced> stale;
  std::size_t n = 0;
  for (std::size_t o = 0; o < old.live().size(); ++o) {
    const SegmentEntry& was = old.live()[o];
    while (n < fresh.live().size() && fresh.live()[n].base_offset < was.base_offset) ++n;
    const bool there = n < fresh.live().size() && fresh.live()[n].base_offset == was.base_offset;
    if (there && fresh.log_inos[n] == old.log_inos[o]) {
      // An index came or went, or a suffix: the files are opened again, what they hold is the same.
      if (fresh.live()[n] != was) stale.push_back({was, was.base_offset});
      if (!old.is_active(o) && !fresh.is_active(n)) {
        fresh.times[n] = old.times[o].load(std::memory_order_relaxed);
      }
      // A sealed segment that is active again was truncated.
      if (!old.is_active(o) && fresh.is_active(n)) stale.push_back({was, Offset{INT64_MAX}});
      continue;
    }
    stale.push_back({was, old.is_active(o) ? Offset{INT64_MAX} : old.live()[o + 1].base_offset});
  }
  return stale;
}

}  // namespace offsetfs::storage
