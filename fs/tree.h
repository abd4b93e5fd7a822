#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "fs/directory_listing.h"
#include "fs/followers.h"
#include "fs/log_sink.h"
#include "fs/mount_options.h"
#include "fs/node.h"
#include "fs/node_facts.h"
#include "fs/open_file.h"
#include "fs/partitions.h"
#include "fs/retention_files.h"
#include "fs/segment_texts.h"
#include "fs/source_access.h"
#include "fs/state_files.h"
#include "fs/stats.h"
#include "fs/streams.h"
#include "fs/written_logs.h"
#include "storage/log_source.h"
#include "storage/result.h"
#include "storage/settings.h"

namespace offsetfs::fs {

// The tree by nodes: what a name leads to, what a node is at the moment, and its content. Which
// numbers the kernel knows nodes by is file_system.h's affair. Any thread.
//
// kNotFound: not there (now); kOutOfRange: not any more.
class Tree {
 public:
  // `written`: the logs that are to be appended to; null: nothing is.
  Tree(std::shared_ptr<const storage::LogSource> source, const FileSystemOptions& options,
       const Stats& stats, LogSink log, std::shared_ptr<WrittenLogs> written = nullptr);

  // kPartition for a source of one partition, else kRoot.
  const Node& root() const { return root_; }

  struct Child {
    std::optional<Node> node;   // none: the directory has no such name
    bool can_never_be = false;  // and never will
  };
  Child child(const Node& dir, std::string_view name) const;
  storage::Result<NodeFacts> facts(const Node& node);
  // True if open() would scan.
  bool opens_slowly(const Node& node);
  // `content` is what facts() found before, if that is at hand; else null.
  storage::Result<std::unique_ptr<OpenFile>> open(const Node& node,
                                                  std::shared_ptr<const Content> content,
                                                  std::stop_token stop);

  // Opens `append` or `append.jsonl` to write. EPERM for every other node.
  storage::Result<std::unique_ptr<OpenFile>> open_to_write(const Node& node, bool is_durable,
                                                           LogSink log);

  // `dir` is a directory.
  storage::Result<std::unique_ptr<DirectoryListing>> list(const Node& dir);

  // kNotFound for a node of no partition, and for a partition that is gone.
  storage::Result<std::shared_ptr<const PartitionView>> view(const Node& node) const {
    return partitions_.view(node.partition);
  }
  const Partitions& partitions() const { return partitions_; }
  Partitions& partitions() { return partitions_; }
  const storage::LogSource& source() const { return *source_; }
  // Ends scans and those who follow.
  void stop();

 private:
  storage::TimestampMs now() const;
  std::uint32_t generation_of(const Node& segment) const;
  static storage::Result<void> require_listed(const PartitionView& view);
  storage::Result<NodeFacts> look_at(const Node& node);
  storage::Result<std::string> text(const Node& node) const;
  storage::Result<NodeFacts> directory_facts(const Node& node) const;
  storage::Result<NodeFacts> text_facts(const Node& node) const;
  storage::Result<NodeFacts> stream_facts(const PartitionView& view, const Node& node);
  storage::Result<std::shared_ptr<const Content>> make_content(const Node& node,
                                                               std::stop_token stop);
  storage::Result<NodeFacts> broker_retention_facts() const;
  storage::Result<NodeFacts> append_facts(const PartitionView& view) const;
  bool is_written(const Node& node) const;
  OpenFlags flags_of(const Node& node) const;
  storage::Result<std::unique_ptr<OpenFile>> open_stream(const Node& node, std::stop_token stop);
  storage::Result<NodeFacts> follow_facts(const PartitionView& view) const;
  storage::Result<std::unique_ptr<OpenFile>> open_follower(const Node& node, std::stop_token stop);

  const std::shared_ptr<const storage::LogSource> source_;
  const FileSystemOptions options_;
  const Stats& stats_;
  const Node root_;
  const RootAccess root_access_;
  Partitions partitions_;
  Streams streams_;
  Followers followers_;
  SegmentTexts segment_texts_;
  const storage::Settings settings_;
  RetentionFiles retention_;
  StateFiles state_files_;
  const std::shared_ptr<WrittenLogs> written_;  // may be null
  timespec mounted_at_{};                       // the time of what the mount itself says
};

}  // namespace offsetfs::fs
