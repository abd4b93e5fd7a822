#include "storage/cluster_metadata.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include <sys/stat.h>

#include "storage/batch_scanner.h"
#include "storage/byte_reader.h"
#include "storage/record_batch.h"
#include "storage/segment_files.h"

namespace offsetfs::storage {
namespace {

constexpr std::string_view kDirName = "__cluster_metadata-0";
// Control record types of a snapshot file.
constexpr std::int16_t kSnapshotFooter = 4;

struct Snapshot {
  Offset end_offset{};
  std::int32_t epoch = 0;
  std::string name;
};

std::optional<std::int64_t> digits(std::string_view text, std::size_t count) {
  if (text.size() != count) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + count, number);
  if (error != std::errc{} || end != text.data() + count || text.front() == '-')
    return std::nullopt;
  return number;
}

// `<20 digits>-<10 digits>.checkpoint`
std::optional<Snapshot> parse_snapshot_name(std::string_view name) {
  constexpr std::string_view kEnding = ".checkpoint";
  if (name.size() != 31 + kEnding.size() || !name.ends_with(kEnding) || name[20] != '-')
    return std::nullopt;
  const auto offset = digits(name.substr(0, 20), 20);
  const auto epoch = digits(name.substr(21, 10), 10);
  if (!offset || !epoch || *epoch > INT32_MAX) return std::nullopt;
  return Snapshot{{*offset}, static_cast<std::int32_t>(*epoch), std::string(name)};
}

// Hands `visit` every record of every batch from `from` on; it returns an error to end the walk.
// Damage is `on_damage`'s to judge: true goes on behind it where that is known. Returns where the
// whole batches end.
Result<Position> walk_records(
    const File& file, Position from,
    const std::function<Result<void>(const BatchHeader&, const Record&)>& visit,
    const std::function<bool(const Error&)>& on_damage) {
  ASSIGN_OR_RETURN(const auto info, file.info());
  if (info.size_bytes < from.value)
    return fail(Errc::kOutOfRange, file.name() + ": shrank from " + std::to_string(from.value) +
                                       " to " + std::to_string(info.size_bytes) + " bytes");
  BatchScanner scanner(file, from, {info.size_bytes});
  std::string scratch;
  while (true) {
    switch (scanner.next()) {
      case BatchScanner::Step::kEnd:
      case BatchScanner::Step::kTornTail: return scanner.position();
      case BatchScanner::Step::kIo: return fail(scanner.error());
      case BatchScanner::Step::kDamaged:
        if (!on_damage(scanner.error())) return fail(scanner.error());
        if (scanner.damage_end().value < 0) return scanner.position();
        scanner.resume_at(scanner.damage_end());
        break;
      case BatchScanner::Step::kBatch: {
        const auto& batch = scanner.batch();
        ASSIGN_OR_RETURN(auto reader, RecordReader::open(batch.header, batch.entry, scratch));
        Record record;
        auto step = reader.next(record);
        for (; step == RecordReader::Step::kRecord; step = reader.next(record))
          RETURN_IF_ERROR(visit(batch.header, record));
        if (step == RecordReader::Step::kCorrupt)
          return fail(Errc::kCorrupt, file.name() + ": batch at position " +
                                          std::to_string(batch.position.value) + ": " +
                                          reader.why());
      }
    }
  }
}

bool is_footer(const BatchHeader& header, const Record& record) {
  if (!header.is_control() || !record.key) return false;
  ByteReader key(*record.key);
  key.i16();  // the key's version
  return key.i16() == kSnapshotFooter && key.ok();
}

const ConfigMap kNoSettings;

}  // namespace

Result<ClusterMetadata> ClusterMetadata::load(const SourceDir& dir, Problems& problems) {
  std::string below;
  if (const auto info = dir.info(std::string(kDirName)); info && S_ISDIR(info->mode))
    below = kDirName;
  std::vector<Snapshot> snapshots;
  bool has_log = false;
  RETURN_IF_ERROR(dir.list(below, [&](const SourceDir::Entry& entry) {
    if (entry.kind != SourceDir::Kind::kFile) return true;
    if (auto snapshot = parse_snapshot_name(entry.name)) snapshots.push_back(std::move(*snapshot));
    const auto segment = parse_segment_file(entry.name);
    has_log |= segment && segment->file == SegmentFile::kLog;
    return true;
  }));
  const bool named_so = below == kDirName || dir.real_path().ends_with(kDirName);
  if (!named_so || (!has_log && snapshots.empty()))
    return fail(Errc::kNotFound, dir.path() + ": holds no " + std::string(kDirName));

  std::sort(snapshots.begin(), snapshots.end(), [](const Snapshot& a, const Snapshot& b) {
    return std::pair(a.end_offset, a.epoch) > std::pair(b.end_offset, b.epoch);
  });
  const std::string stem = below.empty() ? "" : below + "/";
  for (const auto& snapshot : snapshots) {
    ClusterMetadata metadata;
    auto loaded = metadata.load_snapshot(dir, stem + snapshot.name, snapshot.end_offset);
    if (!loaded) {
      problems.add({dir.name_of(stem + snapshot.name), -1, loaded.error().what});
      continue;
    }
    metadata.below_ = below;
    RETURN_IF_ERROR(metadata.catch_up(dir, problems));
    return metadata;
  }
  ClusterMetadata metadata;
  metadata.below_ = below;
  RETURN_IF_ERROR(metadata.catch_up(dir, problems));
  return metadata;
}

Result<void> ClusterMetadata::load_snapshot(const SourceDir& dir, const std::string& below,
                                            Offset end_offset) {
  ASSIGN_OR_RETURN(const auto file, dir.open_file(below));
  bool complete = false;
  RETURN_IF_ERROR(walk_records(
      *file, Position{0},
      [&](const BatchHeader& header, const Record& record) -> Result<void> {
        complete |= is_footer(header, record);
        if (header.is_control() || !record.value) return {};
        ASSIGN_OR_RETURN(const auto parsed, parse_metadata_record(*record.value));
        apply(parsed);
        return {};
      },
      [](const Error&) { return false; }));
  if (!complete)
    return fail(Errc::kCorrupt, file->name() + ": no footer: the snapshot is incomplete");
  end_offset_ = end_offset;
  return {};
}

Result<void> ClusterMetadata::catch_up(const SourceDir& dir, Problems& problems) {
  std::vector<Offset> segments;
  RETURN_IF_ERROR(dir.list(below_, [&](const SourceDir::Entry& entry) {
    const auto name = parse_segment_file(entry.name);
    if (entry.kind == SourceDir::Kind::kFile && name && name->file == SegmentFile::kLog &&
        name->suffix == SegmentSuffix::kNone)
      segments.push_back(name->base_offset);
    return true;
  }));
  std::sort(segments.begin(), segments.end());
  if (!segments.empty() && segments.front() > end_offset_) {
    if (segment_.value >= 0)
      return fail(Errc::kOutOfRange, dir.name_of(below_) + ": trimmed up to offset " +
                                         std::to_string(segments.front().value));
    complete_ = false;
    problems.add({dir.name_of(below_), -1,
                  "the log begins at offset " + std::to_string(segments.front().value) +
                      ", and no whole snapshot covers what was before: settings may be missing"});
    end_offset_ = segments.front();
  }
  for (std::size_t i = 0; i < segments.size(); ++i) {
    // A segment that ends below what is known says nothing new.
    if (i + 1 < segments.size() && segments[i + 1] <= end_offset_) continue;
    if (segments[i] != segment_) {
      segment_ = segments[i];
      position_ = {0};
    }
    RETURN_IF_ERROR(read_segment(dir, problems));
  }
  return {};
}

Result<void> ClusterMetadata::read_segment(const SourceDir& dir, Problems& problems) {
  const auto name = (below_.empty() ? "" : below_ + "/") + segment_file_name({segment_});
  ASSIGN_OR_RETURN(const auto file, dir.open_file(name));
  const auto note = [&](const std::string& what) {
    complete_ = false;
    problems.add({file->name(), -1, what});
  };
  const auto visit = [&](const BatchHeader& header, const Record& record) -> Result<void> {
    if (record.offset < end_offset_) return {};
    end_offset_ = record.offset + 1;
    if (header.is_control() || !record.value) return {};
    if (const auto parsed = parse_metadata_record(*record.value))
      apply(*parsed);
    else
      note("record at offset " + std::to_string(record.offset.value) + ": " + parsed.error().what);
    return {};
  };
  ASSIGN_OR_RETURN(position_, walk_records(*file, position_, visit, [&](const Error& error) {
                     note(error.what);
                     return true;
                   }));
  return {};
}

void ClusterMetadata::apply(const MetadataRecord& record) {
  if (std::holds_alternative<BeginTransactionRecord>(record)) {
    transaction_open_ = true;
    in_transaction_.clear();
  } else if (std::holds_alternative<EndTransactionRecord>(record)) {
    for (const auto& waiting : in_transaction_) apply_now(waiting);
    in_transaction_.clear();
    transaction_open_ = false;
  } else if (std::holds_alternative<AbortTransactionRecord>(record)) {
    in_transaction_.clear();
    transaction_open_ = false;
  } else if (transaction_open_) {
    in_transaction_.push_back(record);
  } else {
    apply_now(record);
  }
}

void ClusterMetadata::apply_now(const MetadataRecord& record) {
  if (const auto* topic = std::get_if<TopicRecord>(&record)) {
    topics_[topic->name] = topic->topic_id;
  } else if (const auto* removed = std::get_if<RemoveTopicRecord>(&record)) {
    const auto found = std::find_if(topics_.begin(), topics_.end(), [&](const auto& entry) {
      return entry.second == removed->topic_id;
    });
    if (found == topics_.end()) return;
    settings_.erase({ConfigRecord::kTopicResource, found->first});
    topics_.erase(found);
  } else if (const auto* config = std::get_if<ConfigRecord>(&record)) {
    auto& map = settings_[{config->resource_type, config->resource_name}];
    if (config->value)
      map[config->name] = *config->value;
    else
      map.erase(config->name);
  }
}

const ConfigMap& ClusterMetadata::settings(std::int8_t type, const std::string& name) const {
  const auto found = settings_.find({type, name});
  return found == settings_.end() ? kNoSettings : found->second;
}

const ConfigMap& ClusterMetadata::topic_settings(const std::string& topic) const {
  return settings(ConfigRecord::kTopicResource, topic);
}
const ConfigMap& ClusterMetadata::broker_settings(std::int32_t broker) const {
  return settings(ConfigRecord::kBrokerResource, std::to_string(broker));
}
const ConfigMap& ClusterMetadata::cluster_default_settings() const {
  return settings(ConfigRecord::kBrokerResource, "");
}

Uuid ClusterMetadata::topic_id(const std::string& topic) const {
  const auto found = topics_.find(topic);
  return found == topics_.end() ? Uuid{} : found->second;
}

}  // namespace offsetfs::storage
