#include "fs/render_retention.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "fs/time_expression.h"
#include "storage/segment_files.h"

namespace offsetfs::fs {
namespace {

using nlohmann::ordered_json;
using storage::kNever;
using storage::TimestampMs;

std::string timestamp_text(TimestampMs timestamp) {
  return timestamp == storage::kNoTimestamp ? "-" : print_time(timestamp);
}

std::string last_offset_text(const RetentionRow& row) {
  if (row.segment.next_offset == row.segment.base_offset) return "-";
  return std::to_string(row.segment.next_offset.value - 1);
}

const char* held_by(const RetentionRow& row) {
  return row.state == RetentionRow::State::kDeleting ? "file.delete.delay.ms"
                                                     : hold_name(row.verdict.hold);
}

std::string reason_of(const RetentionRow& row) {
  if (row.remark.empty()) return row.verdict.reason;
  return row.verdict.reason.empty() ? row.remark : row.verdict.reason + "; " + row.remark;
}

void append_status_row(const RetentionRow& row, std::string& out) {
  const auto& verdict = row.verdict;
  const std::string fields[] = {
      storage::segment_base_name(row.segment.base_offset),
      retention_state_name(row.state),
      std::to_string(row.segment.base_offset.value),
      last_offset_text(row),
      std::to_string(row.segment.size_bytes),
      timestamp_text(row.first_timestamp),
      timestamp_text(row.segment.largest_timestamp),
      timestamp_origin_name(row.segment.timestamp_origin),
      retention_rule_name(verdict.rule),
      held_by(row),
      verdict.blocker ? storage::segment_base_name(*verdict.blocker) : "-",
      render_moment(verdict.due),
      render_moment(verdict.earliest_renamed),
      render_moment(verdict.latest_renamed),
      render_moment(verdict.earliest_gone),
      render_moment(verdict.latest_gone),
      std::to_string(verdict.bytes_to_go),
      reason_of(row),
  };
  bool first = true;
  for (const auto& field : fields) {
    if (!first) out += '\t';
    out += escape_field(field);
    first = false;
  }
  out += '\n';
}

ordered_json moment_json(TimestampMs moment) {
  if (moment == kNever) return nullptr;
  return moment.value;
}
ordered_json timestamp_json(TimestampMs timestamp) {
  if (timestamp == storage::kNoTimestamp) return nullptr;
  return timestamp.value;
}

ordered_json row_json(const RetentionRow& row) {
  const auto& verdict = row.verdict;
  ordered_json json;
  json["segment"] = storage::segment_base_name(row.segment.base_offset);
  json["state"] = retention_state_name(row.state);
  json["base_offset"] = row.segment.base_offset.value;
  json["next_offset"] = row.segment.next_offset.value;
  json["bytes"] = row.segment.size_bytes;
  json["first_timestamp"] = timestamp_json(row.first_timestamp);
  json["largest_timestamp"] = timestamp_json(row.segment.largest_timestamp);
  json["timestamp_from"] = timestamp_origin_name(row.segment.timestamp_origin);
  json["rule"] = retention_rule_name(verdict.rule);
  json["held_by"] = held_by(row);
  json["blocker"] =
      verdict.blocker ? ordered_json(storage::segment_base_name(*verdict.blocker)) : nullptr;
  json["due"] = moment_json(verdict.due);
  json["earliest_renamed"] = moment_json(verdict.earliest_renamed);
  json["latest_renamed"] = moment_json(verdict.latest_renamed);
  json["earliest_gone"] = moment_json(verdict.earliest_gone);
  json["latest_gone"] = moment_json(verdict.latest_gone);
  json["bytes_to_go"] = verdict.bytes_to_go;
  json["rolls_first"] = verdict.rolls_first;
  json["reason"] = reason_of(row);
  return json;
}

const char* const kUnknownCluster =
    "no whole metadata log was found: topic overrides and dynamic settings may be missing";

}  // namespace

std::string escape_field(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\t') {
      out += "\\t";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\\') {
      out += "\\\\";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

std::string render_moment(TimestampMs moment) {
  return moment == kNever ? "never" : print_time(moment);
}

std::string render_retention_status_tsv(const RetentionReport& report) {
  std::string out =
      "segment\tstate\tfirst_offset\tlast_offset\tbytes\tfirst_timestamp\tlargest_timestamp\t"
      "timestamp_from\trule\theld_by\tblocker\tdue\tearliest_renamed\tlatest_renamed\t"
      "earliest_gone\tlatest_gone\tbytes_to_go\treason\n";
  for (const auto& row : report.deleting) append_status_row(row, out);
  for (const auto& row : report.segments) append_status_row(row, out);
  return out;
}

std::string render_retention_status_json(const RetentionReport& report) {
  ordered_json json;
  json["topic"] = report.topic_partition.topic;
  json["partition"] = report.topic_partition.partition;
  json["now"] = report.now.value;
  json["log_start_offset"] = report.log_start_offset.value;
  json["log_end_offset"] = report.log_end_offset.value;
  json["high_watermark"] = report.high_watermark.value;
  json["high_watermark_known"] = report.high_watermark_known;
  json["cluster_settings_known"] = report.knows_cluster;
  json["bytes"] = report.size_bytes();
  json["retention.ms"] = report.config.log.retention_ms;
  json["retention.bytes"] = report.config.log.retention_bytes;
  json["local.retention.ms"] = report.config.log.local_retention_ms;
  json["local.retention.bytes"] = report.config.log.local_retention_bytes;
  auto& rows = json["segments"] = ordered_json::array();
  for (const auto& row : report.deleting) rows.push_back(row_json(row));
  for (const auto& row : report.segments) rows.push_back(row_json(row));
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string render_retention_policy_tsv(const RetentionReport& report) {
  std::string out = "setting\tvalue\torigin\tset_by\toverrides\tproblem\n";
  for (const auto& value : report.config.values) {
    out += value.name + '\t' + escape_field(value.value) + '\t' +
           config_origin_name(value.source.origin) + '\t' + value.source.key + '\t';
    bool first = true;
    for (const auto& lower : value.overrides) {
      if (!first) out += "; ";
      out += std::string(config_origin_name(lower.origin)) + ' ' + lower.key + '=' +
             escape_field(lower.value);
      first = false;
    }
    if (value.overrides.empty()) out += '-';
    out += '\t' + (value.problem.empty() ? std::string("-") : escape_field(value.problem)) + '\n';
  }
  if (!report.knows_cluster) out += std::string("(cluster)\t-\t-\t-\t-\t") + kUnknownCluster + '\n';
  return out;
}

std::string render_retention_policy_json(const RetentionReport& report) {
  ordered_json json;
  json["cluster_settings_known"] = report.knows_cluster;
  if (!report.knows_cluster) json["note"] = kUnknownCluster;
  auto& settings = json["settings"] = ordered_json::array();
  for (const auto& value : report.config.values) {
    ordered_json entry;
    entry["setting"] = value.name;
    entry["value"] = value.value;
    entry["origin"] = config_origin_name(value.source.origin);
    entry["set_by"] = value.source.key;
    entry["as_written"] = value.source.value;
    auto& lower_ones = entry["overrides"] = ordered_json::array();
    for (const auto& lower : value.overrides)
      lower_ones.push_back({{"origin", config_origin_name(lower.origin)},
                            {"set_by", lower.key},
                            {"as_written", lower.value}});
    if (!value.problem.empty()) entry["problem"] = value.problem;
    settings.push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string render_retention_next(const RetentionReport& report) {
  const auto* row = report.next();
  if (row == nullptr) {
    std::string reason = "the log is empty";
    if (!report.segments.empty()) reason = report.segments.front().verdict.reason;
    return "segment: none\nreason: " + reason + '\n';
  }
  const auto& verdict = row->verdict;
  const bool overdue = verdict.due <= report.now;
  std::string out = "segment: " + storage::segment_base_name(row->segment.base_offset) + '\n';
  out += "offsets: " + std::to_string(row->segment.base_offset.value) + ".." +
         last_offset_text(*row) + '\n';
  out += "bytes: " + std::to_string(row->segment.size_bytes) + '\n';
  out += "rule: " + std::string(retention_rule_name(verdict.rule)) + '\n';
  out += "due: " + render_moment(verdict.due) + (overdue ? " (the next check takes it)\n" : "\n");
  out += "renamed: between " + render_moment(verdict.earliest_renamed) + " and " +
         render_moment(verdict.latest_renamed) + '\n';
  out += "gone: between " + render_moment(verdict.earliest_gone) + " and " +
         render_moment(verdict.latest_gone) + '\n';
  out += "log_start_offset_then: " +
         std::to_string(std::max(row->segment.next_offset, report.log_start_offset).value) + '\n';
  if (verdict.rolls_first) out += "rolls_first: the active segment is rolled, then deleted\n";
  out += "reason: " + reason_of(*row) + '\n';
  if (!report.knows_cluster) out += std::string("note: ") + kUnknownCluster + '\n';
  return out;
}

}  // namespace offsetfs::fs
