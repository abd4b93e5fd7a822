#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/result.h"

// The settings of a partition log: what each is, where it came from, what it overrides.
//
// A topic's setting is the first that is set of
//   the command line > the topic's override > this broker's dynamic setting > the cluster-wide
//   dynamic default > server.properties > Kafka's default
// and within one level of a broker's names for it, in Kafka's order (log.retention.ms before
// .minutes before .hours); a dynamic name of low rank still beats a static one of high rank.
// Source: Kafka 4.3.1, TopicConfig, ServerLogConfigs, DynamicBrokerConfig; kafka docs "Topic
// configs".

namespace offsetfs::storage {

enum class ConfigOrigin {
  kCommandLine,
  kTopic,           // topic override in the cluster's metadata log
  kBroker,          // dynamic setting of this broker
  kClusterDefault,  // cluster-wide dynamic default of all brokers
  kServerProperties,
  kDefault,  // Kafka's own
};
const char* config_origin_name(ConfigOrigin origin);  // "command line", "topic", ...

using ConfigMap = std::map<std::string, std::string, std::less<>>;  // key -> value as written

// The levels as they were found; an absent level is an empty map.
struct ConfigLevels {
  ConfigMap command_line;       // topic names (retention.ms)
  ConfigMap topic;              // topic names
  ConfigMap broker;             // broker names (log.retention.ms)
  ConfigMap cluster_default;    // broker names
  ConfigMap server_properties;  // broker names
};

// One effective setting.
struct ConfigValue {
  struct Source {
    ConfigOrigin origin = ConfigOrigin::kDefault;
    std::string key;    // as written at its origin: log.retention.hours
    std::string value;  // as written: 168
  };
  std::string name;   // the topic's name of it: retention.ms; a broker-only one's own name
  std::string value;  // in the topic's unit: 604800000
  Source source;
  std::vector<Source> overrides;  // lower ones that are set, highest first; the default is last
  std::string problem;            // why a higher setting was not taken: no number, out of range
};

struct CleanupPolicy {
  bool compact = false;
  bool remove = true;  // "delete"
};

// The effective settings as numbers: what the log's rules are computed with.
struct LogConfig {
  std::int64_t segment_bytes = 1073741824;
  std::int64_t segment_ms = 604800000;
  std::int64_t segment_jitter_ms = 0;
  std::int64_t segment_index_bytes = 10485760;
  std::int64_t index_interval_bytes = 4096;
  std::int64_t retention_ms = 604800000;  // < 0: never
  std::int64_t retention_bytes = -1;      // < 0: off
  std::int64_t local_retention_ms = -2;   // -2: take retention_ms
  std::int64_t local_retention_bytes = -2;
  bool remote_storage_enable = false;
  bool remote_log_copy_disable = false;
  std::int64_t file_delete_delay_ms = 60000;
  CleanupPolicy cleanup_policy;
  double min_cleanable_dirty_ratio = 0.5;
  std::int64_t delete_retention_ms = 86400000;
  std::int64_t min_compaction_lag_ms = 0;
  std::int64_t max_compaction_lag_ms = INT64_MAX;
  bool log_append_time = false;  // message.timestamp.type
  std::int64_t max_message_bytes = 1048588;
  std::string compression_type = "producer";
  bool preallocate = false;
  std::int64_t flush_messages = INT64_MAX;
  std::int64_t flush_ms = INT64_MAX;
  // The broker's own.
  std::int64_t retention_check_interval_ms = 300000;
  std::int64_t cleaner_backoff_ms = 15000;
  bool cleaner_enable = true;
};

struct EffectiveConfig {
  LogConfig log;
  std::vector<ConfigValue> values;  // in the order of Kafka's own table

  const ConfigValue* find(std::string_view name) const;
};

// Never fails: a value that can't be taken (no number, out of range) is passed over for the next
// lower level, and its ConfigValue says so.
EffectiveConfig resolve_config(const ConfigLevels& levels);

// The names that a ConfigLevels::command_line may have, in the order of Kafka's own table.
std::vector<std::string_view> setting_names();
// A setting from outside (a command line, a what-if name). kNotFound: no such setting; kInvalid
// with a sentence: no such value.
Result<void> check_setting(std::string_view name, std::string_view value);

// Whether a value may be shown to whoever reads the mount: settings known to be harmless (every
// name of the tables here). All else may hold a secret.
bool is_harmless_setting(std::string_view name);

}  // namespace offsetfs::storage
