#include "fs/slice_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fs/batch_window.h"
#include "fs/line_slice.h"
#include "fs/measurement.h"
#include "storage/batch_header.h"
#include "storage/crc32c.h"

namespace offsetfs::fs {

using storage::BatchHeader;
using storage::Bytes;
using storage::DecodedBatch;
using storage::Errc;
using storage::Error;
using storage::HeaderStatus;
using storage::Position;
using storage::RecordReader;
using storage::Result;

namespace {

constexpr std::int64_t kLeastGuess = 16 << 10;
constexpr std::int64_t kMostGuess = 512 << 10;
// Beyond this a batch that two reads share is decoded for both; below, doing it twice is cheaper.
constexpr std::int64_t kSmallBatchBytes = 64 << 10;
// After so much log a read gives what it has.
constexpr std::int64_t kPatienceBytes = 16 << 20;
// A larger batch is refused: as BatchScanner does.
constexpr std::int64_t kMostBatchBytes = 256 << 20;

// One read: walks pieces and batches from the resume point until the slice is full.
class Walk : private BigLines {
 public:
  Walk(const SliceReader& reader, std::int64_t from, std::int64_t to, std::string& out)
      : reader_(reader),
        resources_(reader.resources),
        to_(to),
        point_(reader.points.find(from)),
        next_(reader.points.find(to)),
        buffers_(resources_.buffers.lend()),
        slice_(point_.output_position, from, to, *this, out) {}

  Result<SliceEnd> run(std::stop_token stop) {
    for (piece_number_ = point_.piece; piece_number_ < reader_.pieces.count(); ++piece_number_) {
      auto piece = reader_.pieces.open(piece_number_);
      // What comes before it is given first, and who wants more meets it again.
      if (!piece && slice_.has_something()) {
        end_.cut_short = std::move(piece.error());
        return finish_early(Position{});
      }
      if (!piece) return storage::fail(std::move(piece.error()));
      piece_ = *std::move(piece);
      taken_.reset();
      RETURN_IF_ERROR(walk_piece(stop));
      note_reached();
      if (stopped_early_) return finish_early(position_);
      if (end_.damage || slice_.full()) return finish();
    }
    end_.at_end = true;
    return finish_early(Position{});
  }

 private:
  Result<void> walk_piece(const std::stop_token& stop) {
    const bool first = piece_number_ == point_.piece;
    position_ = first ? std::max(piece_.begin, Position{point_.batch_position}) : piece_.begin;
    BatchWindow window(*piece_.file, piece_.end, *buffers_);
    expected_.reset();
    while (position_ < piece_.end && !end_.damage && !slice_.full()) {
      if (stop.stop_requested()) return storage::fail(interrupted());
      if (reader_.learn && passed_bytes_ > kPatienceBytes && slice_.has_something()) {
        stopped_early_ = true;
        return {};
      }
      RETURN_IF_ERROR(walk_batch(window));
    }
    if (piece_.lost_behind && position_ >= piece_.end && !end_.damage && !slice_.full())
      return damaged({Errc::kCorrupt, 0, piece_.lost_behind->what});
    return {};
  }

  Result<void> walk_batch(BatchWindow& window) {
    constexpr auto kHeader = static_cast<std::size_t>(BatchHeader::kV2HeaderBytes);
    // In the middle of a big batch, the rest of it is probably decoded already: look at the header
    // alone.
    const std::size_t first_guess = in_middle() && !ends_inside() ? kHeader : guess();
    ASSIGN_OR_RETURN(const Bytes front, window.bytes_at(position_, kHeader, first_guess));
    BatchHeader header;
    std::string why;
    switch (storage::parse_batch_header(front, header, &why)) {
      case HeaderStatus::kOk: break;
      case HeaderStatus::kNeedMore: return damaged({Errc::kCorrupt, 0, "no whole batch"});
      case HeaderStatus::kZeros: return damaged({Errc::kCorrupt, 0, "zeros, expected a batch"});
      case HeaderStatus::kDamaged: return damaged({Errc::kCorrupt, 0, std::move(why)});
    }
    if (header.size_bytes > piece_.end - position_)
      return damaged({Errc::kCorrupt, 0, "a batch that goes beyond the segment's end"});
    // A file of the same name may have taken the place of the one that the point was made from.
    if (point_.batch_crc != 0 && is_first() && header.crc != point_.batch_crc)
      return storage::fail(Errc::kOutOfRange, piece_.file->name() + ": position " +
                                                  std::to_string(position_.value) +
                                                  ": another batch than before");
    ASSIGN_OR_RETURN(const bool in_line, lies_in_line(header, window));
    if (!in_line)
      return damaged({Errc::kCorrupt, 0, "a batch that lies out of line with its neighbours"});
    batch_ = BatchView{&header, {}, position_, piece_.segment_base_offset, piece_.records_end};
    taken_ = Taken{header, position_};
    if (!reader_.lines.may_show(header)) {
      pass(header);
      return {};
    }
    if (header.size_bytes > kMostBatchBytes)
      return damaged(
          {Errc::kTooLarge, 0, "a batch of " + std::to_string(header.size_bytes) + " bytes"});
    return is_shared(header) ? walk_shared(header) : walk_own(window, header);
  }

  // Of a stream that was measured, that was looked at then; and so it was of the batch of a resume
  // point when the point was made.
  Result<bool> lies_in_line(const BatchHeader& header, BatchWindow& window) {
    if (!reader_.learn || reader_.lines.shows_damage() || piece_.segment == nullptr) return true;
    if (is_first() && point_.batch_crc != 0) return true;
    if (!expected_) expected_ = expected_at(piece_, position_);
    return window.lies_in_line(position_, header, expected_, piece_.segment->base_offset(),
                               guess());
  }

  // A batch that this read alone needs, or that is not worth being kept.
  Result<void> walk_own(BatchWindow& window, const BatchHeader& header) {
    const auto size = static_cast<std::size_t>(header.size_bytes);
    ASSIGN_OR_RETURN(batch_.entry, window.bytes_at(position_, size, guess()));
    if (batch_.entry.size() < size) return became_shorter();
    const std::uint32_t crc = storage::compute_batch_crc(header, batch_.entry);
    if (crc != header.crc) return damaged(bad_crc(header, crc));
    if (!reader_.lines.needs_records()) return render(header, nullptr);
    resources_.batches_decoded.fetch_add(1, std::memory_order_relaxed);
    auto records = RecordReader::open(header, batch_.entry, buffers_->scratch, resources_.limits);
    if (!records) return damaged(std::move(records.error()));
    return render(header, &*records);
  }

  Result<void> walk_shared(const BatchHeader& header) {
    auto decoded = resources_.batches.get(
        key(header), [&] { return decode(header); },
        [](const DecodedBatch& batch) { return batch.memory_bytes(); });
    if (!decoded) {
      if (decoded.error().code == Errc::kIo || decoded.error().code == Errc::kOutOfRange)
        return storage::fail(std::move(decoded.error()));
      return damaged(std::move(decoded.error()));
    }
    RecordReader records = (*decoded)->records();
    return render(header, &records);
  }

  Result<std::shared_ptr<const DecodedBatch>> decode(const BatchHeader& header) {
    std::string entry(static_cast<std::size_t>(header.size_bytes), '\0');
    ASSIGN_OR_RETURN(const std::size_t read, piece_.file->read_at(position_, entry));
    if (read < entry.size()) RETURN_IF_ERROR(became_shorter());
    resources_.batches_decoded.fetch_add(1, std::memory_order_relaxed);
    return DecodedBatch::decode(std::move(entry), resources_.limits);
  }

  Result<void> render(const BatchHeader& header, RecordReader* records) {
    if (records != nullptr && in_middle()) records->seek(point_.record_position, point_.ordinal);
    auto rendered = reader_.lines.render(batch_, records, slice_);
    if (!rendered) return damaged(std::move(rendered.error()));
    if (slice_.full())
      remember_end(header, records);
    else
      pass(header);
    return {};
  }

  void remember_end(const BatchHeader& header, const RecordReader* records) {
    ResumePoint end{to_, piece_number_, position_.value, 0, 0, header.crc};
    if (slice_.at() > to_) {
      const LineSlice::Line& line = slice_.last_line();
      end.output_position = line.at;
      end.record_position = line.record_position;
      end.ordinal = line.ordinal;
    } else if (records != nullptr) {
      end.record_position = records->record_position();
      end.ordinal = records->ordinal();
    } else {
      end.batch_position += header.size_bytes;
      end.batch_crc = 0;  // of a batch not seen yet
    }
    reader_.points.add_recent(end);
    if (reader_.learn) reader_.points.add(end);
  }

  // True for the batch of the resume point; and where that is inside of it.
  bool is_first() const {
    return piece_number_ == point_.piece && position_.value == point_.batch_position;
  }
  bool in_middle() const { return point_.ordinal > 0 && is_first(); }

  // Whether other reads will want the batch too: worth decoding once for all.
  bool is_shared(const BatchHeader& header) const {
    if (!reader_.lines.needs_records()) return false;
    const bool dear = header.codec_id() != 0 || header.size_bytes > kSmallBatchBytes;
    return dear && (in_middle() || !ends_inside());
  }

  // True if a known point says that the batch at hand has no line at or behind `to`.
  bool ends_inside() const {
    return next_.piece > piece_number_ ||
           (next_.piece == piece_number_ && next_.batch_position > position_.value);
  }

  // How much log to read at once: what the points say this read needs, and a usual batch more.
  std::size_t guess() const {
    std::int64_t need = to_ - slice_.at();
    if (next_.output_position > point_.output_position && next_.piece == piece_number_ &&
        next_.batch_position >= position_.value)
      need = next_.batch_position - position_.value;
    return static_cast<std::size_t>(std::clamp(need + kLeastGuess + 512, kLeastGuess, kMostGuess));
  }

  void pass(const BatchHeader& header) {
    expected_ = header.next_offset();
    position_ = position_ + header.size_bytes;
    passed_bytes_ += header.size_bytes;
  }

  Result<void> damaged(Error error) {
    if (!reader_.lines.shows_damage()) {
      end_.damage = StreamDamage{piece_number_, position_, std::move(error)};
      return {};
    }
    ASSIGN_OR_RETURN(const DamagedStretch stretch, damaged_stretch(piece_, position_));
    reader_.lines.render_damage(stretch, slice_);
    position_ = stretch.end;
    passed_bytes_ += stretch.end - stretch.position;
    return {};
  }

  void note_reached() {
    if (!taken_) return;
    end_.reached =
        PlacedBatch{piece_.segment_base_offset, piece_.segment, taken_->position, taken_->header};
  }

  Result<void> became_shorter() const {
    return storage::fail(Errc::kOutOfRange, piece_.file->name() + ": position " +
                                                std::to_string(position_.value) +
                                                ": the file has become shorter while it was read");
  }

  static Error bad_crc(const BatchHeader& header, std::uint32_t found) {
    return {Errc::kCorrupt, 0, storage::crc_mismatch(header.crc, found)};
  }

  // What is behind was given: nobody goes back over it, segments that may be gone by then included.
  Result<SliceEnd> finish_early(Position position) {
    if (reader_.learn)
      reader_.points.add_recent({slice_.at(), piece_number_, position.value, 0, 0, 0});
    return finish();
  }

  Result<SliceEnd> finish() {
    slice_.finish();
    return std::move(end_);
  }

  BatchKey key(const BatchHeader& header, std::int32_t ordinal = -1) const {
    return {reader_.stream,           piece_number_, header.crc, position_.value,
            header.base_offset.value, ordinal};
  }

  std::shared_ptr<const std::string> find(std::int32_t ordinal) override {
    return resources_.big_lines.find(key(*batch_.header, ordinal));
  }

  std::shared_ptr<const std::string> get(std::int32_t ordinal, std::size_t size,
                                         const Make& make) override {
    auto line = resources_.big_lines.get(
        key(*batch_.header, ordinal),
        [&]() -> Result<std::shared_ptr<const std::string>> {
          auto made = std::make_shared<std::string>();
          made->reserve(size);
          make(*made);
          return made;
        },
        [](const std::string& made) { return made.capacity(); });
    return *line;
  }

  const SliceReader& reader_;
  StreamResources& resources_;
  const std::int64_t to_;
  const ResumePoint point_;
  const ResumePoint next_;
  ReadBufferPool::Lease buffers_;
  LineSlice slice_;
  std::uint32_t piece_number_ = 0;
  StreamPiece piece_;
  Position position_{};
  std::optional<storage::Offset> expected_;  // of the batch at position_
  BatchView batch_;
  struct Taken {
    BatchHeader header;
    Position position{};
  };
  std::optional<Taken> taken_;  // of the piece, the last
  std::int64_t passed_bytes_ = 0;
  bool stopped_early_ = false;
  SliceEnd end_;
};

}  // namespace

Result<SliceEnd> SliceReader::read(std::int64_t from, std::int64_t to, std::string& out,
                                   std::stop_token stop) const {
  const std::string head = lines.head();
  const auto head_size = static_cast<std::int64_t>(head.size());
  if (from < head_size) {
    const auto end = static_cast<std::size_t>(std::min(to, head_size));
    out.append(head, static_cast<std::size_t>(from), end - static_cast<std::size_t>(from));
    from = head_size;
  }
  if (from >= to) return SliceEnd{};
  return Walk(*this, from, to, out).run(std::move(stop));
}

}  // namespace offsetfs::fs
