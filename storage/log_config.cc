#include "storage/log_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

namespace offsetfs::storage {
namespace {

enum class Type { kInteger, kDouble, kBoolean, kPolicy, kTimestampType, kCompression };

// A broker's name for a topic setting, with what one of its units is in the topic's.
struct Synonym {
  std::string_view key;
  std::int64_t factor = 1;
};

struct Definition {
  std::string_view name;
  std::array<Synonym, 3> synonyms;  // empty key: no more
  std::string_view default_value;
  Type type = Type::kInteger;
  std::int64_t least = INT64_MIN;
  std::int64_t most = INT64_MAX;
  void (*store)(LogConfig&, std::string_view value) = nullptr;
};

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kHourMs = 3'600'000;

std::optional<std::int64_t> to_integer(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<double> to_double(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// "delete", "compact", both in any order, or (4.x) nothing.
std::optional<CleanupPolicy> to_policy(std::string_view text) {
  CleanupPolicy policy{.compact = false, .remove = false};
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto word = trim(text.substr(0, comma));
    if (word == "compact") {
      policy.compact = true;
    } else if (word == "delete") {
      policy.remove = true;
    } else if (!word.empty()) {
      return std::nullopt;
    }
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return policy;
}

bool equals_folded(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return (x >= 'A' && x <= 'Z' ? x + 32 : x) == (y >= 'A' && y <= 'Z' ? y + 32 : y);
  });
}

template <std::int64_t LogConfig::*field>
void store_integer(LogConfig& config, std::string_view value) {
  config.*field = to_integer(value).value_or(0);
}
template <bool LogConfig::*field>
void store_boolean(LogConfig& config, std::string_view value) {
  config.*field = equals_folded(value, "true");
}

// Kafka's topic settings, then the broker's own that retention depends on.
constexpr auto kDefinitions = std::to_array<Definition>({
    {"cleanup.policy",
     {{{"log.cleanup.policy"}}},
     "delete",
     Type::kPolicy,
     0,
     0,
     [](LogConfig& config, std::string_view value) {
       config.cleanup_policy = to_policy(value).value_or(CleanupPolicy{});
     }},
    {"retention.ms",
     {{{"log.retention.ms"},
       {"log.retention.minutes", kMinuteMs},
       {"log.retention.hours", kHourMs}}},
     "604800000",
     Type::kInteger,
     -1,
     INT64_MAX,
     store_integer<&LogConfig::retention_ms>},
    {"retention.bytes",
     {{{"log.retention.bytes"}}},
     "-1",
     Type::kInteger,
     INT64_MIN,
     INT64_MAX,
     store_integer<&LogConfig::retention_bytes>},
    {"file.delete.delay.ms",
     {{{"log.segment.delete.delay.ms"}}},
     "60000",
     Type::kInteger,
     0,
     INT64_MAX,
     store_integer<&LogConfig::file_delete_delay_ms>},
    {"segment.bytes",
     {{{"log.segment.bytes"}}},
     "1073741824",
     Type::kInteger,
     14,
     INT32_MAX,
     store_integer<&LogConfig::segment_bytes>},
    {"segment.ms",
     {{{"log.roll.ms"}, {"log.roll.hours", kHourMs}}},
     "604800000",
     Type::kInteger,
     1,
     INT64_MAX,
     store_integer<&LogConfig::segment_ms>},
    {"segment.jitter.ms",
     {{{"log.roll.jitter.ms"}, {"log.roll.jitter.hours", kHourMs}}},
     "0",
     Type::kInteger,
     0,
     INT64_MAX,
     store_integer<&LogConfig::segment_jitter_ms>},
    {"segment.index.bytes",
     {{{"log.index.size.max.bytes"}}},
     "10485760",
     Type::kInteger,
     4,
     INT32_MAX,
     store_integer<&LogConfig::segment_index_bytes>},
    {"index.interval.bytes",
     {{{"log.index.interval.bytes"}}},
     "4096",
     Type::kInteger,
     0,
     INT32_MAX,
     store_integer<&LogConfig::index_interval_bytes>},
    {"preallocate",
     {{{"log.preallocate"}}},
     "false",
     Type::kBoolean,
     0,
     0,
     store_boolean<&LogConfig::preallocate>},
    {"flush.messages",
     {{{"log.flush.interval.messages"}}},
     "9223372036854775807",
     Type::kInteger,
     1,
     INT64_MAX,
     store_integer<&LogConfig::flush_messages>},
    {"flush.ms",
     {{{"log.flush.interval.ms"}, {"log.flush.scheduler.interval.ms"}}},
     "9223372036854775807",
     Type::kInteger,
     0,
     INT64_MAX,
     store_integer<&LogConfig::flush_ms>},
    {"local.retention.ms",
     {{{"log.local.retention.ms"}}},
     "-2",
     Type::kInteger,
     -2,
     INT64_MAX,
     store_integer<&LogConfig::local_retention_ms>},
    {"local.retention.bytes",
     {{{"log.local.retention.bytes"}}},
     "-2",
     Type::kInteger,
     -2,
     INT64_MAX,
     store_integer<&LogConfig::local_retention_bytes>},
    {"remote.storage.enable",
     {},
     "false",
     Type::kBoolean,
     0,
     0,
     store_boolean<&LogConfig::remote_storage_enable>},
    {"remote.log.copy.disable",
     {},
     "false",
     Type::kBoolean,
     0,
     0,
     store_boolean<&LogConfig::remote_log_copy_disable>},
    {"remote.log.delete.on.disable", {}, "false", Type::kBoolean, 0, 0, nullptr},
    {"min.cleanable.dirty.ratio",
     {{{"log.cleaner.min.cleanable.ratio"}}},
     "0.5",
     Type::kDouble,
     0,
     1,
     [](LogConfig& config, std::string_view value) {
       config.min_cleanable_dirty_ratio = to_double(value).value_or(0.5);
     }},
    {"delete.retention.ms",
     {{{"log.cleaner.delete.retention.ms"}}},
     "86400000",
     Type::kInteger,
     0,
     INT64_MAX,
     store_integer<&LogConfig::delete_retention_ms>},
    {"min.compaction.lag.ms",
     {{{"log.cleaner.min.compaction.lag.ms"}}},
     "0",
     Type::kInteger,
     0,
     INT64_MAX,
     store_integer<&LogConfig::min_compaction_lag_ms>},
    {"max.compaction.lag.ms",
     {{{"log.cleaner.max.compaction.lag.ms"}}},
     "9223372036854775807",
     Type::kInteger,
     1,
     INT64_MAX,
     store_integer<&LogConfig::max_compaction_lag_ms>},
    {"message.timestamp.type",
     {{{"log.message.timestamp.type"}}},
     "CreateTime",
     Type::kTimestampType,
     0,
     0,
     [](LogConfig& config, std::string_view value) {
       config.log_append_time = value == "LogAppendTime";
     }},
    {"message.timestamp.before.max.ms",
     {{{"log.message.timestamp.before.max.ms"}}},
     "9223372036854775807",
     Type::kInteger,
     0,
     INT64_MAX,
     nullptr},
    {"message.timestamp.after.max.ms",
     {{{"log.message.timestamp.after.max.ms"}}},
     "3600000",
     Type::kInteger,
     0,
     INT64_MAX,
     nullptr},
    {"max.message.bytes",
     {{{"message.max.bytes"}}},
     "1048588",
     Type::kInteger,
     0,
     INT32_MAX,
     store_integer<&LogConfig::max_message_bytes>},
    {"compression.type",
     {{{"compression.type"}}},
     "producer",
     Type::kCompression,
     0,
     0,
     [](LogConfig& config, std::string_view value) { config.compression_type = value; }},
    {"log.retention.check.interval.ms",
     {{{"log.retention.check.interval.ms"}}},
     "300000",
     Type::kInteger,
     1,
     INT64_MAX,
     store_integer<&LogConfig::retention_check_interval_ms>},
    {"log.cleaner.backoff.ms",
     {{{"log.cleaner.backoff.ms"}}},
     "15000",
     Type::kInteger,
     0,
     INT64_MAX,
     store_integer<&LogConfig::cleaner_backoff_ms>},
    {"log.cleaner.enable",
     {{{"log.cleaner.enable"}}},
     "true",
     Type::kBoolean,
     0,
     0,
     store_boolean<&LogConfig::cleaner_enable>},
});

const Definition* find_definition(std::string_view name) {
  const auto* found = std::find_if(kDefinitions.begin(), kDefinitions.end(),
                                   [&](const Definition& d) { return d.name == name; });
  return found == kDefinitions.end() ? nullptr : found;
}

std::int64_t multiply_saturated(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

// The value in the topic's unit and canonical form, or why it can't be taken.
Result<std::string> canonical(const Definition& definition, std::string_view written,
                              const Synonym& synonym) {
  const auto value = trim(written);
  const auto refuse = [&](const std::string& wanted) {
    return fail(Errc::kInvalid,
                std::string(definition.name) + ": '" + std::string(value) + "' is not " + wanted);
  };
  switch (definition.type) {
    case Type::kCompression:
      for (const auto* known : {"producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"})
        if (value == known) return std::string(value);
      return refuse("producer, uncompressed, gzip, snappy, lz4 or zstd");
    case Type::kBoolean:
      if (equals_folded(value, "true")) return std::string("true");
      if (equals_folded(value, "false")) return std::string("false");
      return refuse("true or false");
    case Type::kPolicy: {
      const auto policy = to_policy(value);
      if (!policy) return refuse("a list of 'compact' and 'delete'");
      std::string text = policy->compact ? "compact" : "";
      if (policy->remove) text += text.empty() ? "delete" : ",delete";
      return text;
    }
    case Type::kTimestampType:
      if (value == "CreateTime" || value == "LogAppendTime") return std::string(value);
      return refuse("CreateTime or LogAppendTime");
    case Type::kDouble: {
      const auto number = to_double(value);
      if (!number || !(*number >= static_cast<double>(definition.least)) ||
          !(*number <= static_cast<double>(definition.most)))
        return refuse("a number from " + std::to_string(definition.least) + " to " +
                      std::to_string(definition.most));
      return std::string(value);
    }
    case Type::kInteger: {
      auto number = to_integer(value);
      if (!number) return refuse("a whole number");
      // Kafka takes any negative log.retention.* for -1 ("never").
      if (definition.name == "retention.ms" && synonym.key != definition.name && *number < 0)
        number = -1;
      else
        number = multiply_saturated(*number, synonym.factor);
      if (*number < definition.least || *number > definition.most)
        return refuse("within " + std::to_string(definition.least) + " to " +
                      std::to_string(definition.most));
      return std::to_string(*number);
    }
  }
  return refuse("of a known type");
}

// Walks the levels from the highest to the lowest for one setting.
class Resolver {
 public:
  explicit Resolver(const Definition& definition) : definition_(definition) {
    value_.name = definition.name;
  }

  void offer(ConfigOrigin origin, const ConfigMap& level, const Synonym& synonym) {
    const auto found = level.find(synonym.key);
    if (found == level.end()) return;
    ConfigValue::Source source{origin, found->first, found->second};
    if (taken_) {
      value_.overrides.push_back(std::move(source));
      return;
    }
    auto value = canonical(definition_, found->second, synonym);
    if (!value) {
      if (!value_.problem.empty()) value_.problem += "; ";
      value_.problem += source.key + " (" + config_origin_name(origin) + "): " + value.error().what;
      return;
    }
    take(std::move(*value), std::move(source));
  }

  void offer_synonyms(ConfigOrigin origin, const ConfigMap& level) {
    for (const auto& synonym : definition_.synonyms)
      if (!synonym.key.empty()) offer(origin, level, synonym);
  }

  ConfigValue finish() {
    ConfigValue::Source source{ConfigOrigin::kDefault, std::string(definition_.name),
                               std::string(definition_.default_value)};
    if (taken_)
      value_.overrides.push_back(std::move(source));
    else
      take(std::string(definition_.default_value), std::move(source));
    return std::move(value_);
  }

 private:
  void take(std::string value, ConfigValue::Source source) {
    value_.value = std::move(value);
    value_.source = std::move(source);
    taken_ = true;
  }

  const Definition& definition_;
  ConfigValue value_;
  bool taken_ = false;
};

}  // namespace

const char* config_origin_name(ConfigOrigin origin) {
  switch (origin) {
    case ConfigOrigin::kCommandLine: return "command line";
    case ConfigOrigin::kTopic: return "topic";
    case ConfigOrigin::kBroker: return "broker";
    case ConfigOrigin::kClusterDefault: return "cluster default";
    case ConfigOrigin::kServerProperties: return "server.properties";
    case ConfigOrigin::kDefault: return "default";
  }
  return "";
}

const ConfigValue* EffectiveConfig::find(std::string_view name) const {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const ConfigValue& value) { return value.name == name; });
  return found == values.end() ? nullptr : &*found;
}

EffectiveConfig resolve_config(const ConfigLevels& levels) {
  EffectiveConfig effective;
  effective.values.reserve(kDefinitions.size());
  for (const auto& definition : kDefinitions) {
    Resolver resolver(definition);
    const Synonym own{definition.name};
    resolver.offer(ConfigOrigin::kCommandLine, levels.command_line, own);
    resolver.offer(ConfigOrigin::kTopic, levels.topic, own);
    resolver.offer_synonyms(ConfigOrigin::kBroker, levels.broker);
    resolver.offer_synonyms(ConfigOrigin::kClusterDefault, levels.cluster_default);
    resolver.offer_synonyms(ConfigOrigin::kServerProperties, levels.server_properties);
    auto value = resolver.finish();
    if (definition.store != nullptr) definition.store(effective.log, value.value);
    effective.values.push_back(std::move(value));
  }
  return effective;
}

std::vector<std::string_view> setting_names() {
  std::vector<std::string_view> names;
  for (const auto& definition : kDefinitions) names.push_back(definition.name);
  return names;
}

Result<void> check_setting(std::string_view name, std::string_view value) {
  const auto* definition = find_definition(name);
  if (definition == nullptr) return fail(Errc::kNotFound, "no setting " + std::string(name));
  RETURN_IF_ERROR(canonical(*definition, value, Synonym{definition->name}));
  return {};
}

bool is_harmless_setting(std::string_view name) {
  return std::any_of(kDefinitions.begin(), kDefinitions.end(), [&](const Definition& definition) {
    return definition.name == name ||
           std::any_of(
               definition.synonyms.begin(), definition.synonyms.end(),
               [&](const Synonym& synonym) { return !synonym.key.empty() && synonym.key == name; });
  });
}

}  // namespace offsetfs::storage
