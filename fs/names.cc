#include "fs/names.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "fs/decimal.h"
#include "fs/follow_start.h"
#include "fs/range_expression.h"
#include "fs/time_expression.h"
#include "fs/what_if.h"
#include "storage/segment_files.h"

namespace offsetfs::fs {
namespace {

using storage::SegmentSuffix;

// Names that never change: one row a name. `listed` follows "What is listed" in README's contract:
// every record is met twice by a walk, not four times.
struct FixedName {
  NodeKind dir;
  std::string_view name;
  NodeKind kind;
  Form form = Form::kRaw;
  std::uint8_t number = 0;
  bool listed = true;
};

constexpr std::uint8_t state(StateFile file) { return static_cast<std::uint8_t>(file); }
template <class File>
constexpr std::uint8_t number(File file) {
  return static_cast<std::uint8_t>(file);
}

constexpr FixedName kFixedNames[] = {
    {NodeKind::kRoot, "README", NodeKind::kReadme},
    {NodeKind::kRoot, "CACHEDIR.TAG", NodeKind::kCacheDirTag},
    {NodeKind::kRoot, "problems.jsonl", NodeKind::kProblems},
    {NodeKind::kRoot, "retention", NodeKind::kBrokerRetention},
    {NodeKind::kRoot, "stats", NodeKind::kStats},
    {NodeKind::kRoot, "topics", NodeKind::kTopics},

    {NodeKind::kPartition, "README", NodeKind::kReadme},
    {NodeKind::kPartition, "CACHEDIR.TAG", NodeKind::kCacheDirTag},
    {NodeKind::kPartition, "active", NodeKind::kActiveLink},
    {NodeKind::kPartition, "append", NodeKind::kAppend},
    {NodeKind::kPartition, "append.jsonl", NodeKind::kAppend, Form::kJsonl},
    {NodeKind::kPartition, "first", NodeKind::kFirstLink},
    {NodeKind::kPartition, "first.json", NodeKind::kFirstLink, Form::kJson},
    {NodeKind::kPartition, "follow", NodeKind::kFollow},
    {NodeKind::kPartition, "last", NodeKind::kLastLink},
    {NodeKind::kPartition, "last.json", NodeKind::kLastLink, Form::kJson},
    {NodeKind::kPartition, "offsets", NodeKind::kOffsets},
    {NodeKind::kPartition, "problems.jsonl", NodeKind::kProblems},
    {NodeKind::kPartition, "records.jsonl", NodeKind::kPartitionStream, Form::kJsonl, 0, false},
    {NodeKind::kPartition, "records.values", NodeKind::kPartitionStream, Form::kValues, 0, false},
    {NodeKind::kPartition, "records.keys", NodeKind::kPartitionStream, Form::kKeys, 0, false},
    {NodeKind::kPartition, "records.tsv", NodeKind::kPartitionStream, Form::kTsv, 0, false},
    {NodeKind::kPartition, "retention", NodeKind::kRetention},
    {NodeKind::kPartition, "seek", NodeKind::kSeek},
    {NodeKind::kPartition, "segments", NodeKind::kSegments},
    {NodeKind::kPartition, "state", NodeKind::kState},
    {NodeKind::kPartition, "stats", NodeKind::kStats},
    {NodeKind::kPartition, "time", NodeKind::kTime},

    {NodeKind::kSegment, "records.jsonl", NodeKind::kSegmentStream, Form::kJsonl},
    {NodeKind::kSegment, "records.values", NodeKind::kSegmentStream, Form::kValues, 0, false},
    {NodeKind::kSegment, "records.keys", NodeKind::kSegmentStream, Form::kKeys, 0, false},
    {NodeKind::kSegment, "records.tsv", NodeKind::kSegmentStream, Form::kTsv, 0, false},
    {NodeKind::kSegment, "batches.jsonl", NodeKind::kSegmentBatches},
    {NodeKind::kSegment, "index.tsv", NodeKind::kSegmentOffsetIndex},
    {NodeKind::kSegment, "timeindex.tsv", NodeKind::kSegmentTimeIndex},
    {NodeKind::kSegment, "txnindex.tsv", NodeKind::kSegmentTransactionIndex},
    {NodeKind::kSegment, "producers.jsonl", NodeKind::kSegmentProducers},
    {NodeKind::kSegment, "info.json", NodeKind::kSegmentInfo},
    {NodeKind::kSegment, "damage.jsonl", NodeKind::kSegmentDamage},

    {NodeKind::kRetention, "deleting", NodeKind::kDeleting},
    {NodeKind::kRetention, "expired", NodeKind::kExpired},
    {NodeKind::kRetention, "next", NodeKind::kRetentionFile, Form::kRaw,
     number(RetentionFile::kNext)},
    {NodeKind::kRetention, "policy.json", NodeKind::kRetentionFile, Form::kRaw,
     number(RetentionFile::kPolicyJson)},
    {NodeKind::kRetention, "policy.tsv", NodeKind::kRetentionFile, Form::kRaw,
     number(RetentionFile::kPolicyTsv)},
    {NodeKind::kRetention, "status.json", NodeKind::kRetentionFile, Form::kRaw,
     number(RetentionFile::kStatusJson)},
    {NodeKind::kRetention, "status.tsv", NodeKind::kRetentionFile, Form::kRaw,
     number(RetentionFile::kStatusTsv)},
    // What people type first; the listing has the name with its form.
    {NodeKind::kRetention, "status", NodeKind::kRetentionFile, Form::kRaw,
     number(RetentionFile::kStatusTsv), false},
    {NodeKind::kRetention, "timeline.svg", NodeKind::kRetentionFile, Form::kRaw,
     number(RetentionFile::kTimeline)},
    {NodeKind::kRetention, "what-if", NodeKind::kWhatIf},
    {NodeKind::kDeleting, "status.tsv", NodeKind::kDeletingStatus},

    {NodeKind::kBrokerRetention, "removable.tsv", NodeKind::kBrokerRetentionFile, Form::kRaw,
     number(BrokerRetentionFile::kRemovable)},
    {NodeKind::kBrokerRetention, "status.json", NodeKind::kBrokerRetentionFile, Form::kRaw,
     number(BrokerRetentionFile::kStatusJson)},
    {NodeKind::kBrokerRetention, "status.tsv", NodeKind::kBrokerRetentionFile, Form::kRaw,
     number(BrokerRetentionFile::kStatusTsv)},
    {NodeKind::kBrokerRetention, "status", NodeKind::kBrokerRetentionFile, Form::kRaw,
     number(BrokerRetentionFile::kStatusTsv), false},
    {NodeKind::kBrokerRetention, "topics.tsv", NodeKind::kBrokerRetentionFile, Form::kRaw,
     number(BrokerRetentionFile::kTopics)},

    {NodeKind::kState, "log_start_offset", NodeKind::kStateFile, Form::kRaw,
     state(StateFile::kLogStartOffset)},
    {NodeKind::kState, "log_end_offset", NodeKind::kStateFile, Form::kRaw,
     state(StateFile::kLogEndOffset)},
    {NodeKind::kState, "high_watermark", NodeKind::kStateFile, Form::kRaw,
     state(StateFile::kHighWatermark)},
    {NodeKind::kState, "last_stable_offset", NodeKind::kStateFile, Form::kRaw,
     state(StateFile::kLastStableOffset)},
    {NodeKind::kState, "recovery_point", NodeKind::kStateFile, Form::kRaw,
     state(StateFile::kRecoveryPoint)},
    {NodeKind::kState, "cleaner_offset", NodeKind::kStateFile, Form::kRaw,
     state(StateFile::kCleanerOffset)},
    {NodeKind::kState, "records", NodeKind::kStateFile, Form::kRaw, state(StateFile::kRecords)},
    {NodeKind::kState, "topic", NodeKind::kStateFile, Form::kRaw, state(StateFile::kTopic)},
    {NodeKind::kState, "partition", NodeKind::kStateFile, Form::kRaw, state(StateFile::kPartition)},
    {NodeKind::kState, "topic_id", NodeKind::kStateFile, Form::kRaw, state(StateFile::kTopicId)},
    {NodeKind::kState, "leader_epoch", NodeKind::kStateFile, Form::kRaw,
     state(StateFile::kLeaderEpoch)},
    {NodeKind::kState, "leader_epochs.tsv", NodeKind::kStateFile, Form::kRaw,
     state(StateFile::kLeaderEpochs)},
    {NodeKind::kState, "producers.tsv", NodeKind::kStateFile, Form::kRaw,
     state(StateFile::kProducers)},
    {NodeKind::kState, "transactions.tsv", NodeKind::kStateFile, Form::kRaw,
     state(StateFile::kTransactions)},
    {NodeKind::kState, "compaction.tsv", NodeKind::kStateFile, Form::kRaw,
     state(StateFile::kCompaction)},
};

Node child_of(const Node& dir, NodeKind kind, Form form, std::int64_t number) {
  Node node;
  node.kind = kind;
  node.form = form;
  node.partition = dir.partition;
  node.number = number;
  return node;
}

std::optional<Node> parse_fixed(const Node& dir, std::string_view name) {
  const auto* const row = std::ranges::find_if(kFixedNames, [&](const FixedName& fixed) {
    return fixed.dir == dir.kind && fixed.name == name;
  });
  if (row == std::end(kFixedNames)) return std::nullopt;
  Node node = child_of(dir, row->kind, row->form, row->number);
  if (dir.kind == NodeKind::kSegment) {
    node.number = dir.number;
    node.suffix = dir.suffix;
    node.generation = dir.generation;
  }
  return node;
}

struct Suffix {
  std::string_view text;
  Form form;
};
constexpr Suffix kSuffixes[] = {
    {".json", Form::kJson},   {".key", Form::kKey},   {".lookup", Form::kLookup},
    {".jsonl", Form::kJsonl}, {".keys", Form::kKeys}, {".values", Form::kValues},
    {".tsv", Form::kTsv},
};

std::string_view suffix_of(Form form) {
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.form == form) return suffix.text;
  }
  return {};
}

// Cuts a known suffix off; what a time's fraction may end with is none.
Form cut_suffix(std::string_view& name) {
  for (const Suffix& suffix : kSuffixes) {
    if (name.ends_with(suffix.text)) {
      name.remove_suffix(suffix.text.size());
      return suffix.form;
    }
  }
  return Form::kRaw;
}

bool is_stream(Form form) {
  return form == Form::kJsonl || form == Form::kValues || form == Form::kKeys || form == Form::kTsv;
}

Node text_child(const Node& dir, NodeKind kind, Form form, std::string_view text) {
  Node node = child_of(dir, kind, form, 0);
  node.text = text;
  return node;
}

std::optional<Node> parse_offset(const Node& dir, std::string_view name) {
  std::string_view stem = name;
  const Form form = cut_suffix(stem);
  if (is_stream(form)) {
    if (!parse_range(stem)) return std::nullopt;
    return text_child(dir, NodeKind::kRange, form, stem);
  }
  const auto offset = parse_canonical(stem);
  if (!offset) return std::nullopt;
  return child_of(dir, NodeKind::kRecord, form, *offset);
}

std::optional<Node> parse_seek(const Node& dir, std::string_view name) {
  const Form form = cut_suffix(name);
  const auto offset = parse_canonical(name);
  if (!offset || (form != Form::kRaw && form != Form::kJson)) return std::nullopt;
  return child_of(dir, NodeKind::kSeekLink, form, *offset);
}

// Only the spelling matters here; what `now` is decides nothing but a limit.
bool is_time(std::string_view text) { return parse_time(text, storage::TimestampMs{}).has_value(); }

std::optional<Node> parse_time_range(const Node& dir, Form form, std::string_view stem) {
  const auto dots = stem.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  if (!is_time(stem.substr(0, dots)) || !is_time(stem.substr(dots + 2))) return std::nullopt;
  return text_child(dir, NodeKind::kTimeRange, form, stem);
}

std::optional<Node> parse_time_name(const Node& dir, std::string_view name) {
  const Form form = cut_suffix(name);
  if (is_stream(form)) return parse_time_range(dir, form, name);
  if (form == Form::kKey || !is_time(name)) return std::nullopt;
  if (form == Form::kLookup) return text_child(dir, NodeKind::kTimeLookup, Form::kRaw, name);
  return text_child(dir, NodeKind::kTimeLink, form, name);
}

std::optional<Node> parse_follow_name(const Node& dir, std::string_view name) {
  const Form form = cut_suffix(name);
  if (!is_stream(form) || !parse_follow_start(name)) return std::nullopt;
  return text_child(dir, NodeKind::kFollowStream, form, name);
}

// what-if/K=V,K=V[.json]: a table, or one object.
std::optional<Node> parse_what_if_name(const Node& dir, std::string_view name) {
  std::string_view stem = name;
  const Form form = stem.ends_with(".json") ? Form::kJson : Form::kTsv;
  if (form == Form::kJson) stem.remove_suffix(std::string_view(".json").size());
  if (!parse_what_if(stem)) return std::nullopt;
  return text_child(dir, NodeKind::kWhatIfFile, form, stem);
}

constexpr std::size_t kBaseDigits = 20;

constexpr std::array kSegmentSuffixes{SegmentSuffix::kNone, SegmentSuffix::kDeleted,
                                      SegmentSuffix::kCleaned, SegmentSuffix::kSwap};

std::optional<Node> parse_segment(const Node& dir, std::string_view name) {
  if (name.size() < kBaseDigits) return std::nullopt;
  const std::string_view digits = name.substr(0, kBaseDigits);
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  const auto base = parse_canonical(
      digits.substr(std::min(digits.find_first_not_of('0'), kBaseDigits - 1)));  // "000...0" is "0"
  if (!base) return std::nullopt;
  for (const SegmentSuffix suffix : kSegmentSuffixes) {
    if (name.substr(kBaseDigits) != storage::suffix_text(suffix)) continue;
    Node node = child_of(dir, NodeKind::kSegment, Form::kRaw, *base);
    node.suffix = static_cast<std::uint8_t>(suffix);
    return node;
  }
  return std::nullopt;
}

// expired/BASE and deleting/BASE.deleted; what else deleting/ holds has a fixed name.
std::optional<Node> parse_doomed_segment(const Node& dir, std::string_view name) {
  auto node = parse_segment(dir, name);
  const bool deleting = dir.kind == NodeKind::kDeleting;
  const auto suffix = deleting ? SegmentSuffix::kDeleted : SegmentSuffix::kNone;
  if (!node || node->suffix != static_cast<std::uint8_t>(suffix)) return std::nullopt;
  node->kind = deleting ? NodeKind::kDeletingLink : NodeKind::kExpiredLink;
  node->suffix = 0;
  return node;
}

std::optional<Node> parse_topic(const Node& dir, std::string_view name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string_view::npos ||
      name.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  return text_child(dir, NodeKind::kTopic, Form::kRaw, name);
}

std::optional<Node> parse_topic_partition(const Node& dir, std::string_view name) {
  const auto partition = parse_canonical(name);
  if (!partition || *partition > INT32_MAX) return std::nullopt;
  Node node = text_child(dir, NodeKind::kTopicPartition, Form::kRaw, dir.text);
  node.number = *partition;
  return node;
}

std::string print_segment(const Node& node) {
  return storage::segment_base_name({node.number}) +
         storage::suffix_text(static_cast<SegmentSuffix>(node.suffix));
}

bool is_numbered(NodeKind kind) {
  return kind == NodeKind::kStateFile || kind == NodeKind::kRetentionFile ||
         kind == NodeKind::kBrokerRetentionFile;
}

// The number tells names apart only where a directory has several of one kind.
bool is_named_by(const Node& node, const FixedName& row) {
  return row.kind == node.kind && row.form == node.form &&
         (!is_numbered(node.kind) || row.number == node.number);
}

}  // namespace

std::optional<Node> parse_name(const Node& dir, std::string_view name) {
  switch (dir.kind) {
    case NodeKind::kOffsets: return parse_offset(dir, name);
    case NodeKind::kSeek: return parse_seek(dir, name);
    case NodeKind::kTime: return parse_time_name(dir, name);
    case NodeKind::kFollow: return parse_follow_name(dir, name);
    case NodeKind::kSegments: return parse_segment(dir, name);
    case NodeKind::kExpired: return parse_doomed_segment(dir, name);
    case NodeKind::kDeleting: {
      auto fixed = parse_fixed(dir, name);
      return fixed ? fixed : parse_doomed_segment(dir, name);
    }
    case NodeKind::kWhatIf: return parse_what_if_name(dir, name);
    case NodeKind::kTopics: return parse_topic(dir, name);
    case NodeKind::kTopic: return parse_topic_partition(dir, name);
    default: return parse_fixed(dir, name);
  }
}

std::string print_name(const Node& node) {
  switch (node.kind) {
    case NodeKind::kRecord:
    case NodeKind::kSeekLink: return std::to_string(node.number).append(suffix_of(node.form));
    case NodeKind::kRange:
    case NodeKind::kTimeLink:
    case NodeKind::kFollowStream:
    case NodeKind::kTimeRange: return std::string(node.text).append(suffix_of(node.form));
    case NodeKind::kTimeLookup: return node.text + ".lookup";
    case NodeKind::kSegment: return print_segment(node);
    case NodeKind::kExpiredLink: return storage::segment_base_name({node.number});
    case NodeKind::kDeletingLink: return storage::segment_base_name({node.number}) + ".deleted";
    case NodeKind::kWhatIfFile: return node.text + (node.form == Form::kJson ? ".json" : "");
    case NodeKind::kTopic: return node.text;
    case NodeKind::kTopicPartition: return std::to_string(node.number);
    default: break;
  }
  const auto* const row = std::ranges::find_if(
      kFixedNames, [&](const FixedName& fixed) { return is_named_by(node, fixed); });
  return row == std::end(kFixedNames) ? std::string() : std::string(row->name);
}

std::span<const Node> fixed_entries(NodeKind dir) {
  static const auto kListed = [] {
    std::array<std::vector<Node>, 256> listed;
    for (const FixedName& row : kFixedNames) {
      if (!row.listed) continue;
      listed[static_cast<std::uint8_t>(row.dir)].push_back(
          child_of(Node{}, row.kind, row.form, row.number));
    }
    return listed;
  }();
  return kListed[static_cast<std::uint8_t>(dir)];
}

}  // namespace offsetfs::fs
