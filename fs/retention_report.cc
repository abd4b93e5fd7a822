#include "fs/retention_report.h"

#include <algorithm>
#include <string_view>

#include "fs/time_expression.h"
#include "storage/batch_scanner.h"
#include "storage/internal_topics.h"
#include "storage/time_index.h"

namespace offsetfs::fs {
namespace {

using storage::kNoTimestamp;
using storage::Offset;
using storage::SegmentEntry;
using storage::SegmentFile;
using storage::TimestampMs;
using storage::TimestampOrigin;

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::size_t kHeadBytes = 4096;  // enough for a batch header

constexpr std::string_view kMetadataTopic = "__cluster_metadata";

// Logs that no rule of retention works on, and why; empty for all others.
std::string beyond_retention(const storage::PartitionLog& log) {
  // A KRaft node trims its metadata log behind its snapshots, by settings of its own.
  if (log.topic_partition().topic == kMetadataTopic)
    return "the metadata log goes behind its snapshots (metadata.max.retention.*)";
  auto dir = log.below("");
  if (dir.ends_with('/')) dir.pop_back();
  const auto name = storage::parse_partition_dir(dir);
  if (!name) return {};
  if (name->state == storage::DirState::kDelete)
    return "its topic or replica was deleted: the whole directory goes, see removable.tsv";
  if (name->state == storage::DirState::kStray)
    return "the cluster does not know this replica: no broker serves or removes it, see "
           "removable.tsv";
  return {};
}

void take_verdicts_away(std::vector<storage::RetentionVerdict>& verdicts, const std::string& why) {
  for (auto& verdict : verdicts) {
    verdict = {};
    verdict.hold = storage::Hold::kNoRule;
    verdict.reason = why;
  }
}

// Whether what a broker goes by is what it finds at its start: after a clean stop. Else it has read
// the log itself, or will. Of a partition that was given alone this is not to be seen.
bool is_cleanly_stopped(const storage::PartitionLog& log) {
  return log.below("").empty() || log.dir()->info(".kafka_cleanshutdown").has_value();
}

void add_remark(RetentionRow& row, const std::string& remark) {
  if (remark.empty()) return;
  if (!row.remark.empty()) row.remark += "; ";
  row.remark += remark;
}

// Reads one segment after the other; what can't be read becomes a remark.
class Reader {
 public:
  Reader(const storage::PartitionLog& log, TimestampMs now)
      : log_(log), now_(now), cleanly_stopped_(is_cleanly_stopped(log)) {}

  RetentionRow read(const SegmentEntry& entry, Offset next_offset, bool active) {
    RetentionRow row;
    row.segment.base_offset = entry.base_offset;
    row.segment.next_offset = next_offset;
    auto segment = log_.segment(entry);
    if (!segment) {
      add_remark(row, segment.error().what);
      row.segment.is_known = false;
      const auto name = storage::segment_file_name(
          {entry.base_offset, SegmentFile::kLog, entry.suffix_of(SegmentFile::kLog)});
      if (const auto info = log_.dir()->info(log_.below(name)))
        row.segment.size_bytes = info->size_bytes;
      return row;
    }
    const auto info = (*segment)->log().info();
    row.segment.size_bytes = info ? info->size_bytes : (*segment)->opened_info().size_bytes;
    if (active) trim_to_written(entry, row);
    read_times(entry, **segment, active, row);
    return row;
  }

  // What a `.deleted` segment still waits for: its files go file.delete.delay.ms after the rename,
  // and a rename is what last changed the inode.
  RetentionRow read_deleting(const SegmentEntry& entry, std::int64_t delete_delay_ms) {
    auto row = read(entry, entry.base_offset, false);
    row.state = RetentionRow::State::kDeleting;
    if (const auto segment = log_.segment(entry)) {
      if (const auto tail = log_.tail(entry)) row.segment.next_offset = tail->next_offset;
      const TimestampMs renamed{(*segment)->opened_info().ctime_ns / kNsPerMs};
      auto& verdict = row.verdict;
      verdict.due = verdict.earliest_renamed = verdict.latest_renamed = renamed;
      verdict.earliest_gone = verdict.latest_gone =
          storage::add_saturated(renamed, delete_delay_ms);
      verdict.reason =
          verdict.latest_gone > now_
              ? std::to_string((verdict.latest_gone - now_ + 999) / 1000) + " s are left"
              : "its time is over: a broker that works on it removes it, else the "
                "next one to start";
    }
    return row;
  }

 private:
  // A preallocated active `.log` is as long as it may become; only what was written counts.
  void trim_to_written(const SegmentEntry& entry, RetentionRow& row) {
    if (const auto end = log_.valid_end(entry))
      row.segment.size_bytes = end->value;
    else
      add_remark(row, end.error().what);
  }

  // As a broker takes them: of a sealed segment the last time-index entry, or the file's mtime
  // where there is none; of the active one what it has in memory, which is the largest of its
  // batches.
  void read_times(const SegmentEntry& entry, const storage::Segment& segment, bool active,
                  RetentionRow& row) {
    storage::BatchScanner first(
        segment.log(), {0}, {row.segment.size_bytes},
        {.check_crc = false, .headers_only = true, .piece_bytes = kHeadBytes});
    if (first.next() == storage::BatchScanner::Step::kBatch) {
      const auto& header = first.batch().header;
      row.first_timestamp = header.has_delete_horizon() || header.base_timestamp == kNoTimestamp
                                ? header.max_timestamp
                                : header.base_timestamp;
    }
    auto& largest = row.segment.largest_timestamp;
    const auto truth = log_.largest_timestamp(entry);
    const bool from_log = active ? !cleanly_stopped_ || entry.has(SegmentFile::kTimeIndex)
                                 : !cleanly_stopped_ && !entry.has(SegmentFile::kTimeIndex);
    if (from_log) {
      if (truth) largest = truth->largest;
      row.segment.timestamp_origin = TimestampOrigin::kLog;
    } else if (const auto* index = segment.time_index()) {
      if (const auto last = index->last(); last && *last) largest = (*last)->timestamp;
      row.segment.timestamp_origin = TimestampOrigin::kTimeIndex;
    }
    if (largest >= TimestampMs{0}) return;
    largest = {segment.opened_info().mtime_ns / kNsPerMs};
    row.segment.timestamp_origin = TimestampOrigin::kMtime;
    if (truth && truth->largest >= TimestampMs{0})
      add_remark(row, "its time index is lost: its records reach " + print_time(truth->largest) +
                          ", but a broker goes by the file's mtime");
  }

  const storage::PartitionLog& log_;
  const TimestampMs now_;
  const bool cleanly_stopped_;
};

}  // namespace

const char* retention_state_name(RetentionRow::State state) {
  switch (state) {
    case RetentionRow::State::kActive: return "active";
    case RetentionRow::State::kKept: return "kept";
    case RetentionRow::State::kExpired: return "expired";
    case RetentionRow::State::kDeleting: return "deleting";
  }
  return "";
}

std::int64_t RetentionReport::size_bytes() const {
  std::int64_t total = 0;
  for (const auto& row : segments) total += row.segment.size_bytes;
  return total;
}

const RetentionRow* RetentionReport::next() const {
  const auto dated = std::find_if(segments.begin(), segments.end(), [](const RetentionRow& row) {
    return row.verdict.due != storage::kNever;
  });
  return dated == segments.end() ? nullptr : &*dated;
}

storage::Result<RetentionReport> make_retention_report(const storage::PartitionLog& log,
                                                       storage::EffectiveConfig config,
                                                       bool knows_cluster, TimestampMs now) {
  RetentionReport report;
  report.topic_partition = log.topic_partition();
  report.now = now;
  report.config = std::move(config);
  report.knows_cluster = knows_cluster;
  const auto entries = log.segments();
  ASSIGN_OR_RETURN(const auto offsets, log.offsets());
  report.log_start_offset = offsets.log_start_offset;
  report.log_end_offset = offsets.log_end_offset;
  report.high_watermark_known = offsets.high_watermark_known;
  report.high_watermark =
      offsets.high_watermark_known ? offsets.high_watermark : offsets.log_end_offset;

  Reader reader(log, now);
  storage::RetentionInput input{{},
                                offsets.log_start_offset,
                                offsets.log_end_offset,
                                report.high_watermark,
                                storage::is_internal_topic(report.topic_partition.topic),
                                report.config.log,
                                now};
  for (std::size_t i = 0; i < entries->size(); ++i) {
    const bool active = i + 1 == entries->size();
    const auto next_offset = active ? offsets.log_end_offset : (*entries)[i + 1].base_offset;
    report.segments.push_back(reader.read((*entries)[i], next_offset, active));
    auto& row = report.segments.back();
    add_remark(row, storage::implausible_timestamp(row.segment.largest_timestamp, now));
    input.segments.push_back(report.segments.back().segment);
  }
  auto verdicts = storage::judge_retention(input);
  if (const auto why = beyond_retention(log); !why.empty()) {
    take_verdicts_away(verdicts, why);
    for (auto& value : report.config.values)
      if (report.topic_partition.topic == kMetadataTopic && value.name.find("retention") == 0)
        value.problem = "does not rule the metadata log";
  }
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    auto& row = report.segments[i];
    const bool active = i + 1 == verdicts.size();
    // The active segment is never shown as deletable before it rolls.
    row.state = active                                        ? RetentionRow::State::kActive
                : verdicts[i].hold == storage::Hold::kNothing ? RetentionRow::State::kExpired
                                                              : RetentionRow::State::kKept;
    row.verdict = std::move(verdicts[i]);
  }
  for (const auto set_aside = log.set_aside(); const auto& entry : *set_aside)
    if (entry.suffix == storage::SegmentSuffix::kDeleted && entry.has(SegmentFile::kLog))
      report.deleting.push_back(
          reader.read_deleting(entry, report.config.log.file_delete_delay_ms));
  return report;
}

}  // namespace offsetfs::fs
