#include "fs/log_chunk.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "fs/batch_window.h"
#include "fs/record_filter.h"
#include "fs/stream_damage.h"
#include "fs/stream_pieces.h"
#include "storage/batch_header.h"
#include "storage/crc32c.h"

namespace offsetfs::fs {

using storage::BatchHeader;
using storage::BatchSearch;
using storage::Bytes;
using storage::DecodedBatch;
using storage::Errc;
using storage::Error;
using storage::HeaderStatus;
using storage::Offset;
using storage::Position;
using storage::Record;
using storage::RecordReader;
using storage::Result;
using storage::Segment;
using storage::SegmentEntry;

namespace {

constexpr std::size_t kLeastGuess = 16 << 10;
constexpr std::size_t kMostGuess = 512 << 10;
// A batch is given whole if that makes the chunk larger by no more than this: to begin in the
// middle of one it must be decoded again.
constexpr std::size_t kMostBeyond = 256 << 10;
// After so much log a chunk is as it is.
constexpr std::int64_t kPatienceBytes = 16 << 20;
// A larger batch is refused: as BatchScanner does.
constexpr std::int64_t kMostBatchBytes = 256 << 20;

tl::unexpected<Error> not_as_thought() {
  return storage::fail(Errc::kNotFound, "the log is another than before");
}

class Walk {
 public:
  Walk(const ChunkMaker& maker, const LogPlace& from, Offset end, std::size_t want)
      : maker_(maker),
        log_(maker.log),
        resources_(maker.resources),
        from_(from),
        end_(end),
        want_(want),
        buffers_(resources_.buffers.lend()),
        offset_(from.offset) {
    filter_.show_control = maker.show_control;
    chunk_.next = from;
  }

  Result<LogChunk> run() {
    auto walked = walk();
    // What comes before an error is given first, and who wants more meets it again.
    if (chunk_.bytes.empty()) {
      if (!walked) return storage::fail(std::move(walked.error()));
      if (damage_) return fail_at_damage();
      if (offset_ == from_.offset) return not_as_thought();
    }
    RETURN_IF_ERROR(check_last());
    chunk_.next.offset = offset_;
    chunk_.next.hint = {segment_->base_offset(), segment_,   position_, begun_.record_position,
                        begun_.ordinal,          begun_.crc, expected_};
    return std::move(chunk_);
  }

 private:
  Result<void> walk() {
    RETURN_IF_ERROR(enter());
    while (!done_) {
      RETURN_IF_ERROR(walk_segment());
      if (done_) break;
      ASSIGN_OR_RETURN(auto lost, log_.lost_behind((*entries_)[index_], records_end_));
      if (lost && offset_ < records_end_) {
        lost_ = true;
        return damaged({Errc::kCorrupt, 0,
                        segment_->log().name() + ": at position " +
                            std::to_string(lost->position.value) + ": " + lost->what});
      }
      ASSIGN_OR_RETURN(const bool more, enter_next());
      if (!more) break;
    }
    return {};
  }

  // --- Segments

  // A file that is held open outlives its name, and the listing may be older than a truncation:
  // then what was written anew in one segment would be followed by what was removed with the next
  // one.
  Result<void> check_last() {
    if (chunk_.bytes.empty()) return {};
    const Offset first = from_.given ? from_.given->segment_base_offset : chunk_.segments.front();
    if (chunk_.next.given->segment_base_offset == first) return {};
    log_.refresh();
    ASSIGN_OR_RETURN(const PlacedState state,
                     state_of(*chunk_.next.given, log_, log_.log_start_offset()));
    if (state == PlacedState::kReplaced) return not_as_thought();
    return {};
  }

  Result<void> enter() {
    entries_ = log_.segments();
    if (from_.hint) {
      const auto entry = std::lower_bound(
          entries_->begin(), entries_->end(), from_.hint->segment_base_offset,
          [](const SegmentEntry& e, Offset offset) { return e.base_offset < offset; });
      if (entry != entries_->end() && entry->base_offset == from_.hint->segment_base_offset) {
        RETURN_IF_ERROR(open(static_cast<std::size_t>(entry - entries_->begin())));
        hint_holds_ = from_.hint->position <= limit_ && from_.hint_holds_in(segment_);
        if (hint_holds_) {
          position_ = from_.hint->position;
          expected_ = from_.hint->expected;
          return {};
        }
      }
    }
    return search();
  }

  Result<void> search() {
    const auto after = std::upper_bound(
        entries_->begin(), entries_->end(), offset_,
        [](Offset offset, const SegmentEntry& e) { return offset < e.base_offset; });
    if (after == entries_->begin()) return not_as_thought();
    RETURN_IF_ERROR(open(static_cast<std::size_t>(after - entries_->begin()) - 1));
    if (segment_->base_offset() == offset_) return {};
    ASSIGN_OR_RETURN(const BatchSearch found,
                     segment_->search(offset_, limit_, log_.options().limits));
    expected_.reset();
    switch (found.outcome) {
      case BatchSearch::Outcome::kFound: position_ = found.place.position; break;
      case BatchSearch::Outcome::kPastEnd: position_ = limit_; break;
      case BatchSearch::Outcome::kDamaged: position_ = found.damage.position; break;
    }
    return {};
  }

  Result<void> open(std::size_t index) {
    index_ = index;
    ASSIGN_OR_RETURN(segment_, log_.segment((*entries_)[index]));
    position_ = Position{};
    expected_ = segment_->base_offset();
    begun_ = {};
    return find_limit();
  }

  Result<void> find_limit() {
    records_end_ = index_ + 1 < entries_->size() ? (*entries_)[index_ + 1].base_offset
                                                 : storage::PartitionLog::kNoNextSegment;
    ASSIGN_OR_RETURN(limit_, log_.valid_end_below((*entries_)[index_], records_end_));
    return {};
  }

  // False: nothing lies behind, or not yet.
  Result<bool> enter_next() {
    if (index_ + 1 == entries_->size()) {
      // The listing may be older than `end_` is.
      log_.refresh();
      const Offset base = segment_->base_offset();
      entries_ = log_.segments();
      const auto after = std::upper_bound(
          entries_->begin(), entries_->end(), base,
          [](Offset offset, const SegmentEntry& e) { return offset < e.base_offset; });
      if (after == entries_->end()) return at_last_segment(base);
      index_ = static_cast<std::size_t>(after - entries_->begin()) - 1;
    }
    const SegmentEntry& next = (*entries_)[index_ + 1];
    offset_ = std::max(offset_, std::min(next.base_offset, end_));
    if (offset_ >= end_) return false;
    RETURN_IF_ERROR(open(index_ + 1));
    return true;
  }

  // Its batches end below `end_`: with a gap behind them; or more has come; or it was truncated.
  Result<bool> at_last_segment(Offset base) {
    if (entries_->empty() || entries_->back().base_offset != base) return not_as_thought();
    index_ = entries_->size() - 1;
    ASSIGN_OR_RETURN(const storage::LogOffsets offsets, log_.offsets());
    const Position before = limit_;
    RETURN_IF_ERROR(find_limit());
    if (limit_ > before) return true;
    if (limit_ == before && offsets.log_end_offset >= end_) offset_ = end_;
    return false;
  }

  Result<void> walk_segment() {
    const std::int64_t left = limit_ - position_;
    reserve(left);
    if (left > 0) chunk_.segments.push_back(segment_->base_offset());
    BatchWindow window(segment_->log(), limit_, *buffers_);
    while (position_ < limit_ && !done_) RETURN_IF_ERROR(walk_batch(window));
    if (offset_ >= end_) done_ = true;
    return {};
  }

  void reserve(std::int64_t log_bytes) {
    constexpr std::int64_t kSlack = 32 << 10;
    const auto most = static_cast<std::int64_t>(want_) + kSlack;
    if (chunk_.bytes.empty())
      chunk_.bytes.reserve(static_cast<std::size_t>(std::min(most, 2 * log_bytes + 512)));
  }

  // --- Batches

  Result<void> walk_batch(BatchWindow& window) {
    if (chunk_.bytes.size() >= want_ || passed_bytes_ > kPatienceBytes) {
      done_ = true;
      return {};
    }
    constexpr auto kHeader = static_cast<std::size_t>(BatchHeader::kV2HeaderBytes);
    ASSIGN_OR_RETURN(const Bytes front, window.bytes_at(position_, kHeader, guess()));
    BatchHeader header;
    std::string why;
    switch (storage::parse_batch_header(front, header, &why)) {
      case HeaderStatus::kOk: break;
      case HeaderStatus::kNeedMore: return damaged({Errc::kCorrupt, 0, "no whole batch"});
      case HeaderStatus::kZeros: return damaged({Errc::kCorrupt, 0, "zeros, expected a batch"});
      case HeaderStatus::kDamaged: return damaged({Errc::kCorrupt, 0, std::move(why)});
    }
    if (header.size_bytes > limit_ - position_)
      return damaged({Errc::kCorrupt, 0, "a batch that goes beyond the segment's end"});
    ASSIGN_OR_RETURN(const bool in_line, lies_in_line(header, window));
    if (!in_line)
      return damaged({Errc::kCorrupt, 0, "a batch that lies out of line with its neighbours"});
    if (header.is_v2() && header.base_offset >= end_) {
      offset_ = std::max(offset_, end_);
      done_ = true;
      return {};
    }
    if (header.last_offset < offset_ || !filter_.may_pass(header)) {
      note_passed(header);
      pass(header);
      return {};
    }
    if (header.size_bytes > kMostBatchBytes)
      return damaged(
          {Errc::kTooLarge, 0, "a batch of " + std::to_string(header.size_bytes) + " bytes"});
    return is_begun(header) ? give_rest(header) : give(window, header);
  }

  // Nothing else keeps watch over a batch's offsets: see batch_order.h.
  Result<bool> lies_in_line(const BatchHeader& header, BatchWindow& window) {
    if (is_begun(header)) return true;
    if (!expected_) {
      ASSIGN_OR_RETURN(expected_, segment_->expected_at(position_, limit_));
    }
    const Offset base = segment_->base_offset();
    return window.lies_in_line(position_, header, expected_, base, guess());
  }

  Result<void> give(BatchWindow& window, const BatchHeader& header) {
    const auto size = static_cast<std::size_t>(header.size_bytes);
    ASSIGN_OR_RETURN(const Bytes entry, window.bytes_at(position_, size, guess()));
    if (entry.size() < size) return not_as_thought();  // the file was truncated just now
    const std::uint32_t crc = storage::compute_batch_crc(header, entry);
    if (crc != header.crc)
      return damaged({Errc::kCorrupt, 0, storage::crc_mismatch(header.crc, crc)});
    resources_.batches_decoded.fetch_add(1, std::memory_order_relaxed);
    auto records = RecordReader::open(header, entry, buffers_->scratch, resources_.limits);
    if (!records) return damaged(std::move(records.error()));
    return give_records(header, *records);
  }

  // A batch of which the chunk before this one gave the front: it is big, and more chunks will want
  // it.
  Result<void> give_rest(const BatchHeader& header) {
    const BatchKey key{maker_.stream, 0, header.crc, position_.value, header.base_offset.value, -1};
    auto decoded = resources_.batches.get(
        key, [&] { return decode(header); },
        [](const DecodedBatch& batch) { return batch.memory_bytes(); });
    if (!decoded) {
      if (decoded.error().code == Errc::kIo || decoded.error().code == Errc::kNotFound)
        return storage::fail(std::move(decoded.error()));
      return damaged(std::move(decoded.error()));
    }
    RecordReader records = (*decoded)->records();
    records.seek(from_.hint->record_position, from_.hint->ordinal);
    return give_records(header, records);
  }

  Result<std::shared_ptr<const DecodedBatch>> decode(const BatchHeader& header) {
    std::string entry(static_cast<std::size_t>(header.size_bytes), '\0');
    ASSIGN_OR_RETURN(const std::size_t read, segment_->log().read_at(position_, entry));
    if (read < entry.size()) return not_as_thought();
    resources_.batches_decoded.fetch_add(1, std::memory_order_relaxed);
    return DecodedBatch::decode(std::move(entry), resources_.limits);
  }

  Result<void> give_records(const BatchHeader& header, RecordReader& records) {
    const std::size_t before = chunk_.bytes.size();
    Record record;
    for (;;) {
      begun_ = {records.record_position(), records.ordinal(), header.crc};
      if (chunk_.bytes.size() >= want_ + kMostBeyond) break;
      const RecordReader::Step step = records.next(record);
      if (step == RecordReader::Step::kRecord) [[likely]] {
        if (record.offset < offset_ || record.offset >= end_ || record.offset >= records_end_)
          continue;
        maker_.renderer.append(record, chunk_.bytes);
        offset_ = record.offset + 1;
        continue;
      }
      if (chunk_.bytes.size() > before) {
        note_given(header);
      } else if (step == RecordReader::Step::kEnd) {
        note_passed(header);
      }
      if (step == RecordReader::Step::kCorrupt) return damaged({Errc::kCorrupt, 0, records.why()});
      pass(header);
      return {};
    }
    note_given(header);
    done_ = true;
    return {};
  }

  void note_given(const BatchHeader& header) {
    chunk_.next.given = placed(header);
    chunk_.next.passed.reset();
  }

  void note_passed(const BatchHeader& header) {
    if (header.last_offset < offset_) return;
    if (!chunk_.next.passed) chunk_.next.passed_from = offset_;
    chunk_.next.passed = placed(header);
  }

  PlacedBatch placed(const BatchHeader& header) const {
    return {segment_->base_offset(), segment_, position_, header};
  }

  // True for the batch that the chunk before ended in.
  bool is_begun(const BatchHeader& header) const {
    return hint_holds_ && from_.hint->ordinal > 0 && position_ == from_.hint->position &&
           header.crc == from_.hint->crc;
  }

  // A batch that goes on at or behind `end_` is come back to.
  void pass(const BatchHeader& header) {
    begun_ = {};
    if (header.last_offset >= records_end_ && records_end_ <= end_) {
      offset_ = std::max(offset_, records_end_);  // the rest of it is the next segment's
      position_ = limit_;
      return;
    }
    if (header.last_offset >= end_) {
      offset_ = std::max(offset_, end_);
      done_ = true;
      return;
    }
    offset_ = std::max(offset_, header.next_offset());
    expected_ = header.next_offset();
    position_ = position_ + header.size_bytes;
    passed_bytes_ += header.size_bytes;
  }

  std::size_t guess() const {
    const std::size_t need = want_ - std::min(want_, chunk_.bytes.size());
    return std::clamp(need + kLeastGuess, kLeastGuess, kMostGuess);
  }

  // --- Damage

  Result<void> damaged(Error error) {
    damage_ = std::move(error);
    done_ = true;
    return {};
  }

  Result<LogChunk> fail_at_damage() {
    if (lost_) return storage::fail(std::move(*damage_));
    // Or was the log truncated, and is being written anew?
    log_.refresh();
    RETURN_IF_ERROR(find_limit());
    if (position_ >= limit_) return not_as_thought();
    StreamPiece piece;
    piece.segment = segment_;
    piece.file = &segment_->log();
    piece.segment_base_offset = segment_->base_offset();
    piece.end = limit_;
    piece.records_end = records_end_;
    const SinglePiece pieces(std::move(piece));
    const StreamDamage damage{0, position_, std::move(*damage_)};
    report_damage(pieces, damage, resources_.problems);
    return storage::fail(damage_error(pieces, damage));
  }

  struct Begun {
    std::uint32_t record_position = 0;
    std::int32_t ordinal = 0;
    std::uint32_t crc = 0;
  };

  const ChunkMaker& maker_;
  const storage::PartitionLog& log_;
  StreamResources& resources_;
  const LogPlace& from_;
  const Offset end_;
  const std::size_t want_;
  ReadBufferPool::Lease buffers_;
  RecordFilter filter_;
  LogChunk chunk_;
  Offset offset_;
  std::shared_ptr<const std::vector<SegmentEntry>> entries_;
  std::size_t index_ = 0;
  std::shared_ptr<const Segment> segment_;
  Position limit_{};
  Offset records_end_{};  // what is at or above counts in the next segment
  Position position_{};
  std::optional<Offset> expected_;  // the next_offset of the batch before position_
  Begun begun_;
  bool hint_holds_ = false;
  std::int64_t passed_bytes_ = 0;
  bool done_ = false;
  std::optional<Error> damage_;
  bool lost_ = false;  // it is what is missing behind the segment
};

}  // namespace

Result<LogChunk> ChunkMaker::make(const LogPlace& from, Offset end, std::size_t want) const {
  return Walk(*this, from, end, want).run();
}

}  // namespace offsetfs::fs
