#include "fs/streams.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <unordered_map>
#include <utility>

#include "fs/batch_table_lines.h"
#include "fs/log_pieces.h"
#include "fs/range_stream.h"
#include "fs/record_lines.h"
#include "fs/segment_stream.h"
#include "fs/segment_stream_file.h"
#include "fs/size_estimate.h"
#include "fs/stream_registry.h"
#include "fs/stream_resources.h"
#include "storage/mutex.h"

namespace offsetfs::fs {

using storage::BatchHeader;
using storage::Errc;
using storage::MutexLock;
using storage::Offset;
using storage::Position;
using storage::Result;
using storage::Segment;
using storage::SegmentEntry;

namespace {

// What a stat may scan of what was appended, and an open without being called slow.
constexpr std::int64_t kLittleBytes = 1 << 20;

bool is_living(const storage::PartitionLog& log, const SegmentEntry& entry) {
  if (entry.suffix != storage::SegmentSuffix::kNone) return false;
  const auto segments = log.segments();
  return !segments->empty() && segments->back().base_offset == entry.base_offset;
}

bool same_file(const Segment& a, const Segment& b) {
  return a.opened_info().dev == b.opened_info().dev && a.opened_info().ino == b.opened_info().ino;
}

// The whole of a segment that was opened, with its end at any moment. Once the partition has that
// very file no more, nothing is appended to it, and it ends where the file does.
class WholeSegment {
 public:
  WholeSegment(Streams::Log log, const SegmentEntry& entry, std::shared_ptr<const Segment> segment,
               Position end, bool living)
      : log_(std::move(log)), entry_(entry), living_(living), end_(end.value) {
    piece_.file = &segment->log();
    piece_.segment_base_offset = segment->base_offset();
    piece_.living = living;
    piece_.segment = std::move(segment);
  }

  Result<StreamPiece> now() const {
    StreamPiece piece = piece_;
    if (living_) look_for_end();
    piece.end = Position{end_.load(std::memory_order_relaxed)};
    return piece;
  }

  bool is_replaced() const {
    const auto current = log_->segment(entry_);
    return current && !same_file(**current, *piece_.segment);
  }

 private:
  void look_for_end() const {
    const auto current = log_->segment(entry_);
    // Without a descriptor to look at it with, it may well be there and grow.
    if (!current && current.error().code != Errc::kNotFound) return;
    const bool is_there = current && same_file(**current, *piece_.segment);
    const auto end = is_there ? log_->valid_end(entry_) : last_end();
    if (end) end_.store(end->value, std::memory_order_relaxed);
  }

  Result<Position> last_end() const {
    const Segment& segment = *piece_.segment;
    ASSIGN_OR_RETURN(const storage::FileInfo info, segment.log().info());
    if (info.size_bytes == file_bytes_.load(std::memory_order_relaxed))
      return Position{end_.load(std::memory_order_relaxed)};
    ASSIGN_OR_RETURN(const storage::SegmentTail tail,
                     segment.find_tail(Position{info.size_bytes}, false));
    file_bytes_.store(info.size_bytes, std::memory_order_relaxed);
    return tail.end;
  }

  const Streams::Log log_;
  const SegmentEntry entry_;
  const bool living_;
  StreamPiece piece_;
  mutable std::atomic<std::int64_t> end_;
  mutable std::atomic<std::int64_t> file_bytes_ = -1;  // where end_ was looked for after it went
};

std::optional<BatchHeader> first_header(const Segment& segment) {
  std::array<char, BatchHeader::kV2HeaderBytes> bytes;
  const auto read = segment.log().read_at(Position{0}, bytes);
  BatchHeader header;
  if (!read || storage::parse_batch_header(storage::Bytes(bytes.data(), *read), header, nullptr) !=
                   storage::HeaderStatus::kOk)
    return std::nullopt;
  return header;
}

// Of the partition's own streams: so many are remembered that closing and opening again is right.
class RangeSizes {
 public:
  void set(const Node& node, std::int64_t bytes) {
    MutexLock lock(mutex_);
    if (sizes_.size() >= kMost) sizes_.clear();
    sizes_[key(node)] = bytes;
  }
  std::optional<std::int64_t> find(const Node& node) const {
    MutexLock lock(mutex_);
    const auto found = sizes_.find(key(node));
    if (found == sizes_.end()) return std::nullopt;
    return found->second;
  }

 private:
  static constexpr std::size_t kMost = 4096;

  static std::string key(const Node& node) {
    return std::to_string(node.partition) + ' ' + std::to_string(static_cast<int>(node.kind)) +
           ' ' + std::to_string(static_cast<int>(node.form)) + ' ' + node.text;
  }

  mutable storage::Mutex mutex_;
  std::unordered_map<std::string, std::int64_t> sizes_ GUARDED_BY(mutex_);
};

}  // namespace

struct Streams::Parts {
  Parts(const Options& stream_options, storage::Problems& problems)
      : options(stream_options),
        registry(options.resume_points_bytes),
        resources(options.limits, options.batches_bytes, options.scan_threads, problems,
                  options.is_broker_at_work) {
    resources.log = options.log;
    resources.room_ahead = options.segments_ahead;
  }

  // A segment, and its stream if that is known.
  struct Found {
    std::shared_ptr<const Segment> segment;
    Position end{};
    bool living = false;
    std::shared_ptr<SegmentStream> stream;
    std::optional<std::int64_t> sealed_bytes;
  };
  Result<Found> find(const Node& node, const Log& log, const SegmentEntry& entry) const {
    Found found;
    ASSIGN_OR_RETURN(found.segment, log->segment(entry));
    ASSIGN_OR_RETURN(found.end, log->valid_end(entry));
    found.living = is_living(*log, entry);
    found.stream = registry.find(node, found.segment->opened_info(), found.sealed_bytes);
    return found;
  }

  std::shared_ptr<const BatchLines> lines_of(const Node& node, const RenderContext& context,
                                             const RecordFilter& filter) const {
    if (node.kind == NodeKind::kSegmentBatches) return std::make_shared<BatchTableLines>();
    return std::make_shared<RecordLines>(make_renderer(node.form, context), filter);
  }

  Result<std::shared_ptr<const LogPieces>> pieces_of(const Log& log, const RecordRange& range,
                                                     RecordFilter& filter);
  bool is_measured(const LogPieces& pieces) const;

  const Options options;
  StreamRegistry registry;
  RangeSizes range_sizes;
  StreamResources resources;  // last: its threads use the others
};

Streams::Streams(const Options& options, storage::Problems& problems)
    : parts_(std::make_unique<Parts>(options, problems)) {}
Streams::~Streams() { stop(); }

void Streams::stop() { parts_->resources.scans.stop(); }

StreamResources& Streams::resources() { return parts_->resources; }

bool Streams::opens_slowly(const Node& node, const Log& log, const SegmentEntry& entry) const {
  const auto found = parts_->find(node, log, entry);
  if (!found) return false;
  std::int64_t measured = 0;
  if (found->stream && !found->stream->lacks_points()) {
    if (const auto known = found->stream->known()) {
      if (known->damaged) return false;
      measured = known->log_bytes;
    }
  }
  return found->end.value - measured > kLittleBytes;
}

bool Streams::range_opens_slowly(const Log& log, const RecordRange& range) const {
  RecordFilter filter;
  const auto pieces = parts_->pieces_of(log, range, filter);
  if (!pieces || !parts_->is_measured(**pieces)) return false;
  const auto exceeds = (*pieces)->exceeds(kLittleBytes);
  return exceeds && *exceeds;
}

Result<std::unique_ptr<StreamFile>> Streams::open_segment(const Node& node, const Log& log,
                                                          const SegmentEntry& entry,
                                                          const RenderContext& context,
                                                          std::stop_token stop) {
  ASSIGN_OR_RETURN(const Parts::Found found, parts_->find(node, log, entry));
  const RecordFilter filter{.show_control = parts_->options.show_control};
  const auto stream = parts_->registry.find_or_make(node, found.segment->opened_info(), [&] {
    return std::make_shared<SegmentStream>(parts_->lines_of(node, context, filter),
                                           parts_->resources);
  });
  const auto whole =
      std::make_shared<const WholeSegment>(log, entry, found.segment, found.end, found.living);
  SegmentStream::PieceNow piece_now = [whole] { return whole->now(); };
  ASSIGN_OR_RETURN(const SegmentStream::State state, stream->measure(piece_now, std::move(stop)));
  const StreamRegistry::Before before = parts_->registry.opened(node, state, !found.living);
  parts_->registry.trim();
  // Whoever had the node open when it was something else shares no cache with those who come now.
  // And what grows is read past the cache: of a page that was read at the end the kernel would show
  // the zeros behind it as soon as anybody tells it of a new size.
  OpenFlags flags;
  flags.direct_io = state.damaged || found.living || before == StreamRegistry::Before::kOther;
  flags.keep_cache = !flags.direct_io && before == StreamRegistry::Before::kSame;
  return std::make_unique<SegmentStreamFile>(
      stream, std::move(piece_now), [whole] { return whole->is_replaced(); }, state, flags);
}

Result<Streams::Size> Streams::segment_size(const Node& node, const Log& log,
                                            const SegmentEntry& entry,
                                            const RenderContext& context) {
  ASSIGN_OR_RETURN(const Parts::Found found, parts_->find(node, log, entry));
  if (!found.living && found.sealed_bytes) return Size{*found.sealed_bytes, true};
  const auto known = found.stream ? found.stream->known() : std::nullopt;
  if (known && (known->damaged || known->log_bytes == found.end.value))
    return Size{known->size_bytes, true};
  if (known && found.end.value - known->log_bytes <= kLittleBytes) {
    const WholeSegment whole(log, entry, found.segment, found.end, found.living);
    ASSIGN_OR_RETURN(const SegmentStream::State state,
                     found.stream->measure([&] { return whole.now(); }));
    return Size{state.size_bytes, true};
  }
  LogMeasures measures;
  measures.log_bytes = found.end.value;
  measures.topic_bytes = context.topic.size();
  measures.first_batch = first_header(*found.segment);
  measures.most_records = measures.log_bytes;
  if (const auto tail = log->tail(entry))
    measures.most_records = tail->next_offset - entry.base_offset;
  return Size{node.kind == NodeKind::kSegmentBatches ? estimate_batches_size(measures)
                                                     : estimate_stream_size(node.form, measures),
              measures.log_bytes == 0};
}

// Also what of its records is shown. kNotFound: nothing is left.
Result<std::shared_ptr<const LogPieces>> Streams::Parts::pieces_of(const Log& log,
                                                                   const RecordRange& range,
                                                                   RecordFilter& filter) {
  ASSIGN_OR_RETURN(const storage::LogOffsets offsets, log->offsets());
  filter.show_control = options.show_control;
  filter.from = std::max(range.from, offsets.log_start_offset);
  filter.to = std::min(range.to, offsets.readable_end);
  if (filter.from >= filter.to)
    return storage::fail(Errc::kNotFound, "no offset of the range is in the log");
  if (range.from_time) filter.from_time = *range.from_time;
  if (range.to_time) filter.to_time = *range.to_time;
  filter.timed = range.from_time || range.to_time;
  return LogPieces::make(
      log, {filter.from, filter.to, range.from_time, range.admit, &resources.room_ahead});
}

bool Streams::Parts::is_measured(const LogPieces& pieces) const {
  if (pieces.count() <= 1) return true;
  const auto exceeds = pieces.exceeds(options.measured_range_bytes);
  return exceeds && !*exceeds;
}

Result<std::unique_ptr<StreamFile>> Streams::open_range(const Node& node, const Log& log,
                                                        const RecordRange& range,
                                                        const RenderContext& context,
                                                        std::stop_token stop) {
  RecordFilter filter;
  ASSIGN_OR_RETURN(const auto pieces, parts_->pieces_of(log, range, filter));
  auto stream = std::make_unique<RangeStream>(pieces, parts_->lines_of(node, context, filter),
                                              parts_->resources);
  const bool measured = parts_->is_measured(*pieces);
  RETURN_IF_ERROR(pieces->hold_front(measured));
  if (measured) RETURN_IF_ERROR(stream->measure(std::move(stop)));
  parts_->range_sizes.set(node, stream->size_bytes().value_or(0));
  return stream;
}

Result<Streams::Size> Streams::range_size(const Node& node, const Log& log,
                                          const RecordRange& range, const RenderContext& context) {
  if (const auto known = parts_->range_sizes.find(node)) return Size{*known, true};
  RecordFilter filter;
  const auto pieces = parts_->pieces_of(log, range, filter);
  if (!pieces) {
    return storage::fail(pieces.error());
  }
  if ((*pieces)->count() == 0) return Size{0, true};
  if (!parts_->is_measured(**pieces)) return Size{};
  LogMeasures measures;
  measures.topic_bytes = context.topic.size();
  measures.most_records = filter.to - filter.from;
  for (std::size_t i = 0; i < (*pieces)->count(); ++i) {
    ASSIGN_OR_RETURN(const StreamPiece piece, (*pieces)->open(i));
    measures.log_bytes += std::max<std::int64_t>(0, piece.end - piece.begin);
    if (i == 0) measures.first_batch = first_header(*piece.segment);
  }
  return Size{estimate_stream_size(node.form, measures), false};
}

Streams::Counters Streams::counters() const {
  const StreamResources& resources = parts_->resources;
  Counters counters;
  counters.scans = resources.scans_begun.load();
  counters.scanned_bytes = resources.scanned_bytes.load();
  counters.batches_decoded = resources.batches_decoded.load();
  counters.resume_points_bytes = parts_->registry.points_bytes();
  counters.batches_bytes = resources.batches.memory_bytes() + resources.big_lines.memory_bytes();
  return counters;
}

}  // namespace offsetfs::fs
