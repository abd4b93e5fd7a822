#include "fs/followed_log.h"

#include <algorithm>
#include <utility>

namespace offsetfs::fs {

using storage::Errc;
using storage::LogChanges;
using storage::MutexLock;
using storage::Offset;
using storage::PartitionLog;
using storage::Result;

FollowedLog::FollowedLog(std::shared_ptr<const PartitionView> view,
                         std::shared_ptr<FollowShared> shared)
    : view_(std::move(view)),
      shared_(std::move(shared)),
      stream_(shared_->resources.next_stream++) {}

void FollowedLog::listen() {
  const MutexLock lock(listening_);
  if (std::exchange(listens_, true)) return;
  subscription_ = shared_->source->changes().subscribe(
      view_->id, [weak = weak_from_this()](const LogChanges::Change&) {
        if (const auto log = weak.lock()) log->changed();
      });
}

// --- Reading -----------------------------------------------------------------------------------

Result<FollowBounds> FollowedLog::bounds(Offset offset) {
  {
    const MutexLock lock(mutex_);
    if (bounds_ && offset < bounds_->end) return *bounds_;
  }
  return look();
}

bool FollowedLog::goes_beyond(Offset offset) {
  const MutexLock lock(mutex_);
  return bounds_ && offset < bounds_->end;
}

Result<FollowBounds> FollowedLog::look() {
  ASSIGN_OR_RETURN(const FollowBounds fresh, follow_bounds(*view_->log));
  if (view_->log->segments()->empty()) {
    const auto known = shared_->source->open(view_->id);
    if (!known && known.error().code == Errc::kNotFound)
      return storage::fail(Errc::kOutOfRange, why_over(nullptr));
  }
  const MutexLock lock(mutex_);
  bounds_ = fresh;
  return fresh;
}

std::string FollowedLog::why_over(const PlacedBatch* given) const {
  const PartitionLog& log = *view_->log;
  const std::string name = log.topic_partition().to_string();
  if (log.state() == storage::DirState::kDelete) return name + ": its topic was deleted";
  const auto segments = log.segments();
  if (segments->empty()) return name + " is gone";
  // A directory may be removed file by file.
  const bool is_there =
      given == nullptr || std::ranges::binary_search(*segments, given->segment_base_offset, {},
                                                     &storage::SegmentEntry::base_offset);
  if (!is_there) return name + ": the segment of records that it was given was removed";
  return name + ": records that it was given were truncated away";
}

Result<PlacedState> FollowedLog::state_of(const PlacedBatch& given, const FollowBounds& bounds) {
  auto state = fs::state_of(given, *view_->log, bounds.log_start_offset);
  if (state && *state == PlacedState::kReplaced) ++generation_;
  return state;
}

std::shared_ptr<const RecordRenderer> FollowedLog::renderer(Form form) {
  const MutexLock lock(mutex_);
  auto& renderer = renderers_[static_cast<std::size_t>(form)];
  if (renderer == nullptr) renderer = make_renderer(form, view_->context);
  return renderer;
}

Result<FollowedLog::ChunkPtr> FollowedLog::chunk(Form form, const LogPlace& from, Offset end,
                                                 std::size_t want) {
  const auto renderer = this->renderer(form);
  const ChunkMaker maker{*view_->log, *renderer, shared_->show_control, shared_->resources,
                         stream_};
  const auto make = [&]() -> Result<ChunkPtr> {
    ASSIGN_OR_RETURN(LogChunk chunk, maker.make(from, end, want));
    return std::make_shared<const LogChunk>(std::move(chunk));
  };
  if (followers_[static_cast<std::size_t>(form)] <= 1) return make();

  bool made = false;
  const auto make_for_all = [&] {
    made = true;
    return make();
  };
  const ChunkKey key{stream_, generation_, form, from.offset.value};
  auto chunk = shared_->chunks.get(key, make_for_all,
                                   [](const LogChunk& value) { return value.memory_bytes(); });
  if (!chunk || made) return chunk;
  // What was passed over with nothing to show is each follower's own.
  if ((*chunk)->bytes.empty()) return make();
  // It was made a while ago: are its records still what is there?
  ASSIGN_OR_RETURN(const FollowBounds bounds, this->bounds(from.offset));
  ASSIGN_OR_RETURN(const PlacedState state, state_of(*(*chunk)->next.given, bounds));
  return state == PlacedState::kReplaced ? make() : std::move(chunk);
}

// --- Waiting -----------------------------------------------------------------------------------

std::optional<FollowedLog::Ticket> FollowedLog::wait(std::optional<std::uint64_t> version,
                                                     Waiter waiter) {
  const MutexLock lock(mutex_);
  if ((version && version_ != *version) || shared_->stopped) return std::nullopt;
  const Ticket ticket = ++last_ticket_;
  waiters_.emplace(ticket, std::move(waiter));
  ++shared_->waiting;
  return ticket;
}

bool FollowedLog::cancel(Ticket ticket) {
  Waiter cancelled;  // goes after the lock
  const MutexLock lock(mutex_);
  const auto found = waiters_.find(ticket);
  if (found == waiters_.end()) return false;
  cancelled = std::move(found->second);
  waiters_.erase(found);
  --shared_->waiting;
  return true;
}

// In the thread that noticed the change: the look is for the pool.
void FollowedLog::changed() {
  {
    const MutexLock lock(mutex_);
    ++version_;
    if (waiters_.empty()) {
      // Nobody waits; who comes next looks by themselves.
      bounds_.reset();
      return;
    }
  }
  if (look_is_due_.exchange(true)) return;
  shared_->pool.add([weak = weak_from_this()] {
    if (const auto log = weak.lock()) log->look_and_wake();
  });
}

void FollowedLog::look_and_wake() {
  look_is_due_ = false;  // a change from here on is for another look
  std::vector<Wake> woken = take_waiters(look());
  if (woken.empty()) return;
  // One goes at once, and the others side by side.
  const Wake first = std::move(woken.back());
  woken.pop_back();
  shared_->pool.add(std::move(woken));
  first();
}

std::vector<FollowedLog::Wake> FollowedLog::take_waiters(const Result<FollowBounds>& bounds) {
  std::vector<Wake> woken;
  const MutexLock lock(mutex_);
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    const auto& above = waiter->second.above;
    const bool due = shared_->stopped || !bounds || bounds->is_last || !above ||
                     bounds->end > *above ||
                     (waiter->second.fears_truncation && bounds->end < *above);
    if (!due) {
      ++waiter;
      continue;
    }
    woken.push_back(std::move(waiter->second.wake));
    waiter = waiters_.erase(waiter);
    --shared_->waiting;
  }
  return woken;
}

void FollowedLog::stop() {
  {
    const MutexLock lock(listening_);
    listens_ = true;
    subscription_.end();
  }
  for (const Wake& wake : take_waiters(FollowBounds{})) wake();
}

}  // namespace offsetfs::fs
