#include "storage/log_dir.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <sys/stat.h>

#include "storage/segment_files.h"

namespace offsetfs::storage {

namespace {

constexpr std::int64_t kMtimeSettlesNs = 100'000'000;

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Directories and files of the broker's own, beside the partitions; and the server.properties of
// broker_dir.h.
bool is_brokers_own(std::string_view name, SourceDir::Kind kind) {
  if (kind == SourceDir::Kind::kDirectory) return name == "remote-log-index-cache";
  static const std::set<std::string_view> kFiles = {"meta.properties",
                                                    "recovery-point-offset-checkpoint",
                                                    "log-start-offset-checkpoint",
                                                    "replication-offset-checkpoint",
                                                    "cleaner-offset-checkpoint",
                                                    ".kafka_cleanshutdown",
                                                    ".lock",
                                                    "bootstrap.checkpoint",
                                                    "server.properties"};
  return kind == SourceDir::Kind::kFile && (kFiles.contains(name) || name.ends_with(".tmp"));
}

enum class SourceKind { kEmpty, kOther, kLogDir, kPartition };

// A partition directory holds `<20 digits>.log`; a log directory holds partition directories, or at
// least what a broker puts into one.
Result<SourceKind> kind_of(const SourceDir& dir) {
  SourceKind kind = SourceKind::kEmpty;
  RETURN_IF_ERROR(dir.list("", [&](const SourceDir::Entry& entry) {
    const auto segment = parse_segment_file(entry.name);
    if (segment && segment->file == SegmentFile::kLog && entry.kind == SourceDir::Kind::kFile) {
      kind = SourceKind::kPartition;
      return false;
    }
    const bool partition =
        entry.kind == SourceDir::Kind::kDirectory && parse_partition_dir(entry.name);
    if (partition || entry.name == "meta.properties") kind = SourceKind::kLogDir;
    if (kind == SourceKind::kEmpty) kind = SourceKind::kOther;
    return true;
  }));
  return kind;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

std::string last_part(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

// A partition directory that was given alone may bear any name (a backup's).
TopicPartition topic_partition_of(const SourceDir& dir) {
  for (const std::string& path : {dir.real_path(), dir.path()}) {
    if (auto name = parse_partition_dir(last_part(path))) return name->topic_partition;
  }
  return {last_part(dir.real_path()), 0};
}

// Not asked of a file system that may not answer: everybody would wait for that.
bool is_removed(const SourceDir& dir) {
  if (dir.is_guarded()) return false;
  const auto handle = dir.handle_of_directory("");
  struct stat st {};
  return handle && ::fstat(handle->get(), &st) == 0 && st.st_nlink == 0;
}

}  // namespace

// A partition directory as a listing met it.
struct LogDir::Found {
  std::size_t dir = 0;  // in dirs_
  std::string below;    // its name there; "" for the source itself
  PartitionDirName name;
  Incarnation incarnation;
  std::string shown;

  bool is_same(const Found& other) const {
    return dir == other.dir && below == other.below && incarnation == other.incarnation;
  }
};

// An incarnation of a partition. Its log is made at once and costs nothing before it is used.
struct LogDir::Known {
  Known(std::size_t lies_in, std::shared_ptr<PartitionLog> its_log)
      : dir(lies_in), log(std::move(its_log)) {}
  const std::size_t dir;
  std::shared_ptr<PartitionLog> log;
  bool there = true;
  std::atomic<bool> watched = false;
};

struct LogDir::Listing {
  std::uint64_t look = 0;               // which: a later one knows better
  std::vector<std::int64_t> mtimes_ns;  // of dirs_, before they were listed
  bool may_be_stale = false;
  std::vector<Found> found;
  std::vector<Partition> partitions;
};

Result<std::shared_ptr<const LogDir>> LogDir::open(const std::vector<std::string>& paths,
                                                   std::shared_ptr<const IoBackend> io,
                                                   Options options) {
  if (paths.empty()) return fail(Errc::kInvalid, "no source given: name a Kafka data directory");
  auto problems = std::make_shared<Problems>(std::move(options.on_problem));
  std::vector<std::shared_ptr<const SourceDir>> dirs;
  std::vector<std::shared_ptr<const LogDirFiles>> files;
  std::set<std::string> real_paths;
  bool single = false;
  const SourceGuard::Options guard{options.io_timeout, options.on_notice};
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(auto dir, SourceDir::open(path, io, guard));
    if (!real_paths.insert(dir->real_path()).second) {
      return fail(Errc::kInvalid, path + ": given twice: name each log directory once");
    }
    ASSIGN_OR_RETURN(const SourceKind kind, kind_of(*dir));
    if (kind == SourceKind::kOther) {
      return fail(Errc::kInvalid,
                  path +
                      ": neither a partition directory (it would hold <20 digits>.log) nor a log "
                      "directory (it would hold <topic>-<partition>/): give one of a broker's "
                      "log.dirs, or a partition in it");
    }
    if (kind == SourceKind::kPartition) {
      if (paths.size() > 1) {
        return fail(Errc::kInvalid, path +
                                        ": a partition directory among several sources: mount it "
                                        "alone, or give its log directory " +
                                        parent_of(dir->real_path()));
      }
      single = true;
      auto parent = SourceDir::open(parent_of(dir->real_path()), io, guard);
      if (!parent) parent = std::shared_ptr<const SourceDir>();  // it says nothing, then
      files.push_back(std::make_shared<const LogDirFiles>(std::move(*parent), problems));
    } else {
      files.push_back(std::make_shared<const LogDirFiles>(dir, problems));
    }
    dirs.push_back(std::move(dir));
  }
  PartitionLog::Shared shared{
      std::make_shared<OpenSegments>(OpenSegments::most_for(options.descriptors)),
      std::make_shared<BatchCache>(options.cached_batches_bytes), std::move(problems), options.log};
  std::shared_ptr<LogDir> source(
      new LogDir(std::move(dirs), std::move(files), single, std::move(shared)));
  if (options.watch) {
    source->watcher_ =
        std::make_unique<LogWatcher>(*source, *options.watch, std::move(options.on_notice));
    source->changes_.set_watcher(source->watcher_.get());
  }
  return std::shared_ptr<const LogDir>(std::move(source));
}

LogDir::LogDir(std::vector<std::shared_ptr<const SourceDir>> dirs,
               std::vector<std::shared_ptr<const LogDirFiles>> files, bool single,
               PartitionLog::Shared shared)
    : dirs_(std::move(dirs)),
      files_(std::move(files)),
      single_(single),
      shared_(std::move(shared)) {}

LogDir::~LogDir() {
  changes_.set_watcher(nullptr);
  watcher_.reset();
}

std::shared_ptr<const std::vector<LogDir::Partition>> LogDir::partitions() const {
  const auto current = listing(false);
  return {current, &current->partitions};
}

Result<std::shared_ptr<const PartitionLog>> LogDir::open(std::uint32_t id) const {
  listing(false);
  std::shared_ptr<Known> known;
  std::shared_ptr<const PartitionLog> log;
  {
    const MutexLock lock(mutex_);
    if (id >= known_.size() || !known_[id]->there) {
      return fail(Errc::kNotFound, "partition " + std::to_string(id) + " is gone");
    }
    known = known_[id];
    log = known->log;
  }
  // Before anything is read of it: what changes from then on is told.
  if (watcher_ != nullptr && !known->watched.load(std::memory_order_acquire)) {
    watcher_->use(id);
    known->watched.store(true, std::memory_order_release);
  }
  return log;
}

std::optional<LogDir::Place> LogDir::place_of(std::uint32_t id) const {
  const MutexLock lock(mutex_);
  if (id >= known_.size() || !known_[id]->there) return std::nullopt;
  return Place{known_[id]->dir, known_[id]->log};
}

bool LogDir::is_broker_at_work() const {
  return std::ranges::any_of(files_, [](const auto& files) { return files->is_broker_at_work(); });
}

bool LogDir::refresh() const {
  std::shared_ptr<const Listing> before;
  {
    const MutexLock lock(mutex_);
    before = listing_;
  }
  return listing(true) != before;
}

std::shared_ptr<const LogDir::Listing> LogDir::listing(bool look_now) const {
  const std::int64_t now_ms = clock_ns(CLOCK_MONOTONIC_COARSE) / 1'000'000;
  std::shared_ptr<const Listing> old;
  auto fresh = std::make_shared<Listing>();
  {
    const MutexLock lock(mutex_);
    if (listing_ && !look_now && now_ms - checked_ms_ < kRecheckMs) return listing_;
    checked_ms_ = now_ms;
    old = listing_;
    fresh->look = ++looks_;
  }
  look_for_removed();
  const std::int64_t realtime_ns = clock_ns(CLOCK_REALTIME);
  for (const auto& dir : dirs_) {
    const auto info = dir->info("");
    fresh->mtimes_ns.push_back(info ? info->mtime_ns : -1);
    // mtimes go by ticks: what changes in the same one after the listing would not be seen.
    if (realtime_ns - fresh->mtimes_ns.back() < kMtimeSettlesNs) fresh->may_be_stale = true;
  }
  if (old && (single_ || (old->mtimes_ns == fresh->mtimes_ns && !old->may_be_stale))) return old;
  bool failed = false;
  auto found = scan(old.get(), look_now, failed);
  fresh->may_be_stale = fresh->may_be_stale || failed;
  if (failed && old && old->may_be_stale && old->mtimes_ns == fresh->mtimes_ns &&
      std::ranges::equal(old->found, found, &Found::is_same)) {
    return old;
  }
  name_twins(found);
  return publish(std::move(found), std::move(fresh));
}

void LogDir::look_for_removed() const {
  for (std::size_t i = 0; i < dirs_.size(); ++i) {
    if (!is_removed(*dirs_[i])) continue;
    {
      const MutexLock lock(mutex_);
      if (!removed_.insert(i).second) continue;
    }
    shared_.problems->add({dirs_[i]->path(), -1,
                           "was removed; if it is made anew, unmount and mount again to see it"});
  }
}

std::vector<LogDir::Found> LogDir::scan(const Listing* old, bool patient, bool& failed) const {
  std::vector<Found> found;
  if (single_) {
    Found itself;
    itself.name.topic_partition = topic_partition_of(*dirs_[0]);
    itself.shown = itself.name.topic_partition.to_string();
    found.push_back(std::move(itself));
    return found;
  }
  for (std::size_t i = 0; i < dirs_.size(); ++i) scan_dir(i, old, patient, found, failed);
  // As name_twins() has them, so that two scans can be compared.
  std::ranges::sort(found, {}, [](const Found& f) { return std::tie(f.below, f.dir); });
  return found;
}

// What can't be listed or looked at for a while is not gone: what was known of it stands.
void LogDir::scan_dir(std::size_t dir, const Listing* old, bool patient, std::vector<Found>& found,
                      bool& failed) const {
  const auto has_failed = [&](const Error& error, const std::string& name) {
    if (error.code == Errc::kNotFound) return false;
    failed = true;
    if (error.sys_errno != ETIMEDOUT) shared_.problems->add({name, -1, error.what});
    return true;
  };
  const auto keep_old = [&](const std::string* below) {
    if (old == nullptr) return;
    for (const Found& known : old->found) {
      if (known.dir != dir || (below != nullptr && known.below != *below)) continue;
      found.push_back(known);
      found.back().shown = known.below;
    }
  };
  if (old != nullptr && !patient && dirs_[dir]->is_slow()) {
    failed = true;
    keep_old(nullptr);
    return;
  }
  std::vector<Found> listing;
  const auto listed = dirs_[dir]->list("", [&](const SourceDir::Entry& entry) {
    auto name = parse_partition_dir(entry.name);
    if (name && entry.kind == SourceDir::Kind::kDirectory) {
      Found partition;
      partition.dir = dir;
      partition.below = partition.shown = std::string(entry.name);
      partition.name = std::move(*name);
      listing.push_back(std::move(partition));
    } else if (!is_brokers_own(entry.name, entry.kind)) {
      alien(*dirs_[dir], entry);
    }
    return true;
  });
  if (!listed) {
    if (has_failed(listed.error(), dirs_[dir]->path())) keep_old(nullptr);
    return;
  }
  for (Found& partition : listing) {
    const std::string name = dirs_[dir]->name_of(partition.below);
    const auto info = dirs_[dir]->info(partition.below);
    const auto born = info ? dirs_[dir]->birth_ns(partition.below) : Result<std::int64_t>(0);
    if (info && born) {
      partition.incarnation = {info->dev, info->ino, *born};
      found.push_back(std::move(partition));
    } else if (has_failed(info ? born.error() : info.error(), name)) {
      keep_old(&partition.below);
    }
  }
}

void LogDir::alien(const SourceDir& dir, const SourceDir::Entry& entry) const {
  std::string what;
  switch (entry.kind) {
    case SourceDir::Kind::kFile: what = "no file of a broker's: left alone"; break;
    case SourceDir::Kind::kDirectory:
      what = "no <topic>-<partition> directory: left alone (a broker would not start)";
      break;
    case SourceDir::Kind::kOther:
      what = "a symbolic link, FIFO, socket or device: not followed, not opened";
      break;
  }
  shared_.problems->add({dir.name_of(std::string(entry.name)), -1, what});
}

// `found` by name and directory. Several directories of one name, in several log directories: the
// one with the highest log end has the name, of equals the first; the others are told apart by
// their log directory.
void LogDir::name_twins(std::vector<Found>& found) const {
  for (std::size_t first = 0; first < found.size();) {
    std::size_t last = first + 1;
    while (last < found.size() && found[last].below == found[first].below) ++last;
    if (last - first > 1) {
      std::size_t winner = first;
      Offset highest{-1};
      for (std::size_t i = first; i < last; ++i) {
        const auto offsets = make_log(found[i])->offsets();
        if (offsets && offsets->log_end_offset > highest) {
          highest = offsets->log_end_offset;
          winner = i;
        }
      }
      for (std::size_t i = first; i < last; ++i) {
        if (i == winner) continue;
        found[i].shown += "~" + std::to_string(found[i].dir);
        shared_.problems->add({dirs_[found[i].dir]->name_of(found[i].below), -1,
                               "a second copy of the partition, shown as " + found[i].shown +
                                   ": the one in " + dirs_[found[winner].dir]->path() +
                                   " has the higher log end"});
      }
    }
    first = last;
  }
}

std::shared_ptr<PartitionLog> LogDir::make_log(const Found& found) const {
  return std::make_shared<PartitionLog>(dirs_[found.dir], found.below, found.name.topic_partition,
                                        files_[found.dir], shared_, found.name.state);
}

std::shared_ptr<const LogDir::Listing> LogDir::publish(std::vector<Found> found,
                                                       std::shared_ptr<Listing> fresh) const {
  const MutexLock lock(mutex_);
  if (listing_ && listing_->look > fresh->look) return listing_;
  for (const auto& known : known_) known->there = false;
  fresh->found = found;
  std::map<Incarnation, std::uint32_t> ids;
  for (Found& partition : found) {
    const Incarnation& incarnation = partition.incarnation;
    std::uint32_t id = 0;
    const auto known = ids_.find(incarnation);
    if (known != ids_.end() && known_[known->second]->dir == partition.dir) {
      id = known->second;
      known_[id]->there = true;
      known_[id]->log->moved_to(partition.below, partition.name.state);
    } else {
      id = static_cast<std::uint32_t>(known_.size());
      known_.push_back(std::make_shared<Known>(partition.dir, make_log(partition)));
    }
    ids.emplace(incarnation, id);
    fresh->partitions.push_back({id, std::move(partition.shown),
                                 std::move(partition.name.topic_partition), partition.name.state});
  }
  // What is gone is forgotten: its inode number may come again and mean another partition. Who uses
  // its log still has it.
  for (const auto& known : known_) {
    if (!known->there) known->log.reset();
  }
  ids_ = std::move(ids);
  std::sort(fresh->partitions.begin(), fresh->partitions.end(),
            [](const Partition& a, const Partition& b) { return a.name < b.name; });
  listing_ = fresh;
  return fresh;
}

}  // namespace offsetfs::storage
