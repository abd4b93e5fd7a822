#include "fs/file_system.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "fs/invalidator.h"
#include "fs/node_table.h"
#include "fs/open_files.h"
#include "fs/recent_contents.h"
#include "fs/record_files.h"
#include "fs/slow_opens.h"
#include "fs/source_space.h"
#include "fs/stats.h"
#include "fs/to_errno.h"
#include "fs/told_names.h"
#include "fs/tree.h"
#include "fs/written_logs.h"

namespace offsetfs::fs {

using storage::Errc;
using storage::Result;
using Counter = Stats::Counter;

namespace {

// What a name stands for may be taken away from it, without the kernel's doing.
bool may_go(const Node& node) {
  return node.kind == NodeKind::kPartition || node.kind == NodeKind::kSegment;
}

bool is_of_segments(NodeKind kind) {
  switch (kind) {
    case NodeKind::kSegment:
    case NodeKind::kSegmentStream:
    case NodeKind::kSegmentBatches:
    case NodeKind::kSegmentOffsetIndex:
    case NodeKind::kSegmentTimeIndex:
    case NodeKind::kSegmentTransactionIndex:
    case NodeKind::kSegmentProducers:
    case NodeKind::kSegmentInfo:
    case NodeKind::kSegmentDamage:
    case NodeKind::kRange:
    case NodeKind::kTimeRange:
    case NodeKind::kPartitionStream: return true;
    default: return false;
  }
}

Attributes to_attributes(std::uint64_t ino, const NodeFacts& facts) {
  return {make_stat(ino, facts.type, facts.access, facts.size_bytes, facts.mtime),
          facts.attr_timeout};
}

}  // namespace

struct FileSystem::Parts {
  Parts(std::shared_ptr<const storage::LogSource> source, const FileSystemOptions& options,
        LogSink sink, std::shared_ptr<WrittenLogs> written)
      : log(std::move(sink)),
        show_control(options.show_control),
        checks_modes(options.default_permissions),
        appends(written != nullptr),
        space(source->dirs()),
        tree(std::move(source), options, stats, log, std::move(written)),
        nodes(tree.root()) {}

  // The node of a number that the kernel was given: it forgets before we do.
  Result<Node> node(std::uint64_t ino) const {
    auto node = nodes.find(ino);
    if (!node) return storage::fail(Errc::kOutOfRange, "an unknown node number");
    return std::move(*node);
  }

  Result<std::unique_ptr<OpenFile>> open(std::uint64_t ino, const Node& node,
                                         std::shared_ptr<const Content> content,
                                         std::stop_token stop) {
    auto file = looked_again(node, [&] { return tree.open(node, content, stop); });
    if (!file) return failure(std::move(file.error()));
    if (!is_final_record(node)) {
      const auto facts = tree.facts(node);
      // Replaced in between: whoever asked by name gets the one that has the name now.
      const bool is_stream =
          node.kind == NodeKind::kSegmentStream || node.kind == NodeKind::kSegmentBatches;
      if (is_stream && !facts && facts.error().code == Errc::kNotFound)
        return failure(facts.error());
      if (facts) {
        (*file)->set_attributes(to_attributes(ino, *facts));
        open_files.add(ino, (*file)->attributes());
      }
    }
    return file;
  }

  // The attributes of such a one stay with the kernel; of all else it asks again while it reads,
  // and by then the name may be gone.
  bool is_final_record(const Node& node) const {
    if (node.kind != NodeKind::kRecord) return false;
    const auto view = tree.partitions().view(node.partition);
    return view && (*view)->is_final(storage::Offset{node.number});
  }

  Result<NodeFacts> facts(const Node& node) {
    return looked_again(node, [&] { return tree.facts(node); });
  }

  // A segment's files may change their names between a listing of them and a look at one
  // (compaction renames twice): what seems to be gone is looked for in a fresh listing.
  template <class Call>
  auto looked_again(const Node& node, const Call& call) -> decltype(call()) {
    constexpr int kMostTries = 3;
    for (int tries = 1;; ++tries) {
      auto result = call();
      if (result || result.error().code != Errc::kNotFound || tries == kMostTries ||
          !is_of_segments(node.kind))
        return result;
      if (const auto view = tree.view(node)) (*view)->log->refresh();
    }
  }

  // A node that the kernel knows and that is not there any more is stale. Told so, the kernel looks
  // its name up again, and whoever asked by name gets the answer to that.
  tl::unexpected<storage::Error> failure(storage::Error error) {
    if (error.code == Errc::kNotFound) error.code = Errc::kOutOfRange;
    return failed(std::move(error));
  }
  tl::unexpected<storage::Error> failed(storage::Error error) {
    if (is_worth_a_line(error)) {
      stats.add(Counter::kFailures);
      if (log) log(LogLevel::kError, error.what);
    }
    return storage::fail(std::move(error));
  }

  const LogSink log;
  const bool show_control;
  const bool checks_modes;
  const bool appends;
  Stats stats;
  SourceSpace space;
  Tree tree;
  NodeTable nodes;
  OpenFiles open_files;
  RecentContents recent;
  ToldNames told;
  std::unique_ptr<Invalidator> invalidator;
  SlowOpens slow_opens;  // last: its threads use the others
};

FileSystem::FileSystem(std::shared_ptr<const storage::LogSource> source,
                       const FileSystemOptions& options, LogSink log,
                       std::shared_ptr<WrittenLogs> written)
    : parts_(std::make_unique<Parts>(std::move(source), options, std::move(log),
                                     std::move(written))) {}

FileSystem::~FileSystem() { stop(); }

Result<FileSystem::Entry> FileSystem::lookup(std::uint64_t parent, std::string_view name) {
  parts_->stats.add(Counter::kLookups);
  const auto dir = parts_->node(parent);
  if (!dir) return storage::fail(dir.error());
  Tree::Child child = parts_->tree.child(*dir, name);
  if (child.can_never_be) return Entry{0, {}, kForever};
  if (!child.node) return storage::fail(Errc::kNotFound, "no such name");
  // Before its facts are looked for: what changes from here on is taken back.
  if (may_go(*child.node)) parts_->told.add(*child.node, std::string(name));
  auto facts = parts_->facts(*child.node);
  if (!facts && facts.error().code == Errc::kNotFound && child.node->kind == NodeKind::kSegment) {
    // Unless the name has come to mean another segment meanwhile.
    child = parts_->tree.child(*dir, name);
    parts_->told.add(*child.node, std::string(name));
    facts = parts_->facts(*child.node);
  }
  if (!facts && facts.error().code == Errc::kOutOfRange) return Entry{0, {}, kForever};
  // Where the directory itself is one of a segment that was replaced, its own name is to be looked
  // up anew.
  if (!facts && facts.error().code == Errc::kNotFound && dir->kind == NodeKind::kSegment &&
      !parts_->facts(*dir))
    return parts_->failure(std::move(facts.error()));
  if (!facts) return parts_->failed(std::move(facts.error()));
  const std::uint64_t ino = parts_->nodes.remember(*child.node);
  Entry entry{ino, to_attributes(ino, *facts), facts->entry_timeout};
  if (facts->content != nullptr && !facts->told_to)
    parts_->recent.put(ino, std::move(facts->content));
  return entry;
}

void FileSystem::forget(std::uint64_t ino, std::uint64_t lookups) {
  parts_->nodes.forget(ino, lookups);
}

Result<Attributes> FileSystem::getattr(std::uint64_t ino, const OpenFile* file) {
  parts_->stats.add(Counter::kGetattrs);
  const auto node = parts_->node(ino);
  if (!node) return storage::fail(node.error());
  auto facts = parts_->facts(*node);
  if (facts) {
    Attributes attributes = to_attributes(ino, *facts);
    if (const auto promised = file != nullptr ? file->promised_bytes() : std::nullopt) {
      attributes.stat.st_size = *promised;
      attributes.timeout = kNever;
    }
    return attributes;
  }
  // Deleted while it is open. The kernel names the open file for its reads, and not for an fstat.
  const bool is_gone = facts.error().code == Errc::kNotFound;
  const auto open = file != nullptr ? file->attributes()
                    : is_gone       ? parts_->open_files.find(ino)
                                    : nullptr;
  if (open != nullptr) return is_gone ? open->now() : open->at_open;
  return parts_->failure(std::move(facts.error()));
}

Result<std::string> FileSystem::readlink(std::uint64_t ino, const Who& who) {
  parts_->stats.add(Counter::kReadlinks);
  if (const auto recent = parts_->recent.take(ino)) return std::string(recent->bytes());
  const auto node = parts_->node(ino);
  if (!node) return storage::fail(node.error());
  auto facts = parts_->tree.facts(*node);
  if (!facts) return parts_->failure(std::move(facts.error()));
  if (facts->type != S_IFLNK) return storage::fail(Errc::kInvalid, "no link");
  if (parts_->checks_modes && facts->told_to && !may_read(who(), *facts->told_to))
    return storage::fail_errno(EACCES, "a link to what may not be read");
  return std::string(facts->content->bytes());
}

bool FileSystem::opens_slowly(std::uint64_t ino) {
  const auto node = parts_->node(ino);
  return node && parts_->tree.opens_slowly(*node);
}

Result<std::unique_ptr<OpenFile>> FileSystem::open(std::uint64_t ino) {
  parts_->stats.add(Counter::kOpens);
  const auto node = parts_->node(ino);
  if (!node) return storage::fail(node.error());
  if (node->kind == NodeKind::kAppend) return storage::fail_errno(EACCES, "to be written only");
  return parts_->open(ino, *node, parts_->recent.take(ino), {});
}

FileSystem::OpenTicket FileSystem::open_slowly(std::uint64_t ino, OpenDone done) {
  parts_->stats.add(Counter::kOpens);
  parts_->stats.add(Counter::kSlowOpens);
  const auto work = [parts = parts_.get(), ino](std::stop_token stop) -> SlowOpens::Result {
    const auto node = parts->node(ino);
    if (!node) return storage::fail(node.error());
    return parts->open(ino, *node, nullptr, std::move(stop));
  };
  return parts_->slow_opens.submit(ino, work, std::move(done));
}

void FileSystem::cancel_open(OpenTicket ticket) { parts_->slow_opens.cancel(ticket); }

int FileSystem::refusal() const { return parts_->appends ? EPERM : EROFS; }

Result<std::unique_ptr<OpenFile>> FileSystem::open_to_write(std::uint64_t ino, bool is_durable) {
  parts_->stats.add(Counter::kOpens);
  const auto node = parts_->node(ino);
  if (!node) return storage::fail(node.error());
  if (node->kind != NodeKind::kAppend) return storage::fail_errno(refusal(), "not to be changed");
  return parts_->tree.open_to_write(*node, is_durable, parts_->log);
}

Result<Attributes> FileSystem::truncate(std::uint64_t ino, std::int64_t size_bytes) {
  const auto node = parts_->node(ino);
  if (!node) return storage::fail(node.error());
  if (node->kind != NodeKind::kAppend || size_bytes != 0)
    return storage::fail_errno(refusal(), "not to be changed");
  return getattr(ino);
}

void FileSystem::take_back_from(std::unique_ptr<KernelCaches> caches) {
  parts_->tree.partitions().set_taken_back();
  parts_->invalidator =
      std::make_unique<Invalidator>(parts_->tree.source(), parts_->tree.partitions(), parts_->nodes,
                                    parts_->told, std::move(caches));
}

void FileSystem::stop_taking_back() {
  if (parts_->invalidator != nullptr) parts_->invalidator->stop();
}

void FileSystem::stop() {
  stop_taking_back();
  parts_->tree.stop();
  parts_->slow_opens.stop();
  parts_->space.stop();
}

// A directory's names with their numbers.
class FileSystem::NumberedListing : public Listing {
 public:
  NumberedListing(Parts& parts, std::unique_ptr<DirectoryListing> listing)
      : parts_(parts), listing_(std::move(listing)) {}

  Result<void> list(std::int64_t cookie, bool with_attributes, const NameSink& sink) override {
    std::uint64_t names = 0;
    auto ended = listing_->list(cookie, with_attributes, [&](const ListedName& listed) {
      const bool taken = with_attributes ? give_with_attributes(listed, sink)
                                         : sink({listed.name, parts_.nodes.number_of(*listed.node),
                                                 listed.type, listed.cookie, nullptr});
      names += taken ? 1 : 0;
      return taken;
    });
    parts_.stats.add(Counter::kListedNames, names);
    if (!ended) return parts_.failed(std::move(ended.error()));
    return ended;
  }

 private:
  // A lookup is counted for each entry that is taken.
  bool give_with_attributes(const ListedName& listed, const NameSink& sink) {
    Entry entry;
    if (listed.facts != nullptr) {
      entry.ino = parts_.nodes.remember(*listed.node);
      entry.attributes = to_attributes(entry.ino, *listed.facts);
      entry.entry_timeout = listed.facts->entry_timeout;
      // Found before it is told: too late to be taken back.
      entry.entry_timeout =
          std::min(entry.entry_timeout, may_go(*listed.node) ? kBriefly : kForever);
    } else {
      entry.attributes.stat.st_ino = parts_.nodes.number_of(*listed.node);
      entry.attributes.stat.st_mode = listed.type;
    }
    const bool taken =
        sink({listed.name, entry.attributes.stat.st_ino, listed.type, listed.cookie, &entry});
    if (!taken && entry.ino != 0) parts_.nodes.forget(entry.ino, 1);
    return taken;
  }

  Parts& parts_;
  const std::unique_ptr<DirectoryListing> listing_;
};

Result<std::unique_ptr<FileSystem::Listing>> FileSystem::open_directory(std::uint64_t ino) {
  parts_->stats.add(Counter::kListings);
  const auto dir = parts_->node(ino);
  if (!dir) return storage::fail(dir.error());
  auto listing = parts_->tree.list(*dir);
  if (!listing) return parts_->failure(std::move(listing.error()));
  return std::make_unique<NumberedListing>(*parts_, std::move(*listing));
}

namespace {

bool has_xattrs(const Node& node) {
  return node.kind == NodeKind::kRecord && node.form == Form::kRaw;
}

}  // namespace

Result<std::vector<Xattr>> FileSystem::xattrs(std::uint64_t ino) {
  parts_->stats.add(Counter::kXattrs);
  const auto node = parts_->node(ino);
  if (!node) return storage::fail(node.error());
  if (!has_xattrs(*node)) return std::vector<Xattr>();
  auto view = parts_->tree.view(*node);
  if (!view) return parts_->failure(std::move(view.error()));
  auto lookup = find_plain_record(**view, storage::Offset{node->number}, parts_->show_control);
  if (!lookup) return parts_->failure(std::move(lookup.error()));
  return record_xattrs(*lookup);
}

void FileSystem::note_read(std::size_t bytes) {
  parts_->stats.add(Counter::kReads);
  parts_->stats.add(Counter::kReadBytes, bytes);
}

void FileSystem::note_write(std::size_t bytes) {
  parts_->stats.add(Counter::kWrites);
  parts_->stats.add(Counter::kWrittenBytes, bytes);
}

FileSystem::Space FileSystem::space() const { return {parts_->space.known_bytes()}; }

}  // namespace offsetfs::fs
