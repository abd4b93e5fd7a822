#include "storage/log_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

const ConfigValue& value_of(const EffectiveConfig& config, std::string_view name) {
  const auto* value = config.find(name);
  EXPECT_NE(value, nullptr) << name;
  static const ConfigValue none;
  return value != nullptr ? *value : none;
}

TEST(LogConfigTest, WithoutAnySettingEverythingIsKafkasDefault) {
  const auto config = resolve_config({});
  EXPECT_EQ(config.log.retention_ms, 604800000);
  EXPECT_EQ(config.log.retention_bytes, -1);
  EXPECT_EQ(config.log.segment_bytes, 1073741824);
  EXPECT_EQ(config.log.file_delete_delay_ms, 60000);
  EXPECT_TRUE(config.log.cleanup_policy.remove);
  EXPECT_FALSE(config.log.cleanup_policy.compact);
  for (const auto& value : config.values) {
    EXPECT_EQ(value.source.origin, ConfigOrigin::kDefault) << value.name;
    EXPECT_TRUE(value.overrides.empty()) << value.name;
    EXPECT_TRUE(value.problem.empty()) << value.name << ": " << value.problem;
  }
}

TEST(LogConfigTest, TheHighestLevelWinsAndNamesAllThatItOverrides) {
  ConfigLevels levels;
  levels.command_line["retention.bytes"] = "1";
  levels.topic["retention.bytes"] = "2";
  levels.broker["log.retention.bytes"] = "3";
  levels.cluster_default["log.retention.bytes"] = "4";
  levels.server_properties["log.retention.bytes"] = "5";
  const std::vector<ConfigOrigin> order{ConfigOrigin::kCommandLine, ConfigOrigin::kTopic,
                                        ConfigOrigin::kBroker, ConfigOrigin::kClusterDefault,
                                        ConfigOrigin::kServerProperties};
  ConfigMap* maps[] = {&levels.command_line, &levels.topic, &levels.broker, &levels.cluster_default,
                       &levels.server_properties};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto config = resolve_config(levels);
    const auto& value = value_of(config, "retention.bytes");
    EXPECT_EQ(config.log.retention_bytes, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(value.source.origin, order[i]);
    ASSERT_EQ(value.overrides.size(), order.size() - i);
    EXPECT_EQ(value.overrides.back().origin, ConfigOrigin::kDefault);
    maps[i]->clear();
  }
  EXPECT_EQ(resolve_config(levels).log.retention_bytes, -1);
}

TEST(LogConfigTest, ADynamicNameOfLowRankBeatsAStaticOneOfHighRank) {
  ConfigLevels levels;
  levels.server_properties["log.roll.ms"] = "5000";
  levels.cluster_default["log.roll.hours"] = "2";
  const auto config = resolve_config(levels);
  EXPECT_EQ(config.log.segment_ms, 7200000);
  const auto& value = value_of(config, "segment.ms");
  EXPECT_EQ(value.source.key, "log.roll.hours");
  EXPECT_THAT(value.overrides, ElementsAre(Field(&ConfigValue::Source::key, "log.roll.ms"),
                                           Field(&ConfigValue::Source::key, "segment.ms")));
}

TEST(LogConfigTest, MillisecondsBeatMinutesBeatHoursWithinOneLevel) {
  ConfigLevels levels;
  levels.server_properties["log.retention.hours"] = "1";
  EXPECT_EQ(resolve_config(levels).log.retention_ms, 3600000);
  levels.server_properties["log.retention.minutes"] = "2";
  EXPECT_EQ(resolve_config(levels).log.retention_ms, 120000);
  levels.server_properties["log.retention.ms"] = "3";
  EXPECT_EQ(resolve_config(levels).log.retention_ms, 3);
}

TEST(LogConfigTest, AnyNegativeBrokerRetentionTimeMeansNeverAndHugeHoursDoNotOverflow) {
  ConfigLevels levels;
  levels.server_properties["log.retention.hours"] = "-5";
  EXPECT_EQ(resolve_config(levels).log.retention_ms, -1);
  levels.server_properties["log.retention.hours"] = "9223372036854775807";
  EXPECT_EQ(resolve_config(levels).log.retention_ms, INT64_MAX);
}

TEST(LogConfigTest, AValueThatIsNoneIsPassedOverAndSaidSo) {
  ConfigLevels levels;
  levels.topic["retention.ms"] = "a week";
  levels.broker["log.retention.ms"] = "42";
  const auto config = resolve_config(levels);
  EXPECT_EQ(config.log.retention_ms, 42);
  EXPECT_THAT(value_of(config, "retention.ms").problem, HasSubstr("'a week'"));
}

TEST(LogConfigTest, CleanupPolicyIsAListAndMayBeEmpty) {
  const auto policy = [](const std::string& text) {
    ConfigLevels levels;
    levels.topic["cleanup.policy"] = text;
    return resolve_config(levels).log.cleanup_policy;
  };
  EXPECT_TRUE(policy("compact").compact);
  EXPECT_FALSE(policy("compact").remove);
  EXPECT_TRUE(policy("compact, delete").remove);
  EXPECT_TRUE(policy("delete,compact").compact);
  EXPECT_FALSE(policy("").remove);
  EXPECT_FALSE(policy("").compact);
}

TEST(LogConfigTest, ASettingFromOutsideIsChecked) {
  EXPECT_TRUE(check_setting("retention.ms", "3600000").has_value());
  EXPECT_TRUE(check_setting("retention.ms", "-1").has_value());
  EXPECT_THAT(check_setting("retention.ms", "-2").error().what, HasSubstr("-1"));
  EXPECT_EQ(check_setting("retentoin.ms", "1").error().code, Errc::kNotFound);
  EXPECT_FALSE(check_setting("segment.bytes", "13").has_value());
  EXPECT_FALSE(check_setting("cleanup.policy", "remove").has_value());
  EXPECT_TRUE(check_setting("compression.type", "lz4").has_value());
  EXPECT_THAT(check_setting("compression.type", "lzma").error().what, HasSubstr("lz4 or zstd"));
}

TEST(LogConfigTest, OnlyKnownSettingsAreHarmless) {
  EXPECT_TRUE(is_harmless_setting("retention.ms"));
  EXPECT_TRUE(is_harmless_setting("log.retention.minutes"));
  EXPECT_FALSE(is_harmless_setting("ssl.keystore.password"));
  EXPECT_FALSE(is_harmless_setting(""));
}

}  // namespace
}  // namespace offsetfs::storage
