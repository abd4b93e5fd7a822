#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fs/log_place.h"
#include "fs/stream_pieces.h"
#include "storage/mutex.h"
#include "storage/partition_log.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// The segments that hold the offsets [from, to) of a partition, as they stood when this was made.
// Their files are opened when their turn comes, or a little earlier: what lies next ahead of a
// reader who goes on piece by piece is held open, as far as there is room, so that retention beside
// it does not take it away. One that was taken before that is kNotFound, which says what went; one
// that is open outlives it. Of those behind the reader only the last few stay open.
//
// A truncation within the offsets takes the last batch of them first: that batch is looked for
// whenever somebody asks how they stand().
class LogPieces : public StreamPieces {
 public:
  struct Span {
    storage::Offset from{};
    storage::Offset to{};  // exclusive; at or below the log end
    // Segments whose records are known to be all older, or to have no time, show nothing.
    std::optional<storage::TimestampMs> from_time;
    // Asked before a segment's file is opened, if set: an error of its is open()'s.
    std::function<storage::Result<void>(const storage::SegmentEntry&)> admit = {};
    // How many more segments all streams together may hold ahead; outlives this. Null: none.
    std::atomic<std::int64_t>* room_ahead = nullptr;
  };
  static constexpr std::size_t kMostAhead = 16;

  ~LogPieces() override;

  // Looks up both ends. kNotFound: a segment went meanwhile.
  static storage::Result<std::shared_ptr<const LogPieces>> make(
      std::shared_ptr<const storage::PartitionLog> log, const Span& span);

  std::size_t count() const override { return count_; }
  std::string name() const override { return log_->topic_partition().to_string(); }
  storage::Result<StreamPiece> open(std::size_t piece) const override;
  storage::Result<StreamPiece> glance(std::size_t piece) const override;
  storage::Result<Standing> standing(std::span<const PlacedBatch> given) const override;
  // Before the first read: what that comes to is held from now on. `stays`: a size is promised, so
  // a piece that was looked into once, let go of and compacted since is kNotFound. Of at most
  // kMostCounted pieces.
  storage::Result<void> hold_front(bool stays) const;

  // True if the pieces have more than `bytes` of log, and if they are so many that to open them all
  // would keep a reader waiting, however small they are. Opens no more segments than it must.
  static constexpr std::size_t kMostCounted = 256;
  storage::Result<bool> exceeds(std::int64_t bytes) const;

 private:
  using Entries = std::shared_ptr<const std::vector<storage::SegmentEntry>>;

  LogPieces(std::shared_ptr<const storage::PartitionLog> log, const Span& span, Entries entries,
            std::size_t first, std::size_t count);

  storage::Result<void> find_ends();
  storage::Result<storage::Position> begin_in(const storage::Segment& segment,
                                              storage::Position end) const;
  storage::Result<storage::Position> end_in(const storage::SegmentEntry& entry,
                                            const storage::Segment& segment) const;
  void find_last() const;
  storage::Result<std::optional<PlacedBatch>> last_in(
      const storage::SegmentEntry& entry, const std::shared_ptr<const storage::Segment>& segment,
      storage::Position end) const;
  bool last_stands() const;
  storage::Result<bool> is_cut() const;
  storage::Result<PlacedState> state_now(const PlacedBatch& batch) const;
  std::optional<StreamPiece> opened(std::size_t piece) const;
  storage::Result<StreamPiece> look_into(std::size_t piece) const;
  storage::Result<StreamPiece> open_afresh(std::size_t piece) const;
  storage::Result<StreamPiece> look_at(std::size_t piece, storage::SegmentEntry& entry) const;
  bool is_current(const storage::SegmentEntry& entry, const storage::Segment& segment) const;
  storage::Result<void> check_same(std::size_t piece, const storage::SegmentEntry& entry,
                                   const StreamPiece& value) const;
  void hold_ahead(std::size_t piece) const;
  void let_go(std::size_t piece) const;
  bool is_held(std::size_t piece) const;
  bool hold(std::size_t piece, StreamPiece value) const;
  storage::Error gone(std::size_t piece, const char* how) const;
  storage::Offset records_end(std::size_t piece) const;
  storage::Result<std::shared_ptr<const storage::Segment>> segment(
      std::size_t piece, storage::SegmentEntry& entry) const;
  storage::Result<bool> is_too_old(std::size_t piece) const;

  const std::shared_ptr<const storage::PartitionLog> log_;
  const Span span_;
  const Entries entries_;
  const std::size_t first_;
  const std::size_t count_;
  // Constant after make().
  storage::Position begin_{};                         // in the first
  storage::Position end_{};                           // in the last
  std::weak_ptr<const storage::Segment> first_file_;  // of which that is true
  std::weak_ptr<const storage::Segment> last_file_;
  // Constant after hold_front().
  mutable std::optional<PlacedBatch> last_batch_;
  mutable bool stays_ = false;

  struct Opened {
    std::size_t piece = SIZE_MAX;
    StreamPiece value;
  };
  // By its last batch a piece is known again.
  struct Seen {
    storage::Position position{};
    std::uint32_t crc = 0;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  mutable std::atomic<bool> cut_ = false;
  mutable storage::Mutex mutex_;
  mutable std::array<Opened, 2> opened_ GUARDED_BY(mutex_);              // the latest first
  mutable std::map<std::size_t, StreamPiece> ahead_ GUARDED_BY(mutex_);  // by piece
  mutable std::map<std::size_t, Seen> seen_ GUARDED_BY(mutex_);          // if stays_
};

}  // namespace offsetfs::fs
