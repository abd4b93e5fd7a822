#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "fs/names_listing.h"
#include "fs/node.h"
#include "fs/node_facts.h"
#include "fs/partitions.h"
#include "fs/retention_report.h"
#include "storage/mutex.h"
#include "storage/result.h"
#include "storage/settings.h"

namespace offsetfs::fs {

// `retention/` of a partition: its files, and the links of expired/ and deleting/. All are views of
// one report, which is kept for a second as long as segments and offsets stay what they are, so
// that a walk through the directory makes it once. Any thread.
class RetentionFiles {
 public:
  // `settings` must outlive this.
  explicit RetentionFiles(const storage::Settings& settings) : settings_(settings) {}

  // kRetentionFile, kDeletingStatus, kWhatIfFile, kExpiredLink or kDeletingLink.
  static bool is_one(NodeKind kind);

  // Of a log of very many segments a file's size is told as 0 until it is opened: to make it takes
  // long. It is read to its end all the same (direct_io).
  storage::Result<NodeFacts> facts(const PartitionView& view, const Node& node,
                                   storage::TimestampMs now);
  bool opens_slowly(const PartitionView& view, const Node& node) const;
  storage::Result<std::string> text(const PartitionView& view, const Node& node,
                                    storage::TimestampMs now);
  // What expired/ or deleting/ lists.
  storage::Result<std::vector<NamesListing::Item>> list(const PartitionView& view, const Node& dir,
                                                        storage::TimestampMs now);

  using Report = std::shared_ptr<const RetentionReport>;
  storage::Result<Report> report(const PartitionView& view, storage::TimestampMs now);

 private:
  static constexpr std::size_t kKept = 16;
  static constexpr std::size_t kManySegments = 2000;
  static constexpr std::int64_t kKeepMs = 1000;

  struct Kept {
    std::uint32_t partition = 0;
    std::int64_t made_ms = 0;  // steady clock
    std::shared_ptr<const std::vector<storage::SegmentEntry>> segments;
    Report report;
  };

  storage::Result<RetentionReport> make_report(const PartitionView& view,
                                               const storage::ConfigMap& by_hand,
                                               storage::TimestampMs now) const;

  const storage::Settings& settings_;
  storage::Mutex mutex_;
  std::list<Kept> kept_ GUARDED_BY(mutex_);  // newest first
};

}  // namespace offsetfs::fs
