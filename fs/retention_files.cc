#include "fs/retention_files.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "fs/names.h"
#include "fs/render_retention.h"
#include "fs/timeline_svg.h"
#include "fs/what_if.h"
#include "storage/log_settings.h"
#include "storage/segment_files.h"

namespace offsetfs::fs {
namespace {

using storage::Errc;
using storage::Offset;
using storage::Result;
using storage::TimestampMs;

constexpr std::size_t kMostSettingsBytes = 1 << 20;

std::int64_t steady_now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

const std::vector<RetentionRow>& rows_of(const RetentionReport& report, NodeKind kind) {
  const bool deleting = kind == NodeKind::kDeleting || kind == NodeKind::kDeletingLink;
  return deleting ? report.deleting : report.segments;
}

bool belongs(const RetentionRow& row, NodeKind kind) {
  const bool deleting = kind == NodeKind::kDeleting || kind == NodeKind::kDeletingLink;
  return row.state == (deleting ? RetentionRow::State::kDeleting : RetentionRow::State::kExpired);
}

std::string link_target(const Node& node) {
  auto target = "../../segments/" + storage::segment_base_name({node.number});
  if (node.kind == NodeKind::kDeletingLink) target += ".deleted";
  return target;
}

std::string render(const RetentionReport& report, RetentionFile file) {
  switch (file) {
    case RetentionFile::kStatusTsv: return render_retention_status_tsv(report);
    case RetentionFile::kStatusJson: return render_retention_status_json(report);
    case RetentionFile::kPolicyTsv: return render_retention_policy_tsv(report);
    case RetentionFile::kPolicyJson: return render_retention_policy_json(report);
    case RetentionFile::kNext: return render_retention_next(report);
    case RetentionFile::kTimeline: return render_timeline_svg(report);
  }
  return {};
}

}  // namespace

bool RetentionFiles::is_one(NodeKind kind) {
  switch (kind) {
    case NodeKind::kRetentionFile:
    case NodeKind::kDeletingStatus:
    case NodeKind::kWhatIfFile:
    case NodeKind::kExpiredLink:
    case NodeKind::kDeletingLink: return true;
    default: return false;
  }
}

Result<NodeFacts> RetentionFiles::facts(const PartitionView& view, const Node& node,
                                        TimestampMs now) {
  NodeFacts facts;
  // What it tells comes out of the segments: nobody reads it who may not read those.
  facts.access = view.access.of_range({0}, {INT64_MAX});
  facts.mtime = view.access.mtime_of_directory();
  if (node.kind == NodeKind::kExpiredLink || node.kind == NodeKind::kDeletingLink) {
    ASSIGN_OR_RETURN(const auto report, this->report(view, now));
    const auto& rows = rows_of(*report, node.kind);
    const auto found = std::ranges::find_if(rows, [&](const RetentionRow& row) {
      return row.segment.base_offset.value == node.number && belongs(row, node.kind);
    });
    if (found == rows.end()) return storage::fail(Errc::kNotFound, "no such segment here");
    auto target = link_target(node);
    facts.type = S_IFLNK;
    facts.access.mode = kLinkMode;
    facts.size_bytes = static_cast<std::int64_t>(target.size());
    facts.content = std::make_shared<const Content>(std::move(target));
    return facts;
  }
  if (opens_slowly(view, node)) return facts;
  ASSIGN_OR_RETURN(auto made, text(view, node, now));
  facts.content = std::make_shared<const Content>(std::move(made));
  facts.size_bytes = static_cast<std::int64_t>(facts.content->bytes().size());
  return facts;
}

bool RetentionFiles::opens_slowly(const PartitionView& view, const Node& node) const {
  const bool is_link = node.kind == NodeKind::kExpiredLink || node.kind == NodeKind::kDeletingLink;
  return !is_link && view.log->segments()->size() > kManySegments;
}

Result<std::string> RetentionFiles::text(const PartitionView& view, const Node& node,
                                         TimestampMs now) {
  if (node.kind == NodeKind::kWhatIfFile) {
    const auto settings = parse_what_if(node.text);
    if (!settings) return storage::fail(Errc::kNotFound, "no settings: " + node.text);
    ASSIGN_OR_RETURN(const auto supposed, make_report(view, *settings, now));
    return node.form == Form::kJson ? render_retention_status_json(supposed)
                                    : render_retention_status_tsv(supposed);
  }
  ASSIGN_OR_RETURN(const auto report, this->report(view, now));
  if (node.kind == NodeKind::kDeletingStatus) {
    RetentionReport deleting = *report;
    deleting.segments.clear();
    return render_retention_status_tsv(deleting);
  }
  return render(*report, static_cast<RetentionFile>(node.number));
}

Result<std::vector<NamesListing::Item>> RetentionFiles::list(const PartitionView& view,
                                                             const Node& dir, TimestampMs now) {
  ASSIGN_OR_RETURN(const auto report, this->report(view, now));
  std::vector<NamesListing::Item> items;
  for (const auto& row : rows_of(*report, dir.kind)) {
    if (!belongs(row, dir.kind)) continue;
    Node node;
    node.kind = dir.kind == NodeKind::kDeleting ? NodeKind::kDeletingLink : NodeKind::kExpiredLink;
    node.partition = dir.partition;
    node.number = row.segment.base_offset.value;
    auto name = print_name(node);
    items.push_back({std::move(name), std::move(node), S_IFLNK});
  }
  return items;
}

// A log that no cluster knows may have its settings beside it.
Result<RetentionReport> RetentionFiles::make_report(const PartitionView& view,
                                                    const storage::ConfigMap& by_hand,
                                                    TimestampMs now) const {
  constexpr const char* kName = storage::kLogSettingsFile;
  ASSIGN_OR_RETURN(const auto text, view.log->read_beside(kName, kMostSettingsBytes));
  storage::ConfigMap own;
  if (text) {
    ASSIGN_OR_RETURN(
        own, storage::parse_log_settings(*text, view.log->dir()->name_of(view.log->below(kName))));
  }
  return make_retention_report(*view.log,
                               settings_.for_log(view.log->topic_partition().topic, own, by_hand),
                               settings_.knows_cluster() || text.has_value(), now);
}

Result<RetentionFiles::Report> RetentionFiles::report(const PartitionView& view, TimestampMs now) {
  const auto steady = steady_now_ms();
  const auto segments = view.log->segments();
  ASSIGN_OR_RETURN(const auto offsets, view.log->offsets());
  {
    const storage::MutexLock lock(mutex_);
    const auto found = std::ranges::find_if(kept_, [&](const Kept& kept) {
      return kept.partition == view.id && steady - kept.made_ms < kKeepMs &&
             kept.segments == segments &&
             kept.report->log_start_offset == offsets.log_start_offset &&
             kept.report->log_end_offset == offsets.log_end_offset;
    });
    if (found != kept_.end()) return found->report;
  }
  ASSIGN_OR_RETURN(auto made, make_report(view, {}, now));
  auto report = std::make_shared<const RetentionReport>(std::move(made));
  if (report->segments.size() > kManySegments) return report;  // too large to lie about
  const storage::MutexLock lock(mutex_);
  std::erase_if(kept_, [&](const Kept& kept) { return kept.partition == view.id; });
  kept_.push_front({view.id, steady, segments, report});
  if (kept_.size() > kKept) kept_.pop_back();
  return report;
}

}  // namespace offsetfs::fs
