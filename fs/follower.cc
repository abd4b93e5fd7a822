#include "fs/follower.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

namespace offsetfs::fs {

using storage::Bytes;
using storage::Errc;
using storage::Error;
using storage::MutexLock;
using storage::Offset;
using storage::Result;

namespace {

// About so much is made at once for a reader that takes as much.
constexpr std::size_t kChunkBytes = 128 << 10;
// For who only asks whether there is something.
constexpr std::size_t kGlanceBytes = 4 << 10;
// A rest smaller than this part of what it holds on to is copied.
constexpr std::size_t kWorthKeeping = 4;
constexpr int kMostTries = 6;

}  // namespace

Follower::Follower(std::shared_ptr<FollowedLog> log, Form form, const FollowFrom& from,
                   const Access& granted)
    : log_(std::move(log)), form_(form), granted_(granted), nothing_given_from_end_(from.at_end) {
  stand_.place.offset = from.offset;
  stand_.awaited = from.awaited;
  const auto head = std::make_shared<const std::string>(log_->header(form));
  stand_.owner = head;
  stand_.rest = *head;
  log_->joined(form_);
  ++log_->shared().followers;
}

Follower::~Follower() {
  {
    const MutexLock lock(polling_);
    if (poll_) log_->cancel(*poll_);
  }
  log_->left(form_);
  --log_->shared().followers;
}

// --- Reading -----------------------------------------------------------------------------------

Result<Follower::Outcome> Follower::read(std::size_t size, const Deliver& deliver) {
  constexpr std::size_t kMostParts = 8;
  const MutexLock lock(reading_);
  size = std::min(size, kMostBytes);
  Stand stand = stand_;  // becomes ours once the bytes are the reader's
  std::array<Bytes, kMostParts> parts;
  std::array<std::shared_ptr<const void>, kMostParts> owners;
  std::size_t count = 0;
  std::size_t total = 0;
  while (total < size && count < kMostParts) {
    if (stand.rest.empty()) {
      if (log_->shared().stopped) break;  // the source may be what is stuck
      if (total > 0 && !log_->goes_beyond(stand.place.offset)) break;
      auto filled = fill(stand, std::min(size - total, kChunkBytes));
      if (!filled && total == 0) return storage::fail(std::move(filled.error()));
      if (!filled || stand.rest.empty()) break;
    }
    const Bytes part = stand.rest.substr(0, size - total);
    parts[count] = part;
    owners[count++] = stand.owner;
    total += part.size();
    stand.rest.remove_prefix(part.size());
  }
  if (total == 0) {
    stand_ = std::move(stand);  // it may have come further over what shows nothing
    if (!log_->shared().stopped) return Outcome::kNothingYet;
    deliver({});
    return Outcome::kDelivered;
  }
  keep_small(stand);  // `owners` have the parts; after the reply nothing may fail any more
  if (!deliver(std::span(parts.data(), count))) return Outcome::kDelivered;
  if (stand.place.given) nothing_given_from_end_ = false;
  stand_ = std::move(stand);
  return Outcome::kDelivered;
}

bool Follower::readable() {
  const MutexLock lock(reading_);
  if (!stand_.rest.empty() || log_->shared().stopped) return true;
  const auto filled = fill(stand_, kGlanceBytes);
  return !filled || !stand_.rest.empty();
}

// The next chunk as `rest`, or nothing.
Result<void> Follower::fill(Stand& stand, std::size_t want) {
  ASSIGN_OR_RETURN(const ChunkPtr chunk, next_chunk(stand, want));
  if (chunk == nullptr) return {};
  stand.place = chunk->next;
  stand.rest = chunk->bytes;
  stand.owned_bytes = chunk->memory_bytes();
  stand.owner = chunk;
  return {};
}

Result<Follower::ChunkPtr> Follower::next_chunk(Stand& stand, std::size_t want) {
  if (over_) return storage::fail(*over_);
  auto bounds = log_->bounds(stand.place.offset);
  for (int tries = 1;; ++tries) {
    if (!bounds) return failed_to_look(std::move(bounds.error()));
    ASSIGN_OR_RETURN(const bool due, is_due(stand, *bounds));
    if (!due && bounds->is_last) return is_over(nullptr);
    if (!due) return nullptr;
    auto chunk = log_->chunk(form_, stand.place, bounds->end, want);
    if (chunk) {
      RETURN_IF_ERROR(admit(**chunk));
      if (!(*chunk)->bytes.empty()) return chunk;
      stand.place = (*chunk)->next;
      tries = 0;  // it came further
      continue;
    }
    if (chunk.error().code != Errc::kNotFound) return chunk;
    if (tries == kMostTries)
      return storage::fail(Errc::kIo, log_->view().log->topic_partition().to_string() +
                                          ": the log changes faster than it can be read");
    // Between two renames of compaction's a segment may seem to be missing.
    if (tries > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1 << tries));
    bounds = log_->look();
  }
}

// Whether something may lie between `stand` and the end; `stand` is brought to where the log goes
// on. Records that were given must still be there.
Result<bool> Follower::is_due(Stand& stand, const FollowBounds& bounds) {
  RETURN_IF_ERROR(await(stand, bounds));
  if (stand.awaited) return false;
  if (nothing_given_from_end_) stand.place.offset = std::min(stand.place.offset, bounds.end);
  RETURN_IF_ERROR(look_behind(stand, bounds));
  if (stand.place.offset < bounds.log_start_offset) pass_over(stand, bounds.log_start_offset);
  return stand.place.offset < bounds.end;
}

// Whether what it came over is still there. A log loses its end: where the last batch is there, so
// are those before it.
Result<void> Follower::look_behind(Stand& stand, const FollowBounds& bounds) {
  LogPlace& place = stand.place;
  if (place.passed) {
    ASSIGN_OR_RETURN(const PlacedState state, log_->state_of(*place.passed, bounds));
    if (state != PlacedState::kReplaced) return {};
    place.offset = std::max(place.passed_from, bounds.log_start_offset);
    place.hint.reset();
    place.passed.reset();
  }
  if (!place.given) return {};
  ASSIGN_OR_RETURN(const PlacedState state, log_->state_of(*place.given, bounds));
  if (state == PlacedState::kReplaced) return is_over(&*place.given);
  return {};
}

// Looks whether the time that is waited for has come.
Result<void> Follower::await(Stand& stand, const FollowBounds& bounds) {
  if (!stand.awaited) return {};
  ASSIGN_OR_RETURN(const auto found, log_->view().log->find_time(*stand.awaited));
  if (!found.record || *found.record >= bounds.end) {
    // Nothing below the end is so new: bounds() need not say it again.
    stand.place.offset = std::max(stand.place.offset, bounds.end);
    return {};
  }
  stand.place.offset = *found.record;
  stand.awaited.reset();
  return {};
}

void Follower::pass_over(Stand& stand, Offset log_start_offset) {
  const Offset from = stand.place.offset;
  stand.place = {};
  stand.place.offset = log_start_offset;
  // Bytes that the reader did not get are made again; the words need not be.
  if (log_start_offset <= told_of_missing_to_) return;
  told_of_missing_to_ = log_start_offset;
  FollowShared& shared = log_->shared();
  shared.missed_offsets += static_cast<std::uint64_t>(log_start_offset - from);
  if (!shared.log) return;
  shared.log(LogLevel::kWarning,
             log_->view().log->topic_partition().to_string() +
                 ": a follower was passed by retention: it missed the offsets " +
                 std::to_string(from.value) + " to " + std::to_string(log_start_offset.value - 1) +
                 " and goes on at " + std::to_string(log_start_offset.value));
}

tl::unexpected<Error> Follower::is_over(const PlacedBatch* lost) {
  return failed_to_look({Errc::kOutOfRange, 0, log_->why_over(lost)});
}

tl::unexpected<Error> Follower::failed_to_look(Error error) {
  if (error.code != Errc::kOutOfRange) return storage::fail(std::move(error));
  error.what += ": a follower ends";
  over_ = std::move(error);
  if (const auto& log = log_->shared().log) log(LogLevel::kWarning, over_->what);
  return storage::fail(*over_);
}

Result<void> Follower::admit(const LogChunk& chunk) {
  for (const Offset segment : chunk.segments) {
    if (admitted_ == segment) continue;
    RETURN_IF_ERROR(log_->view().access.admits(granted_, segment));
    admitted_ = segment;
  }
  return {};
}

// A slow reader keeps what it did not take yet; that must not keep a whole chunk alive.
void Follower::keep_small(Stand& stand) {
  if (stand.rest.empty()) {
    stand.owner = nullptr;
    stand.owned_bytes = 0;
  } else if (stand.rest.size() * kWorthKeeping < stand.owned_bytes) {
    const auto copy = std::make_shared<const std::string>(stand.rest);
    stand.owner = copy;
    stand.rest = *copy;
    stand.owned_bytes = 0;
  }
}

// --- Waiting -----------------------------------------------------------------------------------

std::optional<FollowedLog::Ticket> Follower::wait(std::uint64_t version, FollowedLog::Wake wake) {
  FollowedLog::Waiter waiter;
  waiter.wake = std::move(wake);
  {
    const MutexLock lock(reading_);
    // Others in the place of what was passed may end where that did: any change may bring them.
    if (!stand_.awaited && !nothing_given_from_end_ && !stand_.place.passed)
      waiter.above = stand_.place.offset;
    waiter.fears_truncation = stand_.place.given.has_value();
  }
  return log_->wait(version, std::move(waiter));
}

void Follower::wait_to_poll(FollowedLog::Wake wake) {
  FollowedLog::Waiter waiter;
  waiter.wake = std::move(wake);  // by any change: it may be readable now, and must hear of more
  const MutexLock lock(polling_);
  if (poll_) log_->cancel(*poll_);
  poll_ = log_->wait(std::nullopt, std::move(waiter));
}

}  // namespace offsetfs::fs
