#include "fs/tree.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "fs/append_file.h"
#include "fs/broker_retention.h"
#include "fs/links.h"
#include "fs/lookup_files.h"
#include "fs/names.h"
#include "fs/node_type.h"
#include "fs/range_ends.h"
#include "fs/readme.h"
#include "fs/record_files.h"
#include "fs/settings_sources.h"
#include "fs/tree_texts.h"

namespace offsetfs::fs {
namespace {

using storage::Errc;
using storage::LogSource;
using storage::Result;

tl::unexpected<storage::Error> not_there() { return storage::fail(Errc::kNotFound, "not there"); }

constexpr mode_t kAppendMode = 0200;

Node root_of(const LogSource& source) {
  Node root;
  if (!source.is_single_partition()) return root;
  const auto partitions = source.partitions();
  root.kind = NodeKind::kPartition;
  if (!partitions->empty()) root.partition = partitions->front().id;
  return root;
}

Streams::Options stream_options(const FileSystemOptions& options, const LogSource& source,
                                const LogSink& log) {
  Streams::Options streams;
  streams.is_broker_at_work = [&source] { return source.is_broker_at_work(); };
  // Scans of a source that does not answer must not hold up those of others.
  for (const auto& dir : source.dirs())
    if (dir->is_guarded()) streams.scan_threads = 16;
  streams.show_control = options.show_control;
  streams.segments_ahead = options.segments_ahead;
  streams.log = log;
  streams.limits.decompressed_bytes = options.decompressed_limit_bytes;
  return streams;
}

// Of a log without records: a header line, if the form has one.
std::shared_ptr<const Content> empty_stream(const PartitionView& view, const Node& node) {
  return std::make_shared<const Content>(make_renderer(node.form, view.context)->header());
}

bool is_partition_stream(NodeKind kind) {
  return kind == NodeKind::kRange || kind == NodeKind::kTimeRange ||
         kind == NodeKind::kPartitionStream;
}
bool is_segment_stream(NodeKind kind) {
  return kind == NodeKind::kSegmentStream || kind == NodeKind::kSegmentBatches;
}

// Made anew each time it is opened.
bool is_living(const Node& node) {
  switch (node.kind) {
    case NodeKind::kRecord: return node.form == Form::kLookup;
    case NodeKind::kTimeLookup:
    case NodeKind::kStateFile:
    case NodeKind::kRetentionFile:
    case NodeKind::kDeletingStatus:
    case NodeKind::kWhatIfFile:
    case NodeKind::kBrokerRetentionFile:
    case NodeKind::kStats:
    case NodeKind::kProblems: return true;
    default: return false;
  }
}

bool is_directory(NodeKind kind) { return file_type_of(kind) == S_IFDIR; }

// Its names, or that one is there, tell of records: when they were written, and how many.
bool tells_of_records(NodeKind kind) {
  return kind == NodeKind::kOffsets || kind == NodeKind::kSeek || kind == NodeKind::kTime ||
         kind == NodeKind::kExpired;
}

}  // namespace

Tree::Tree(std::shared_ptr<const LogSource> source, const FileSystemOptions& options,
           const Stats& stats, LogSink log, std::shared_ptr<WrittenLogs> written)
    : source_(std::move(source)),
      options_(options),
      stats_(stats),
      root_(root_of(*source_)),
      root_access_(source_->dirs()),
      partitions_(source_),
      streams_(stream_options(options, *source_, log), source_->problems()),
      followers_(source_, streams_.resources(), std::move(log),
                 {.show_control = options.show_control}),
      settings_(settings_sources(*source_, options.settings), source_->problems()),
      retention_(settings_),
      state_files_(options.show_control),
      written_(std::move(written)) {
  ::clock_gettime(CLOCK_REALTIME, &mounted_at_);
}

void Tree::stop() {
  streams_.stop();
  followers_.stop();
}

storage::TimestampMs Tree::now() const {
  if (options_.now) return *options_.now;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
}

Tree::Child Tree::child(const Node& dir, std::string_view name) const {
  std::optional<Node> node = parse_name(dir, name);
  if (node && node->kind == NodeKind::kSegment) node->generation = generation_of(*node);
  if (dir.kind != NodeKind::kRoot) return {node, !node && dir.kind != NodeKind::kTopics};
  if (node) return {node, false};
  const auto partition = partitions_.find(name);
  if (!partition) return {};
  node.emplace();
  node->kind = NodeKind::kPartition;
  node->partition = partition->id;
  return {node, false};
}

// Of the segment that has the name now.
std::uint32_t Tree::generation_of(const Node& segment) const {
  const auto view = this->view(segment);
  if (!view || segment.suffix != 0) return 0;
  const auto segments = (*view)->log->segments();
  const auto found = std::lower_bound(segments->begin(), segments->end(), segment.number,
                                      [](const storage::SegmentEntry& entry, std::int64_t base) {
                                        return entry.base_offset.value < base;
                                      });
  return found != segments->end() && found->base_offset.value == segment.number ? found->generation
                                                                                : 0;
}

// A log seems empty also where its directory can't be listed, as when no descriptors are left: then
// nothing of it may be said not to be there.
Result<void> Tree::require_listed(const PartitionView& view) {
  if (!view.log->segments()->empty()) return {};
  std::string below = view.log->below("");
  if (below.ends_with('/')) below.pop_back();
  const auto listed =
      view.log->dir()->list(below, [](const storage::SourceDir::Entry&) { return false; });
  if (!listed && listed.error().code != Errc::kNotFound) return listed;
  return {};
}

Result<NodeFacts> Tree::facts(const Node& node) {
  auto facts = look_at(node);
  if (facts || facts.error().code != Errc::kNotFound) return facts;
  if (const auto view = this->view(node)) RETURN_IF_ERROR(require_listed(**view));
  return facts;
}

Result<NodeFacts> Tree::look_at(const Node& node) {
  if (is_directory(node.kind)) return directory_facts(node);
  if (node.kind == NodeKind::kTopicPartition) {
    const auto partition = partitions_.find(node.text, node.number);
    if (!partition) return not_there();
    ASSIGN_OR_RETURN(const auto view, partitions_.view(partition->id));
    return topic_link_facts(*view, partition->name);
  }
  if (is_tree_text(node.kind)) return text_facts(node);
  if (node.kind == NodeKind::kBrokerRetentionFile) return broker_retention_facts();
  ASSIGN_OR_RETURN(const auto view, this->view(node));
  if (RetentionFiles::is_one(node.kind)) return retention_.facts(*view, node, now());
  switch (node.kind) {
    case NodeKind::kRecord:
      return node.form == Form::kLookup ? lookup_facts(*view, node, now())
                                        : record_facts(*view, node, options_.show_control);
    case NodeKind::kSeekLink:
    case NodeKind::kFirstLink:
    case NodeKind::kLastLink:
    case NodeKind::kTimeLink:
    case NodeKind::kActiveLink: return link_facts(*view, node, now());
    case NodeKind::kTimeLookup: return lookup_facts(*view, node, now());
    case NodeKind::kStateFile: return state_files_.facts(*view, node);
    case NodeKind::kFollowStream: return follow_facts(*view);
    case NodeKind::kAppend: return is_written(node) ? append_facts(*view) : not_there();
    default: break;
  }
  if (SegmentTexts::is_one(node.kind)) return segment_texts_.facts(*view, node);
  if (is_segment_stream(node.kind) || is_partition_stream(node.kind))
    return stream_facts(*view, node);
  return not_there();  // a name that is reserved
}

// A directory carries its source's mode; what the mount itself made, that of the root.
Result<NodeFacts> Tree::directory_facts(const Node& node) const {
  NodeFacts facts;
  facts.type = S_IFDIR;
  facts.attr_timeout = kBriefly;
  facts.entry_timeout = kForever;
  if (node.kind == NodeKind::kTopic) {
    if (partitions_.partitions_of(node.text).empty()) return not_there();
    facts.entry_timeout = kBriefly;
  }
  if (node.partition == Node::kNoPartition) {
    facts.access = root_access_.now();
    const auto source = source_facts(*source_->dirs().front(), "");
    facts.mtime = ns_to_timespec(source ? source->mtime_ns : 0);
    return facts;
  }
  ASSIGN_OR_RETURN(const auto view, this->view(node));
  ASSIGN_OR_RETURN(const SourceFacts source, view->access.directory());
  facts.access = node == root_ ? root_access_.now() : source.access;
  if (tells_of_records(node.kind)) facts.access = view->access.of_names();
  facts.mtime = ns_to_timespec(source.mtime_ns);
  if (node.kind == NodeKind::kPartition) facts.entry_timeout = view->keep();
  if (node.kind == NodeKind::kSegment) {
    ASSIGN_OR_RETURN(const storage::SegmentEntry entry, segment_entry(*view, node));
    const auto log = view->access.segment_file(entry, storage::SegmentFile::kLog);
    if (log) facts.mtime = ns_to_timespec(log->mtime_ns);
    facts.entry_timeout = view->keep();
  }
  return facts;
}

Result<NodeFacts> Tree::text_facts(const Node& node) const {
  NodeFacts facts;
  ASSIGN_OR_RETURN(std::string made, text(node));
  facts.content = std::make_shared<const Content>(std::move(made));
  facts.size_bytes = static_cast<std::int64_t>(facts.content->bytes().size());
  facts.access = root_access_.now();
  facts.access.mode &= 0444;
  if (node.kind == NodeKind::kProblems) {  // it tells of logs that not everybody may read
    if (node.partition == Node::kNoPartition) {
      facts.access.mode &= 0400;
    } else {
      ASSIGN_OR_RETURN(const auto view, this->view(node));
      facts.access = narrowest(facts.access, view->access.of_range({0}, {INT64_MAX}));
    }
  }
  facts.mtime = mounted_at_;
  if (node.kind == NodeKind::kReadme || node.kind == NodeKind::kCacheDirTag) {
    const auto source = source_facts(*source_->dirs().front(), "");
    facts.mtime = ns_to_timespec(source ? source->mtime_ns : 0);
    facts.attr_timeout = facts.entry_timeout = kForever;
  }
  return facts;
}

// To know its size every partition would have to be looked at: it is told as 0, and read to its end
// all the same.
Result<NodeFacts> Tree::broker_retention_facts() const {
  NodeFacts facts;
  facts.access = root_access_.now();
  facts.access.mode &= 0400;  // it tells of logs that not everybody may read
  facts.mtime = mounted_at_;
  return facts;
}

bool Tree::is_written(const Node& node) const {
  return written_ != nullptr && written_->find(node.partition) != nullptr;
}

// Of the source's owner, to write only. There is nothing in it to be read, whatever was written.
Result<NodeFacts> Tree::append_facts(const PartitionView& view) const {
  NodeFacts facts;
  ASSIGN_OR_RETURN(const SourceFacts directory, view.access.directory());
  facts.access = directory.access;
  facts.access.mode = kAppendMode;
  const auto active = view.active_segment();
  facts.mtime =
      active ? view.access.mtime_of_segment(active->base_offset) : view.access.mtime_of_directory();
  facts.entry_timeout = kBriefly;
  return facts;
}

Result<std::string> Tree::text(const Node& node) const {
  const bool of_broker = node.partition == Node::kNoPartition;
  switch (node.kind) {
    case NodeKind::kReadme: return std::string(of_broker ? broker_readme() : partition_readme());
    case NodeKind::kCacheDirTag: return std::string(cache_dir_tag());
    case NodeKind::kStats: return stats_text(stats_, *source_, streams_, followers_);
    default: break;
  }
  std::string below;
  if (!of_broker && !source_->is_single_partition()) {
    ASSIGN_OR_RETURN(const auto view, this->view(node));
    below = view->log->dir()->name_of(view->log->below(""));
  }
  return problem_lines(source_->problems(), below);
}

Result<NodeFacts> Tree::stream_facts(const PartitionView& view, const Node& node) {
  NodeFacts facts;
  facts.entry_timeout = view.keep();
  if (is_segment_stream(node.kind)) {
    ASSIGN_OR_RETURN(const storage::SegmentEntry entry, segment_entry(view, node));
    ASSIGN_OR_RETURN(const SourceFacts log,
                     view.access.segment_file(entry, storage::SegmentFile::kLog));
    ASSIGN_OR_RETURN(const Streams::Size size,
                     streams_.segment_size(node, view.log, entry, view.context));
    facts.access = log.access;
    facts.size_bytes = size.bytes;
    facts.mtime = ns_to_timespec(log.mtime_ns);
    // A sealed segment's file may still be replaced, by compaction.
    if (size.exact && !view.is_active(entry)) facts.attr_timeout = view.keep();
    return facts;
  }
  ASSIGN_OR_RETURN(const RangeEnds ends,
                   resolve_ends(view, node, now(), options_.show_control, /*exactly=*/false));
  Streams::Size size;
  if (ends.range.from < ends.range.to) {
    ASSIGN_OR_RETURN(size, streams_.range_size(node, view.log, ends.range, view.context));
  } else {
    size.bytes = static_cast<std::int64_t>(empty_stream(view, node)->bytes().size());
  }
  facts.access = view.access.of_range(ends.range.from, ends.range.to);
  facts.size_bytes = size.bytes;
  const auto active = view.active_segment();
  facts.mtime =
      active ? view.access.mtime_of_segment(active->base_offset) : view.access.mtime_of_directory();
  if (size.exact && ends.is_final) facts.attr_timeout = kBriefly;
  facts.entry_timeout = kNever;
  return facts;
}

// Of size 0: who copies what is there must not begin to wait.
Result<NodeFacts> Tree::follow_facts(const PartitionView& view) const {
  NodeFacts facts;
  facts.access = Followers::access(view);
  const auto active = view.active_segment();
  facts.mtime =
      active ? view.access.mtime_of_segment(active->base_offset) : view.access.mtime_of_directory();
  facts.entry_timeout = kBriefly;
  return facts;
}

bool Tree::opens_slowly(const Node& node) {
  if (node.kind == NodeKind::kFollowStream) {
    const auto start = parse_follow_start(node.text);
    return start && resolves_slowly(*start);
  }
  if (node.kind == NodeKind::kRange && counts_many_records(node)) return true;
  if (node.kind == NodeKind::kStateFile) return StateFiles::opens_slowly(node);
  if (node.kind == NodeKind::kBrokerRetentionFile) return true;
  if (!is_segment_stream(node.kind) && !is_partition_stream(node.kind) &&
      !SegmentTexts::is_one(node.kind) && !RetentionFiles::is_one(node.kind))
    return false;
  const auto view = this->view(node);
  if (!view) return false;
  if (is_partition_stream(node.kind)) {
    const auto ends = resolve_ends(**view, node, now(), options_.show_control, /*exactly=*/false);
    return ends && streams_.range_opens_slowly((*view)->log, ends->range);
  }
  if (RetentionFiles::is_one(node.kind)) return retention_.opens_slowly(**view, node);
  if (SegmentTexts::is_one(node.kind)) return segment_texts_.opens_slowly(**view, node);
  const auto entry = segment_entry(**view, node);
  return entry && streams_.opens_slowly(node, (*view)->log, *entry);
}

Result<std::unique_ptr<OpenFile>> Tree::open(const Node& node,
                                             std::shared_ptr<const Content> content,
                                             std::stop_token stop) {
  if (is_segment_stream(node.kind) || is_partition_stream(node.kind))
    return open_stream(node, std::move(stop));
  if (node.kind == NodeKind::kFollowStream) return open_follower(node, std::move(stop));
  if (content == nullptr || is_living(node)) {
    ASSIGN_OR_RETURN(content, make_content(node, std::move(stop)));
  }
  return std::make_unique<MemoryFile>(std::move(content), flags_of(node));
}

Result<std::unique_ptr<OpenFile>> Tree::open_to_write(const Node& node, bool is_durable,
                                                      LogSink log) {
  if (node.kind != NodeKind::kAppend || !is_written(node))
    return storage::fail_errno(EPERM, "not to be changed");
  ASSIGN_OR_RETURN(const auto view, this->view(node));
  RecordAppender::Options options;
  options.name = print_name(node);
  if (!source_->is_single_partition())
    options.name = view->log->topic_partition().to_string() + "/" + options.name;
  options.form = node.form;
  options.is_durable = is_durable;
  return std::make_unique<AppendFile>(written_->add_writer(node.partition, std::move(options)),
                                      std::move(log));
}

Result<std::shared_ptr<const Content>> Tree::make_content(const Node& node, std::stop_token stop) {
  const auto own = [](std::string text) {
    return std::make_shared<const Content>(std::move(text));
  };
  if (SegmentTexts::is_one(node.kind)) {
    ASSIGN_OR_RETURN(const auto view, this->view(node));
    ASSIGN_OR_RETURN(std::string made, segment_texts_.text(*view, node, std::move(stop)));
    return own(std::move(made));
  }
  if (node.kind == NodeKind::kBrokerRetentionFile) {
    ASSIGN_OR_RETURN(std::string made,
                     broker_retention_text(static_cast<BrokerRetentionFile>(node.number), *source_,
                                           partitions_, retention_, now()));
    return own(std::move(made));
  }
  if (RetentionFiles::is_one(node.kind)) {
    ASSIGN_OR_RETURN(const auto view, this->view(node));
    ASSIGN_OR_RETURN(std::string made, retention_.text(*view, node, now()));
    return own(std::move(made));
  }
  if (node.kind == NodeKind::kStateFile) {
    ASSIGN_OR_RETURN(const auto view, this->view(node));
    ASSIGN_OR_RETURN(std::string made, state_files_.text(*view, node, stop));
    return own(std::move(made));
  }
  ASSIGN_OR_RETURN(const NodeFacts found, facts(node));
  if (found.content == nullptr) return storage::fail(Errc::kInvalid, "no file");
  return found.content;
}

// What may be another the next time it is opened is read past the kernel's cache: two opens of one
// node would share it, and a size besides, beyond which the shorter of them is filled up with
// zeros. What never changes stays in it.
OpenFlags Tree::flags_of(const Node& node) const {
  OpenFlags flags;
  if (node.kind == NodeKind::kRecord && node.form != Form::kLookup) {
    const auto view = this->view(node);
    flags.keep_cache = view && (*view)->is_final(storage::Offset{node.number});
  } else {
    flags.keep_cache = node.kind == NodeKind::kReadme || node.kind == NodeKind::kCacheDirTag;
  }
  flags.direct_io = !flags.keep_cache;
  return flags;
}

Result<std::unique_ptr<OpenFile>> Tree::open_stream(const Node& node, std::stop_token stop) {
  ASSIGN_OR_RETURN(const auto view, this->view(node));
  if (is_segment_stream(node.kind)) {
    ASSIGN_OR_RETURN(const storage::SegmentEntry entry, segment_entry(*view, node));
    ASSIGN_OR_RETURN(auto file, streams_.open_segment(node, view->log, entry, view->context, stop));
    return std::unique_ptr<OpenFile>(std::move(file));
  }
  RETURN_IF_ERROR(require_listed(*view));
  ASSIGN_OR_RETURN(const RangeEnds ends,
                   resolve_ends(*view, node, now(), options_.show_control, /*exactly=*/true, stop));
  RecordRange range = ends.range;
  range.admit = [view, granted = view->access.of_range(range.from, range.to)](
                    const storage::SegmentEntry& entry) {
    return view->access.admits(granted, entry.base_offset);
  };
  if (ends.range.from >= ends.range.to)
    return std::make_unique<MemoryFile>(empty_stream(*view, node), OpenFlags{.direct_io = true});
  ASSIGN_OR_RETURN(auto file, streams_.open_range(node, view->log, range, view->context, stop));
  return std::unique_ptr<OpenFile>(std::move(file));
}

Result<std::unique_ptr<OpenFile>> Tree::open_follower(const Node& node, std::stop_token stop) {
  const auto start = parse_follow_start(node.text);
  if (!start) return not_there();
  ASSIGN_OR_RETURN(const auto view, this->view(node));
  RETURN_IF_ERROR(require_listed(*view));
  ASSIGN_OR_RETURN(auto follower, followers_.open(view, node.form, *start, now(), std::move(stop)));
  return std::make_unique<FollowFile>(std::move(follower));
}

}  // namespace offsetfs::fs
