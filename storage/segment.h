#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "storage/batch_order.h"
#include "storage/batch_place.h"
#include "storage/dir.h"
#include "storage/file.h"
#include "storage/log_window.h"
#include "storage/mutex.h"
#include "storage/offset_index.h"
#include "storage/problems.h"
#include "storage/record_batch.h"
#include "storage/result.h"
#include "storage/segment_files.h"
#include "storage/segment_list.h"
#include "storage/time_index.h"
#include "storage/units.h"

namespace offsetfs::storage {

// What the search for an offset in one segment came to.
struct BatchSearch {
  enum class Outcome {
    kFound,    // `place` and `batch`: the first batch with last_offset >= target
    kPastEnd,  // every batch ends below the target: go on in the next segment
    kDamaged,  // `damage` lies where the batch would have to be. damage.first > target: the target
               // itself lies in a gap before it
  };
  Outcome outcome = Outcome::kPastEnd;
  BatchPlace place;
  std::shared_ptr<const DecodedBatch> batch;
  Damage damage;
};

// Where a segment's batches end.
struct SegmentTail {
  Position end{};                      // a batch boundary: what lies behind it is no batch
  Offset next_offset{};                // of the last batch; the base offset if there is none
  std::optional<Position> last_batch;  // where that begins
  BatchHeader last_header;             // if last_batch
  bool torn = false;                   // bytes lie behind `end`
  bool zero_tail = false;              // they are zeros: a preallocated file
};

// One `.log` with its indexes, opened: batches lie back to back from position 0, their offsets
// ascend, with gaps after compaction. Immutable but for the living end of an active segment's file,
// which every call takes as a parameter (`valid_end`, a batch boundary that the partition log
// keeps, or the file's size: then a torn batch at the end is the end). Any thread.
//
// Indexes are hints. An entry is believed only if a plausible batch header stands at its position
// and the target cannot lie before it; and when what follows looks odd (a gap, damage) only if a
// CRC confirms it. Else the scan begins at an earlier entry, at last at 0. So a missing, stale,
// padded or wrong index costs time and never changes an answer.
class Segment {
 public:
  // A `.log` of at most this many bytes is scanned without opening its index: it is one read.
  static constexpr std::int64_t kScanBytes = 16 << 10;

  // `stem`: path below `dir` up to the 20 digits, with a slash where needed ("orders-3/"). Indexes
  // are opened when first asked, under the suffixes that the entry says. Damage is named in
  // `problems` (may be null) when met.
  static Result<std::shared_ptr<const Segment>> open(std::shared_ptr<const SourceDir> dir,
                                                     std::string stem, const SegmentEntry& entry,
                                                     std::shared_ptr<Problems> problems = nullptr);

  Offset base_offset() const { return base_offset_; }
  const File& log() const { return *log_; }
  const FileInfo& opened_info() const { return opened_info_; }
  // The file's size, asked once a `listing`, the number of that in which it was seen to be sealed:
  // a truncation within it changes the directory, since what lay behind it goes. `changed`: the
  // file is not as it was when this was asked before.
  Result<Position> sealed_size(std::uint64_t listing, bool& changed) const;
  // It was sealed already when it was opened.
  void opened_sealed(std::uint64_t listing) const;

  // The first batch with last_offset >= target, at a position below valid_end, read, checked and
  // decoded. An Error is an I/O failure.
  Result<BatchSearch> search(Offset target, Position valid_end, const DecodeLimits& limits) const;
  // The same for those who only want the place. kNotFound: none (the caller goes on in the next
  // segment). kCorrupt: damage lies where the batch would have to be.
  Result<BatchPlace> find_batch(Offset target, Position valid_end) const;
  // Where the batches end that may hold an offset below `offset`: valid_end, if all do.
  Result<Position> end_below(Offset offset, Position valid_end) const;
  // The first batch with max_timestamp >= target and last_offset >= from, by its header alone: no
  // CRC was looked at yet. kNotFound: none.
  Result<BatchPlace> find_batch_by_time(TimestampMs target, Offset from, Position valid_end) const;
  // The largest max_timestamp of the batches below valid_end; kNoTimestamp if none has any.
  //
  // The last entry of a time index is believed only if the batch it names has exactly that
  // max_timestamp; then what lies behind that batch is looked through, so that an index which ends
  // too early is no harm. That everything before the batch is not newer is taken from such an entry
  // on trust where the `.log` is larger than kTimeScanBytes; smaller ones are looked through whole.
  Result<TimestampMs> max_timestamp(Position valid_end) const;
  static constexpr std::int64_t kTimeScanBytes = 256 << 10;
  // The same from a batch boundary on, where `largest` is known of what lies before.
  Result<TimestampMs> max_timestamp_from(Position from, TimestampMs largest,
                                         Position valid_end) const;

  // Reads and checks the whole batch at a place. kCorrupt names file and position.
  Result<std::shared_ptr<const DecodedBatch>> read_batch(const BatchPlace& place,
                                                         const DecodeLimits& limits) const;

  // Walks from the last index entry that proves good to `size`, which is the file's. `living`: a
  // bad last batch is one still being written, and not part of the log, unless it begins below
  // `settled`, where a broker was done with writing; else it is damage.
  Result<SegmentTail> find_tail(Position size, bool living, Offset settled = kNoneSettled) const;
  static constexpr Offset kNoneSettled{INT64_MIN};
  // The same, from a tail found earlier, as the file has grown since. kOutOfRange: that tail's last
  // batch is not there any more (the file was truncated and written anew).
  Result<SegmentTail> extend_tail(const SegmentTail& known, Position size, bool living,
                                  Offset settled = kNoneSettled) const;
  // The last batch below valid_end that holds a record (`control`: control batches count too).
  Result<std::optional<BatchPlace>> last_batch_with_records(Position valid_end, bool control) const;

  // The damage that begins at `position`, a batch boundary where no good batch stands: how far it
  // reaches, and which offsets it took. Named in problems once. `end` == `position`: no damage but
  // a torn tail, behind which nothing follows (it is named too: ask for a living end only below
  // it). `expected_offset`: the next_offset of the batch before, or the base offset at position 0;
  // absent where it isn't known: then it is looked for. A good batch that lies out of line
  // (batch_order.h) is damage too.
  Result<Damage> damage_at(Position position, std::optional<Offset> expected_offset,
                           Position valid_end) const;

  // The next_offset of the last batch in line before a batch boundary: what is expected there.
  // Nothing if no walk leads there.
  Result<std::optional<Offset>> expected_at(Position position, Position valid_end) const;

  // Null where the file is absent, unreadable or no index at all.
  const OffsetIndex* offset_index() const;
  const TimeIndex* time_index() const;

 private:
  // Where a walk over headers begins.
  struct Start {
    Position position{};
    std::optional<OffsetPosition> entry;
    bool trusted = false;  // a batch begins here for sure
  };
  struct WalkEnd;  // segment_search.cc
  // An index, opened when first asked and then kept: pointers to it stay good. Null and tried:
  // there is none.
  template <class Index>
  struct Lazy {
    std::atomic<bool> tried = false;
    std::unique_ptr<const Index> index;  // written once, before `tried`
  };

  Segment(std::shared_ptr<const SourceDir> dir, std::string stem, const SegmentEntry& entry,
          std::unique_ptr<const File> log, FileInfo info, std::shared_ptr<Problems> problems);

  bool plausible(const BatchHeader& header) const { return within_segment(header, base_offset_); }
  Result<bool> lies_in_line(Position position, const BatchHeader& header,
                            std::optional<Offset> expected_offset, LogWindow& window) const {
    return window.lies_in_line(position, header, expected_offset, base_offset_);
  }
  Result<std::optional<Offset>> expected_at(Position position, LogWindow& window) const;
  Result<OffsetIndex::Around> index_around(Offset target, Position limit) const;
  Result<bool> found_at_once(const OffsetIndex::Around& around, Offset target, LogWindow& window,
                             const DecodeLimits& limits, BatchSearch& search) const;
  Result<Start> start_for(const OffsetIndex::Around& around, Offset target,
                          LogWindow& window) const;
  Result<bool> may_begin_at(const OffsetPosition& entry, Offset target, LogWindow& window) const;
  Result<bool> start_is_astray(const WalkEnd& end, LogWindow& window) const;
  Result<Start> earlier_start(const Start& start, int steps, Offset target,
                              LogWindow& window) const;
  Result<WalkEnd> walk(const Start& start, Offset target, LogWindow& window) const;
  Result<std::optional<Position>> judge(WalkEnd& end, Offset target, LogWindow& window,
                                        const DecodeLimits& limits, BatchSearch& search) const;
  Result<bool> is_trusted(const Start& start, LogWindow& window) const;
  Result<Position> resume_position(Position damaged, Offset at_least, LogWindow& window) const;
  Result<std::optional<Position>> next_good_batch(Position from, Position to, Offset at_least,
                                                  Position limit) const;
  Result<std::optional<Position>> next_good_entry(Position from, Offset at_least,
                                                  LogWindow& window) const;
  Result<Damage> describe(Position position, Position end, std::optional<Offset> expected_offset,
                          LogWindow& window) const;
  Result<std::string> what_is_wrong(Position position, std::optional<Offset> expected_offset,
                                    LogWindow& window) const;
  Result<Offset> first_offset_of(Position position, const BatchHeader& header,
                                 LogWindow& window) const;
  Result<Position> last_index_position(Position size, LogWindow& window) const;
  Result<SegmentTail> walk_to_tail(SegmentTail tail, Position from, LogWindow& window, bool living,
                                   Offset settled) const;
  Result<std::optional<BatchPlace>> last_with_records(Position from, Position to, bool control,
                                                      LogWindow& window, bool& whole) const;
  Result<std::optional<BatchPlace>> proven(const TimestampOffset& entry, LogWindow& window) const;
  Result<Start> start_for_time(TimestampMs target, Offset from, LogWindow& window) const;
  template <class Index>
  const Index* opened(Lazy<Index>& lazy, SegmentFile kind) const;
  void report(Position position, const std::string& what) const;

  const std::shared_ptr<const SourceDir> dir_;
  const std::string stem_;
  const SegmentEntry entry_;
  const Offset base_offset_;
  const std::unique_ptr<const File> log_;
  const FileInfo opened_info_;
  const std::shared_ptr<Problems> problems_;

  mutable std::atomic<std::int64_t> sealed_size_ = 0;
  mutable std::atomic<std::uint64_t> sealed_in_ = 0;  // the listing that it was asked for; 0: none

  mutable Mutex opening_;  // held while an index is opened: others who want it wait for it
  mutable Lazy<OffsetIndex> offset_index_;
  mutable Lazy<TimeIndex> time_index_;

  mutable Mutex mutex_;
  struct Known {
    Damage damage;
    Position looked_to{};
  };
  mutable std::optional<FileInfo> sealed_info_ GUARDED_BY(mutex_);  // when its size was asked last
  mutable std::map<Position, Known> damages_ GUARDED_BY(mutex_);    // bounded: kMostDamages
};

}  // namespace offsetfs::storage
