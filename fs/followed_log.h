#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "fs/follow_bounds.h"
#include "fs/log_chunk.h"
#include "fs/log_place.h"
#include "fs/log_sink.h"
#include "fs/node.h"
#include "fs/partitions.h"
#include "fs/renderer.h"
#include "fs/single_flight_cache.h"
#include "fs/stream_resources.h"
#include "fs/wake_pool.h"
#include "storage/log_changes.h"
#include "storage/log_source.h"
#include "storage/mutex.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// A chunk that several followers want, by where it begins. `generation` counts the times that
// records were replaced.
struct ChunkKey {
  std::uint64_t stream = 0;
  std::uint64_t generation = 0;
  Form form = Form::kRaw;
  std::int64_t offset = 0;

  friend bool operator==(const ChunkKey&, const ChunkKey&) = default;
};

struct ChunkKeyHash {
  std::size_t operator()(const ChunkKey& key) const noexcept {
    return static_cast<std::size_t>((key.stream * 0x9e3779b97f4a7c15U) ^
                                    (key.generation * 0xff51afd7ed558ccdU) ^
                                    (static_cast<std::uint64_t>(key.offset) * 0xc2b2ae3d27d4eb4fU) ^
                                    static_cast<std::uint64_t>(key.form));
  }
};

// What all followers of a mount share.
struct FollowShared {
  FollowShared(std::shared_ptr<const storage::LogSource> log_source,
               StreamResources& stream_resources, bool control, LogSink sink,
               std::size_t chunks_bytes, int threads)
      : source(std::move(log_source)),
        resources(stream_resources),
        show_control(control),
        log(std::move(sink)),
        chunks(chunks_bytes),
        pool(threads) {}

  const std::shared_ptr<const storage::LogSource> source;
  StreamResources& resources;
  const bool show_control;
  const LogSink log;
  SingleFlightCache<ChunkKey, LogChunk, ChunkKeyHash> chunks;
  std::atomic<bool> stopped = false;
  std::atomic<std::int64_t> followers = 0;
  std::atomic<std::int64_t> waiting = 0;
  std::atomic<std::uint64_t> missed_offsets = 0;
  WakePool pool;  // last: its tasks use the others
};

// What the followers of one partition share: they listen to its changes once, look once at what a
// change brought, and where several stand at the same place the lines are made once for all. Lives
// as long as one of them. Any thread.
class FollowedLog : public std::enable_shared_from_this<FollowedLog> {
 public:
  using Wake = std::function<void()>;
  using Ticket = std::uint64_t;
  using ChunkPtr = std::shared_ptr<const LogChunk>;

  FollowedLog(std::shared_ptr<const PartitionView> view, std::shared_ptr<FollowShared> shared);
  ~FollowedLog() = default;
  FollowedLog(const FollowedLog&) = delete;
  FollowedLog& operator=(const FollowedLog&) = delete;

  // Listens to the changes from when this returns, if it did not before. It may have to look at the
  // source.
  void listen();

  const PartitionView& view() const { return *view_; }
  FollowShared& shared() const { return *shared_; }

  // Which forms are followed by how many.
  void joined(Form form) { ++followers_[static_cast<std::size_t>(form)]; }
  void left(Form form) { --followers_[static_cast<std::size_t>(form)]; }

  // The bounds as they were last seen, if that is enough to read at `offset`; else as they are now.
  // kOutOfRange: the partition is gone.
  storage::Result<FollowBounds> bounds(storage::Offset offset);
  storage::Result<FollowBounds> look();
  // Whether there is more behind `offset`, as far as is known without a look.
  bool goes_beyond(storage::Offset offset);

  // ChunkMaker's, and its errors; shared where the followers of the form are several.
  storage::Result<ChunkPtr> chunk(Form form, const LogPlace& from, storage::Offset end,
                                  std::size_t want);
  // Of what was given out, `bounds` being the newest seen. Forgets what is shared if it was
  // replaced.
  storage::Result<PlacedState> state_of(const PlacedBatch& given, const FollowBounds& bounds);
  // For the log, once nothing more is to be given: the topic was deleted, or the partition is gone,
  // or `given` (may be null) is not there any more.
  std::string why_over(const PlacedBatch* given) const;
  std::string header(Form form) { return renderer(form)->header(); }

  // --- Waiting
  // Counts the changes: ask before looking whether there is something to read.
  std::uint64_t version() const { return version_.load(); }
  struct Waiter {
    // Woken when the end is greater; nothing: by any change.
    std::optional<storage::Offset> above;
    bool fears_truncation = false;  // or when it is less
    Wake wake;                      // called once, from another thread, holding no lock
  };
  // Nothing: something changed since `version`; look again instead of waiting. Without a version
  // whatever came before does not count: look afterwards.
  std::optional<Ticket> wait(std::optional<std::uint64_t> version, Waiter waiter);
  // False: it was woken already, or is just being.
  bool cancel(Ticket ticket);
  // Wakes all, for good: nobody waits any more, and nothing is listened to.
  void stop();

 private:
  void changed();
  void look_and_wake();
  std::vector<Wake> take_waiters(const storage::Result<FollowBounds>& bounds);
  std::shared_ptr<const RecordRenderer> renderer(Form form);

  static constexpr std::size_t kForms = static_cast<std::size_t>(Form::kTsv) + 1;

  const std::shared_ptr<const PartitionView> view_;
  const std::shared_ptr<FollowShared> shared_;
  const std::uint64_t stream_;
  std::array<std::atomic<int>, kForms> followers_{};
  std::atomic<std::uint64_t> version_ = 0;
  std::atomic<std::uint64_t> generation_ = 0;
  std::atomic<bool> look_is_due_ = false;

  storage::Mutex mutex_;
  std::array<std::shared_ptr<const RecordRenderer>, kForms> renderers_ GUARDED_BY(mutex_);
  std::optional<FollowBounds> bounds_ GUARDED_BY(mutex_);
  std::unordered_map<Ticket, Waiter> waiters_ GUARDED_BY(mutex_);
  Ticket last_ticket_ GUARDED_BY(mutex_) = 0;

  storage::Mutex listening_;
  bool listens_ GUARDED_BY(listening_) = false;
  // Last: ends before what its listener uses.
  storage::LogChanges::Subscription subscription_ GUARDED_BY(listening_);
};

}  // namespace offsetfs::fs
