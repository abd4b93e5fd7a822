#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fs/attributes.h"
#include "fs/follow_start.h"
#include "fs/followed_log.h"
#include "fs/log_chunk.h"
#include "fs/log_place.h"
#include "fs/node.h"
#include "fs/open_file.h"
#include "storage/mutex.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// One reader of a `follow/` file: where it stands, and what it has of the lines it is to get next.
// It never blocks: who finds nothing waits for a wake-up, in whatever way suits them.
//
// Every record from the start on is given once and in order, whatever happens to segments. What
// retention took before it was read is passed over, and the log says so. Once records that were
// given have been replaced (a truncation, a topic created anew) nothing more is: kOutOfRange. So it
// ends too behind the last record of a topic that was deleted.
//
// Any thread; one read at a time goes on. Holds no more than what one read left over: part of a
// chunk, or its last lines.
class Follower {
 public:
  // No reply is larger: the kernel cuts reads above the largest READ (512 KiB, fuse_ops.cc) into
  // several, and after a part that was filled it would wait for the next one before it hands over
  // the first.
  static constexpr std::size_t kMostBytes = 384 << 10;

  // Takes the next bytes, in order; no parts: the end of the file, the mount is being ended. False:
  // the reader did not get them, and they will be given again. They are valid during the call.
  using Deliver = std::function<bool(std::span<const storage::Bytes> parts)>;
  enum class Outcome { kDelivered, kNothingYet };

  // `granted`: who was let in. A segment that is not for all of them ends the stream.
  Follower(std::shared_ptr<FollowedLog> log, Form form, const FollowFrom& from,
           const Access& granted);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // What there is, `size` bytes at most. Errors: of damage, at each read again; kIo.
  storage::Result<Outcome> read(std::size_t size, const Deliver& deliver);
  // True if read() would not say kNothingYet.
  bool readable();

  // Before read() or readable(); then, if there was nothing, wait for another version. Nothing:
  // there is one already. `wake` is called once, from a thread of the pool, and may read.
  std::uint64_t version() const { return log_->version(); }
  std::optional<FollowedLog::Ticket> wait(std::uint64_t version, FollowedLog::Wake wake);
  bool cancel(FollowedLog::Ticket ticket) { return log_->cancel(ticket); }
  // For who polls, before readable(): told of whatever comes from now on, read or not. A second one
  // takes the place of the first.
  void wait_to_poll(FollowedLog::Wake wake);

 private:
  using ChunkPtr = FollowedLog::ChunkPtr;

  // Where the next byte comes from.
  struct Stand {
    LogPlace place;                               // of the next chunk
    std::optional<storage::TimestampMs> awaited;  // as FollowFrom has it
    // What is left of the last chunk, kept alive by its owner.
    std::shared_ptr<const void> owner;
    storage::Bytes rest;
    std::size_t owned_bytes = 0;
  };

  storage::Result<ChunkPtr> next_chunk(Stand& stand, std::size_t want) REQUIRES(reading_);
  storage::Result<bool> is_due(Stand& stand, const FollowBounds& bounds) REQUIRES(reading_);
  storage::Result<void> look_behind(Stand& stand, const FollowBounds& bounds) REQUIRES(reading_);
  storage::Result<void> await(Stand& stand, const FollowBounds& bounds) REQUIRES(reading_);
  storage::Result<void> admit(const LogChunk& chunk) REQUIRES(reading_);
  storage::Result<void> fill(Stand& stand, std::size_t want) REQUIRES(reading_);
  void pass_over(Stand& stand, storage::Offset log_start_offset) REQUIRES(reading_);
  tl::unexpected<storage::Error> is_over(const PlacedBatch* lost) REQUIRES(reading_);
  tl::unexpected<storage::Error> failed_to_look(storage::Error error) REQUIRES(reading_);
  static void keep_small(Stand& stand);

  const std::shared_ptr<FollowedLog> log_;
  const Form form_;
  const Access granted_;

  storage::Mutex reading_;  // held while chunks are made and delivered
  Stand stand_ GUARDED_BY(reading_);
  bool nothing_given_from_end_ GUARDED_BY(reading_);
  std::optional<storage::Error> over_ GUARDED_BY(reading_);  // and never anything else
  std::optional<storage::Offset> admitted_ GUARDED_BY(reading_);
  storage::Offset told_of_missing_to_ GUARDED_BY(reading_){};

  storage::Mutex polling_;
  std::optional<FollowedLog::Ticket> poll_ GUARDED_BY(polling_);
};

// An open `follow/` file. Its bytes have no positions: they are read through the follower, which
// outlives the file where somebody is still at it.
class FollowFile : public OpenFile {
 public:
  explicit FollowFile(std::shared_ptr<Follower> follower) : follower_(std::move(follower)) {}

  storage::Result<storage::Bytes> read(std::uint64_t, std::size_t, std::string&) const override {
    return storage::fail(storage::Errc::kInvalid, "has no positions to read at");
  }
  OpenFlags flags() const override { return {.direct_io = true, .nonseekable = true}; }
  std::shared_ptr<Follower> follower() const override { return follower_; }

 private:
  const std::shared_ptr<Follower> follower_;
};

}  // namespace offsetfs::fs
