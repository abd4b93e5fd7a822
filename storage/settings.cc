#include "storage/settings.h"

#include <chrono>

namespace offsetfs::storage {
namespace {

constexpr std::int64_t kReadAgainAfterMs = 1000;

std::int64_t steady_now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Settings::Settings(Sources sources, Problems& problems)
    : sources_(std::move(sources)), problems_(problems) {}

EffectiveConfig Settings::for_topic(const std::string& topic) const { return for_topic(topic, {}); }

EffectiveConfig Settings::for_topic(const std::string& topic, const ConfigMap& by_hand) const {
  return for_log(topic, {}, by_hand);
}

EffectiveConfig Settings::for_log(const std::string& topic, const ConfigMap& own,
                                  const ConfigMap& by_hand) const {
  ConfigLevels levels;
  levels.command_line = by_hand;
  levels.command_line.insert(sources_.command_line.begin(), sources_.command_line.end());
  levels.server_properties = sources_.server_properties;
  levels.topic = own;
  {
    const MutexLock lock(mutex_);
    refresh();
    if (cluster_) {
      levels.topic = cluster_->topic_settings(topic);
      levels.topic.insert(own.begin(), own.end());
      levels.cluster_default = cluster_->cluster_default_settings();
      if (sources_.broker) levels.broker = cluster_->broker_settings(*sources_.broker);
    }
  }
  return resolve_config(levels);
}

bool Settings::knows_cluster() const {
  const MutexLock lock(mutex_);
  refresh();
  return cluster_ && cluster_->is_complete();
}

void Settings::refresh() const {
  if (sources_.metadata_dir == nullptr) return;
  const auto now = steady_now_ms();
  if (read_at_ms_ != INT64_MIN && now - read_at_ms_ < kReadAgainAfterMs) return;
  read_at_ms_ = now;
  if (cluster_ && cluster_->catch_up(*sources_.metadata_dir, problems_)) return;
  // For the first time, or what was read before is no longer there (a truncated tail): from anew.
  auto loaded = ClusterMetadata::load(*sources_.metadata_dir, problems_);
  if (loaded)
    cluster_ = std::move(*loaded);
  else if (loaded.error().code != Errc::kNotFound)
    problems_.add({sources_.metadata_dir->path(), -1, loaded.error().what});
}

}  // namespace offsetfs::storage
