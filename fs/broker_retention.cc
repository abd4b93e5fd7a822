#include "fs/broker_retention.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "fs/render_retention.h"
#include "storage/removable.h"
#include "storage/segment_files.h"

namespace offsetfs::fs {
namespace {

using nlohmann::ordered_json;
using storage::kNever;
using storage::Result;
using storage::TimestampMs;

// A partition's report in one line.
struct Summary {
  std::string name, topic;
  std::string error;       // why there is no more than a name
  bool is_future = false;  // a copy that is being made in another directory
  std::size_t segments = 0, expired = 0, deleting = 0;
  std::int64_t bytes = 0, expired_bytes = 0, deleting_bytes = 0;
  storage::Offset log_start_offset{}, log_end_offset{};
  std::string next_segment = "-", next_rule = "-";
  TimestampMs due = kNever, latest_gone = kNever;
  std::string reason;
};

void add_report(const RetentionReport& report, Summary& summary) {
  summary.segments = report.segments.size();
  summary.bytes = report.size_bytes();
  summary.deleting = report.deleting.size();
  for (const auto& row : report.deleting) summary.deleting_bytes += row.segment.size_bytes;
  for (const auto& row : report.segments)
    if (row.state == RetentionRow::State::kExpired) {
      ++summary.expired;
      summary.expired_bytes += row.segment.size_bytes;
    }
  summary.log_start_offset = report.log_start_offset;
  summary.log_end_offset = report.log_end_offset;
  if (const auto* next = report.next()) {
    summary.next_segment = storage::segment_base_name(next->segment.base_offset);
    summary.next_rule = retention_rule_name(next->verdict.rule);
    summary.due = next->verdict.due;
    summary.latest_gone = next->verdict.latest_gone;
    summary.reason = next->verdict.reason;
  } else if (!report.segments.empty()) {
    summary.reason = report.segments.front().verdict.reason;
  }
}

std::vector<Summary> summarize(const Partitions& partitions, RetentionFiles& retention,
                               TimestampMs now) {
  std::vector<Summary> summaries;
  for (const auto all = partitions.all(); const auto& partition : *all) {
    Summary summary;
    summary.name = partition.name;
    summary.topic = partition.topic_partition.topic;
    summary.is_future = partition.state == storage::DirState::kFuture;
    if (partition.state == storage::DirState::kDelete ||
        partition.state == storage::DirState::kStray) {
      summary.error = "no partition of the cluster any more: see removable.tsv";
    } else if (const auto view = partitions.view(partition.id); !view) {
      summary.error = view.error().what;
    } else if (const auto report = retention.report(**view, now); !report) {
      summary.error = report.error().what;
    } else {
      add_report(**report, summary);
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::string numbers(std::initializer_list<std::int64_t> values) {
  std::string text;
  for (const auto value : values) text += '\t' + std::to_string(value);
  return text;
}
std::int64_t count(std::size_t number) { return static_cast<std::int64_t>(number); }

std::string status_tsv(const std::vector<Summary>& summaries) {
  std::string out =
      "partition\tsegments\tbytes\texpired\texpired_bytes\tdeleting\tdeleting_bytes\t"
      "log_start_offset\tlog_end_offset\tnext_segment\trule\tdue\tlatest_gone\treason\n";
  for (const auto& line : summaries) {
    if (!line.error.empty()) {
      out += line.name + "\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\tnever\tnever\t" +
             escape_field(line.error) + '\n';
      continue;
    }
    out += line.name +
           numbers({count(line.segments), line.bytes, count(line.expired), line.expired_bytes,
                    count(line.deleting), line.deleting_bytes, line.log_start_offset.value,
                    line.log_end_offset.value}) +
           '\t' + line.next_segment + '\t' + line.next_rule + '\t' + render_moment(line.due) +
           '\t' + render_moment(line.latest_gone) + '\t' + escape_field(line.reason) + '\n';
  }
  return out;
}

ordered_json moment(TimestampMs time) {
  return time == kNever ? ordered_json(nullptr) : ordered_json(time.value);
}

ordered_json text(const std::string& field) {
  return field == "-" ? ordered_json(nullptr) : ordered_json(field);
}

std::string status_json(const std::vector<Summary>& summaries, TimestampMs now) {
  ordered_json json;
  json["now"] = now.value;
  auto& lines = json["partitions"] = ordered_json::array();
  for (const auto& line : summaries) {
    ordered_json entry;
    entry["partition"] = line.name;
    if (!line.error.empty()) {
      entry["error"] = line.error;
    } else {
      entry["segments"] = line.segments;
      entry["bytes"] = line.bytes;
      entry["expired"] = line.expired;
      entry["expired_bytes"] = line.expired_bytes;
      entry["deleting"] = line.deleting;
      entry["deleting_bytes"] = line.deleting_bytes;
      entry["log_start_offset"] = line.log_start_offset.value;
      entry["log_end_offset"] = line.log_end_offset.value;
      entry["next_segment"] = text(line.next_segment);
      entry["rule"] = text(line.next_rule);
      entry["due"] = moment(line.due);
      entry["latest_gone"] = moment(line.latest_gone);
      entry["reason"] = line.reason;
    }
    lines.push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string topics_tsv(const std::vector<Summary>& summaries) {
  struct Topic {
    std::int64_t partitions = 0, segments = 0, bytes = 0, expired_bytes = 0, deleting_bytes = 0;
    const Summary* next = nullptr;  // of its partitions, the one whose segment goes first
  };
  std::map<std::string, Topic> topics;
  for (const auto& line : summaries) {
    if (!line.error.empty() || line.is_future) continue;
    auto& topic = topics[line.topic];
    ++topic.partitions;
    topic.segments += count(line.segments);
    topic.bytes += line.bytes;
    topic.expired_bytes += line.expired_bytes;
    topic.deleting_bytes += line.deleting_bytes;
    if (line.due != kNever && (topic.next == nullptr || line.due < topic.next->due))
      topic.next = &line;
  }
  std::string out =
      "topic\tpartitions\tsegments\tbytes\texpired_bytes\tdeleting_bytes\tnext_partition\t"
      "next_segment\trule\tdue\tlatest_gone\n";
  for (const auto& [name, topic] : topics) {
    out += name + numbers({topic.partitions, topic.segments, topic.bytes, topic.expired_bytes,
                           topic.deleting_bytes});
    if (topic.next == nullptr)
      out += "\t-\t-\t-\tnever\tnever\n";
    else
      out += '\t' + topic.next->name + '\t' + topic.next->next_segment + '\t' +
             topic.next->next_rule + '\t' + render_moment(topic.next->due) + '\t' +
             render_moment(topic.next->latest_gone) + '\n';
  }
  return out;
}

std::string removable_tsv(const storage::LogSource& source) {
  std::string out = "kind\tpath\tbytes\tbroker_removes_it\treason\n";
  for (const auto& thing : storage::find_removable(source.dirs()))
    out += std::string(removable_kind_name(thing.kind)) + '\t' + escape_field(thing.path) + '\t' +
           std::to_string(thing.bytes) + '\t' + (thing.broker_will ? "yes" : "no") + '\t' +
           escape_field(thing.reason) + '\n';
  return out;
}

}  // namespace

Result<std::string> broker_retention_text(BrokerRetentionFile file,
                                          const storage::LogSource& source,
                                          const Partitions& partitions, RetentionFiles& retention,
                                          TimestampMs now) {
  if (file == BrokerRetentionFile::kRemovable) return removable_tsv(source);
  const auto summaries = summarize(partitions, retention, now);
  if (file == BrokerRetentionFile::kStatusJson) return status_json(summaries, now);
  return file == BrokerRetentionFile::kTopics ? topics_tsv(summaries) : status_tsv(summaries);
}

}  // namespace offsetfs::fs
