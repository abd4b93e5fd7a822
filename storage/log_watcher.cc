#include "storage/log_watcher.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include <sys/inotify.h>

#include "storage/log_dir.h"
#include "storage/segment_files.h"
#include "storage/topic_partition.h"

namespace offsetfs::storage {
namespace {

using Kind = LogChanges::Change::Kind;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Checkpoints are written beside their names and renamed; some tools write them in place.
constexpr std::uint32_t kDirMask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                                   IN_CLOSE_WRITE | IN_ONLYDIR | IN_EXCL_UNLINK;
// IN_ATTRIB: a mode that becomes narrower must not be told wider any longer.
constexpr std::uint32_t kPartitionMask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                                         IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR |
                                         IN_EXCL_UNLINK;
constexpr std::uint32_t kWrites = IN_MODIFY;

std::string without_slash(std::string below) {
  if (!below.empty() && below.back() == '/') below.pop_back();
  return below;
}

bool same_file_state(const std::optional<FileInfo>& a, const std::optional<FileInfo>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->ino == b->ino && a->size_bytes == b->size_bytes && a->mtime_ns == b->mtime_ns;
}

// Of the active segment's `.log`, if there is one.
std::optional<FileInfo> active_log_of(const PartitionLog& log) {
  const auto segments = log.segments();
  if (segments->empty()) return std::nullopt;
  const SegmentEntry& active = segments->back();
  const auto info = log.dir()->info(log.below(segment_file_name(
      {active.base_offset, SegmentFile::kLog, active.suffix_of(SegmentFile::kLog)})));
  if (!info) return std::nullopt;
  return *info;
}

}  // namespace

LogWatcher::LogWatcher(const LogDir& source, How how, Notice notice)
    : source_(source), notice_(std::move(notice)) {
  for (std::size_t i = 0; i < source_.dirs().size(); ++i)
    pollers_.push_back(std::make_unique<Poller>());
  std::string refusal = "as was asked for";
  if (how == How::kAuto) {
    auto inotify = Inotify::create();
    if (inotify) {
      inotify_ = std::move(*inotify);
    } else {
      refusal = inotify.error().what;
    }
  }
  if (inotify_ == nullptr) {
    for (std::size_t i = 0; i < pollers_.size(); ++i) poll_from_now_on(i, refusal);
    return;
  }
  watch_dirs();
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

LogWatcher::~LogWatcher() {
  thread_.request_stop();
  for (const auto& poller : pollers_) poller->thread.request_stop();
  if (inotify_ != nullptr) inotify_->wake();
  if (thread_.joinable()) thread_.join();
}

// --- Watches ------------------------------------------------------------------------------------

void LogWatcher::watch_dirs() {
  for (std::size_t i = 0; i < source_.dirs().size(); ++i) watch_dir(i);
}

// A log directory; of a partition that was given alone the directory above, for its checkpoints.
void LogWatcher::watch_dir(std::size_t dir) {
  const auto kind =
      source_.is_single_partition() ? Target::Kind::kCheckpoints : Target::Kind::kLogDir;
  const auto handle = source_.dirs()[dir]->handle_of_directory("");
  if (!handle) return poll_from_now_on(dir, handle.error().what);
  if (const auto untold = untold_changes(handle->get())) {
    pollers_[dir]->untold = true;
    return poll_from_now_on(dir, *untold);
  }
  const auto& watched = source_.files()[dir]->dir();
  if (watched == nullptr) return;
  const auto above = watched->handle_of_directory("");
  if (!above) return poll_from_now_on(dir, above.error().what);
  const MutexLock installing(installing_);
  const auto watch = inotify_->watch(above->get(), kDirMask, watched->path());
  if (!watch) return poll_from_now_on(dir, watch.error().what);
  const MutexLock lock(mutex_);
  targets_[*watch] = {kind, static_cast<std::uint32_t>(dir)};
}

void LogWatcher::use(std::uint32_t partition) {
  const auto place = source_.place_of(partition);
  if (!place) return;
  const MutexLock installing(installing_);
  Used used;
  {
    const MutexLock lock(mutex_);
    if (used_.contains(partition)) return;
  }
  used.dir = place->dir;
  install(partition, used);
  if (used.watch >= 0)
    used.checkpointed = source_.files()[place->dir]->checkpointed(place->log->topic_partition());
  const MutexLock lock(mutex_);
  used_.emplace(partition, std::move(used));
}

void LogWatcher::install(std::uint32_t partition, Used& used) {
  if (inotify_ == nullptr || pollers_[used.dir]->untold) return;
  const auto place = source_.place_of(partition);
  if (!place) return;
  const SourceDir& dir = *source_.dirs()[used.dir];
  const auto handle = dir.handle_of_directory(without_slash(place->log->below("")));
  if (!handle) {  // gone again: the log directory tells
    if (handle.error().code != Errc::kNotFound) poll_from_now_on(used.dir, handle.error().what);
    return;
  }
  const std::uint32_t mask = kPartitionMask | (used.listeners > 0 ? kWrites : 0);
  const auto watch = inotify_->watch(handle->get(), mask, dir.name_of(place->log->below("")));
  if (!watch) return poll_from_now_on(used.dir, watch.error().what);
  used.watch = *watch;
  const MutexLock lock(mutex_);
  targets_[*watch] = {Target::Kind::kPartition, partition};
}

void LogWatcher::begin_listening(std::uint32_t partition) {
  use(partition);
  const MutexLock installing(installing_);
  Used used;
  {
    const MutexLock lock(mutex_);
    const auto found = used_.find(partition);
    if (found == used_.end() || ++found->second.listeners > 1) return;
    used = found->second;
  }
  set_mask(partition, used);
  if (used.watch < 0) {
    const std::lock_guard lock(waking_);
    wakes_pollers_.notify_all();
  }
}

void LogWatcher::end_listening(std::uint32_t partition) {
  const MutexLock installing(installing_);
  Used used;
  {
    const MutexLock lock(mutex_);
    const auto found = used_.find(partition);
    if (found == used_.end() || --found->second.listeners > 0) return;
    used = found->second;
  }
  set_mask(partition, used);
}

void LogWatcher::set_mask(std::uint32_t partition, const Used& used) {
  if (used.watch < 0) return;
  Used changed = used;
  install(partition, changed);
}

bool LogWatcher::is_prompt(std::uint32_t partition) {
  const MutexLock lock(mutex_);
  const auto found = used_.find(partition);
  return found != used_.end() && found->second.watch >= 0;
}

std::string LogWatcher::manner() {
  const MutexLock lock(mutex_);
  std::string manner = inotify_ != nullptr ? "inotify" : "";
  if (!reasons_.empty()) manner += manner.empty() ? "polling" : ",polling";
  return manner;
}

void LogWatcher::poll_from_now_on(std::size_t dir, const std::string& why) {
  bool is_new = false;
  {
    const MutexLock lock(mutex_);
    is_new = reasons_.insert(why).second;
  }
  if (is_new && notice_) {
    notice_(source_.dirs()[dir]->path() + ": changes are looked for " +
            std::to_string(1000 / kPollMs) + " times a second, the kernel does not tell them (" +
            why + ")");
  }
  Poller& poller = *pollers_[dir];
  if (poller.wanted.exchange(true)) return;
  poller.thread = std::jthread([this, dir](const std::stop_token& stop) { poll(dir, stop); });
}

// --- Events -------------------------------------------------------------------------------------

void LogWatcher::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Noticed noticed;
    inotify_->wait([&](const Inotify::Event& event) { note(event, noticed); });
    tell(noticed);
  }
}

void LogWatcher::note(const Inotify::Event& event, Noticed& noticed) {
  if (event.watch < 0) {
    noticed.all = true;
    return;
  }
  Target target;
  {
    const MutexLock lock(mutex_);
    const auto found = targets_.find(event.watch);
    if (found == targets_.end()) return;
    target = found->second;
    if ((event.mask & IN_IGNORED) != 0) targets_.erase(found);
  }
  if (target.kind == Target::Kind::kPartition)
    return note_in_partition(target.number, event, noticed);
  if (LogDirFiles::is_one(event.name)) {
    noticed.checkpoints.insert(target.number);
  } else if (target.kind == Target::Kind::kLogDir && (event.mask & IN_ISDIR) != 0) {
    noticed.partitions = true;
  }
}

void LogWatcher::note_in_partition(std::uint32_t partition, const Inotify::Event& event,
                                   Noticed& noticed) {
  if ((event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0) {
    noticed.partitions = true;
    noticed.segments.insert(partition);
  } else if ((event.mask & IN_ATTRIB) != 0) {
    noticed.attributes.insert(partition);
    noticed.segments.insert(partition);
  } else if ((event.mask & IN_MODIFY) == 0) {
    noticed.segments.insert(partition);
  } else if (event.name.ends_with(".log")) {
    noticed.appended.insert(partition);
  }
}

void LogWatcher::tell(const Noticed& noticed) {
  if (noticed.all) return tell_everything();
  if (noticed.partitions) tell_partitions();
  for (const std::size_t dir : noticed.checkpoints) tell_checkpoints(dir);
  for (const std::uint32_t partition : noticed.attributes)
    if (const auto place = source_.place_of(partition)) place->log->count_loss();
  for (const std::uint32_t partition : noticed.segments) tell_segments(partition);
  for (const std::uint32_t partition : noticed.appended) publish(Kind::kAppended, partition);
}

void LogWatcher::tell_partitions() {
  source_.refresh();
  forget_gone();
  publish(Kind::kPartitions);
}

void LogWatcher::tell_checkpoints(std::size_t dir) {
  const LogDirFiles& files = *source_.files()[dir];
  files.refresh();
  for (const std::uint32_t partition : used_partitions()) {
    const auto place = source_.place_of(partition);
    if (!place || place->dir != dir) continue;
    const auto now = files.checkpointed(place->log->topic_partition());
    {
      const MutexLock lock(mutex_);
      const auto found = used_.find(partition);
      if (found == used_.end() || found->second.checkpointed == now) continue;
      found->second.checkpointed = now;
    }
    publish(Kind::kCheckpoints, partition);
  }
}

void LogWatcher::tell_segments(std::uint32_t partition) {
  if (const auto place = source_.place_of(partition)) place->log->refresh();
  publish(Kind::kSegments, partition);
}

void LogWatcher::tell_everything() {
  tell_partitions();
  for (std::size_t i = 0; i < source_.dirs().size(); ++i) tell_checkpoints(i);
  for (const std::uint32_t partition : used_partitions()) {
    tell_segments(partition);
    publish(Kind::kAppended, partition);
  }
}

void LogWatcher::forget_gone() {
  std::vector<int> watches;
  for (const std::uint32_t partition : used_partitions()) {
    if (source_.place_of(partition)) continue;
    const MutexLock lock(mutex_);
    const auto gone = used_.find(partition);
    if (gone == used_.end() || gone->second.listeners > 0) continue;  // who listens ends it
    if (gone->second.watch >= 0) watches.push_back(gone->second.watch);
    used_.erase(gone);
  }
  for (const int watch : watches) {
    {
      const MutexLock lock(mutex_);
      targets_.erase(watch);
    }
    inotify_->unwatch(watch);
  }
}

std::vector<std::uint32_t> LogWatcher::used_partitions() const {
  const MutexLock lock(mutex_);
  std::vector<std::uint32_t> partitions;
  for (const auto& [partition, used] : used_) partitions.push_back(partition);
  return partitions;
}

void LogWatcher::publish(Kind kind, std::uint32_t partition) const {
  source_.changes().publish({kind, partition});
}

// --- Polling ------------------------------------------------------------------------------------

void LogWatcher::poll(std::size_t dir, const std::stop_token& stop) {
  auto next_of_all = steady_clock::now();
  while (!stop.stop_requested()) {
    const bool all = steady_clock::now() >= next_of_all;
    if (all) {
      next_of_all = steady_clock::now() + milliseconds(kPollAllMs);
      poll_listing();
      tell_checkpoints(dir);
    }
    bool listened = false;
    for (const std::uint32_t partition : used_partitions()) {
      bool is_due = false;
      {
        const MutexLock lock(mutex_);
        const auto found = used_.find(partition);
        if (found == used_.end() || found->second.dir != dir || found->second.watch >= 0) continue;
        listened = listened || found->second.listeners > 0;
        is_due = all || found->second.listeners > 0;
      }
      if (is_due && !stop.stop_requested()) poll_partition(partition);
    }
    std::unique_lock lock(waking_);
    if (stop.stop_requested()) return;
    wakes_pollers_.wait_for(lock, stop, milliseconds(listened ? kPollMs : kPollAllMs),
                            [] { return false; });
  }
}

// What somebody else listed meanwhile is news here all the same.
void LogWatcher::poll_listing() {
  source_.refresh();
  {
    const MutexLock lock(polling_listing_);
    std::shared_ptr<const void> now = source_.partitions();
    if (std::exchange(listing_, now) == now) return;
  }
  forget_gone();
  publish(Kind::kPartitions);
}

void LogWatcher::poll_partition(std::uint32_t partition) {
  const auto place = source_.place_of(partition);
  if (!place) return;
  place->log->refresh();
  const auto segments = place->log->segment_list();
  const auto active_log = active_log_of(*place->log);
  bool segments_changed = false;
  bool appended = false;
  {
    const MutexLock lock(mutex_);
    const auto found = used_.find(partition);
    if (found == used_.end()) return;
    segments_changed = found->second.segments != segments;
    appended = !same_file_state(found->second.active_log, active_log);
    found->second.segments = segments;
    found->second.active_log = active_log;
  }
  if (segments_changed) publish(Kind::kSegments, partition);
  if (appended) publish(Kind::kAppended, partition);
}

}  // namespace offsetfs::storage
