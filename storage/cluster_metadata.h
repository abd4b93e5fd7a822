#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/dir.h"
#include "storage/log_config.h"
#include "storage/metadata_record.h"
#include "storage/problems.h"
#include "storage/result.h"

namespace offsetfs::storage {

// Topics and settings of a cluster, as its metadata log and snapshots say: the newest complete
// snapshot, then the log's records from its end offset on. A KRaft node keeps both in
// `__cluster_metadata-0` of its metadata log directory.
//
// The log's tail may be uncommitted: it has no high watermark on disk. One thread at a time.
class ClusterMetadata {
 public:
  // `dir`: the directory that is, or holds, `__cluster_metadata-0`. kNotFound if it has neither.
  // A damaged record or a torn snapshot is named in `problems` and costs only itself (an older
  // snapshot is taken then).
  static Result<ClusterMetadata> load(const SourceDir& dir, Problems& problems);

  // Reads what the log has had appended since (a KRaft node writes twice a second); `dir` as
  // before. After an error it stands where it came to. kOutOfRange: what came next is no longer
  // there (trimmed behind a snapshot, or cut off at its end): load anew.
  Result<void> catch_up(const SourceDir& dir, Problems& problems);

  // Applies one record; for load() and for tests. Records of an open metadata transaction wait for
  // its end.
  void apply(const MetadataRecord& record);

  // Overrides of a topic, by name; empty where there are none.
  const ConfigMap& topic_settings(const std::string& topic) const;
  const ConfigMap& broker_settings(std::int32_t broker) const;
  const ConfigMap& cluster_default_settings() const;
  // The id of a topic that exists now; empty if there is none of that name.
  Uuid topic_id(const std::string& topic) const;
  // False where something is missing: the log begins behind its front with no snapshot before it,
  // or a record was damaged. Settings may then be others than these.
  bool is_complete() const { return complete_; }
  // Where the last record lies: the metadata log is read up to here (exclusive).
  Offset end_offset() const { return end_offset_; }

 private:
  using ResourceKey = std::pair<std::int8_t, std::string>;

  void apply_now(const MetadataRecord& record);
  Result<void> load_snapshot(const SourceDir& dir, const std::string& below, Offset end_offset);
  Result<void> read_segment(const SourceDir& dir, Problems& problems);
  const ConfigMap& settings(std::int8_t type, const std::string& name) const;

  std::map<ResourceKey, ConfigMap> settings_;
  std::map<std::string, Uuid> topics_;          // name -> id
  std::vector<MetadataRecord> in_transaction_;  // since its begin
  bool transaction_open_ = false;
  Offset end_offset_{};
  std::string below_;  // the metadata log's directory, below the one that was given
  bool complete_ = true;
  Offset segment_{-1};  // where reading stands
  Position position_{};
};

}  // namespace offsetfs::storage
