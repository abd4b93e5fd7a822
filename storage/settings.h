#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "storage/cluster_metadata.h"
#include "storage/dir.h"
#include "storage/log_config.h"
#include "storage/mutex.h"
#include "storage/problems.h"

namespace offsetfs::storage {

// The settings of every topic of a mount, from all levels that can be had (log_config.h). The
// cluster's metadata log is read when a setting is first asked, and what was appended since is read
// at later askings, at most once a second. Any thread.
class Settings {
 public:
  struct Sources {
    ConfigMap command_line;
    ConfigMap server_properties;
    // Where `__cluster_metadata-0` lies, or itself; null where there is none.
    std::shared_ptr<const SourceDir> metadata_dir;
    // Whose dynamic settings apply; unknown: none do.
    std::optional<std::int32_t> broker;
  };

  // `problems` must outlive this.
  Settings(Sources sources, Problems& problems);

  EffectiveConfig for_topic(const std::string& topic) const;
  // A topic's settings with some given by hand on top (what-if).
  EffectiveConfig for_topic(const std::string& topic, const ConfigMap& by_hand) const;
  // Of a log that may have settings of its own beside it (log_settings.h): at the topic's level,
  // where what the cluster says goes before them.
  EffectiveConfig for_log(const std::string& topic, const ConfigMap& own,
                          const ConfigMap& by_hand) const;
  // Whether all of the cluster's own settings are known; if not, `policy` says that they may
  // differ.
  bool knows_cluster() const;

 private:
  void refresh() const REQUIRES(mutex_);

  const Sources sources_;
  Problems& problems_;
  mutable Mutex mutex_;  // held while the metadata log is read: its readers wait for each other
  mutable std::optional<ClusterMetadata> cluster_ GUARDED_BY(mutex_);
  mutable std::int64_t read_at_ms_ GUARDED_BY(mutex_) = INT64_MIN;  // steady clock
};

}  // namespace offsetfs::storage
