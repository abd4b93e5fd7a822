#include "storage/log_dir_files.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "storage/meta_properties.h"
#include "storage/offset_checkpoint.h"

namespace offsetfs::storage {

namespace {

constexpr std::size_t kMostFileBytes = 64 << 20;
constexpr const char* kMetaProperties = "meta.properties";
constexpr std::array<const char*, 5> kNames = {kLogStartOffsetCheckpoint, kHighWatermarkCheckpoint,
                                               kRecoveryPointCheckpoint, kCleanerOffsetCheckpoint,
                                               kMetaProperties};

std::int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

// As far as a change of a file shows in it.
struct Version {
  ino_t ino = 0;
  std::int64_t size_bytes = -1;  // -1: absent
  std::int64_t mtime_ns = 0;
  friend bool operator==(const Version&, const Version&) = default;
};

std::optional<Offset> entry_of(const OffsetCheckpoint& checkpoint, const TopicPartition& of) {
  const auto found = checkpoint.find(of);
  return found == checkpoint.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

struct LogDirFiles::Contents {
  std::array<Version, kNames.size()> versions;
  std::array<std::shared_ptr<const OffsetCheckpoint>, 4> checkpoints;  // in the order of kNames
  std::optional<std::int32_t> node_id;
};

LogDirFiles::LogDirFiles(std::shared_ptr<const SourceDir> dir, std::shared_ptr<Problems> problems)
    : dir_(std::move(dir)), problems_(std::move(problems)) {}

LogDirFiles::~LogDirFiles() = default;

LogDirFiles::Checkpointed LogDirFiles::checkpointed(const TopicPartition& topic_partition) const {
  const auto now = contents(false);
  return {entry_of(*now->checkpoints[0], topic_partition),
          entry_of(*now->checkpoints[1], topic_partition),
          entry_of(*now->checkpoints[2], topic_partition),
          entry_of(*now->checkpoints[3], topic_partition)};
}

std::optional<Offset> LogDirFiles::log_start_offset(const TopicPartition& topic_partition) const {
  return entry_of(*contents(false)->checkpoints[0], topic_partition);
}

std::optional<std::int32_t> LogDirFiles::node_id() const { return contents(false)->node_id; }

bool LogDirFiles::is_broker_at_work() const {
  const std::int64_t now = now_ms();
  if (now - lock_checked_ms_.load(std::memory_order_relaxed) >= kLockMs) {
    lock_checked_ms_.store(now, std::memory_order_relaxed);
    // The disk of another machine is not what a broker on this one works with.
    const bool locked = dir_ != nullptr && !dir_->is_guarded() &&
                        dir_->lock_of(".lock").holder == SourceDir::Lock::Holder::kProcess;
    locked_.store(locked, std::memory_order_relaxed);
  }
  return locked_.load(std::memory_order_relaxed);
}

bool LogDirFiles::is_one(std::string_view name) {
  return std::ranges::find(kNames, name) != kNames.end();
}

void LogDirFiles::refresh() const { contents(true); }

std::shared_ptr<const LogDirFiles::Contents> LogDirFiles::contents(bool look_now) const {
  std::shared_ptr<const Contents> old;
  const std::int64_t now = now_ms();
  {
    const MutexLock lock(mutex_);
    old = contents_;
    if (old && (!dir_ || (!look_now && (dir_->is_guarded() || now - checked_ms_ < kRecheckMs))))
      return old;
    checked_ms_ = now;  // one caller looks; the others go on with what there is
  }
  auto fresh = std::make_shared<Contents>();
  if (old) *fresh = *old;
  for (std::size_t i = 0; i < kNames.size(); ++i) look_at(i, *fresh);
  const MutexLock lock(mutex_);
  contents_ = fresh;
  return fresh;
}

void LogDirFiles::look_at(std::size_t which, Contents& contents) const {
  const bool is_checkpoint = which < contents.checkpoints.size();
  if (is_checkpoint && !contents.checkpoints[which]) {
    contents.checkpoints[which] = std::make_shared<const OffsetCheckpoint>();
  }
  if (!dir_) return;
  const std::string name = kNames[which];
  Version version;
  const auto info = dir_->info(name);
  if (info) version = {info->ino, info->size_bytes, info->mtime_ns};
  // What can't be looked at takes nothing back: it is looked at again.
  const auto failed = [&](const Error& error) {
    if (error.sys_errno != ETIMEDOUT) problems_->add({dir_->name_of(name), -1, error.what});
  };
  if (!info && info.error().code != Errc::kNotFound) return failed(info.error());
  if (version == contents.versions[which]) return;
  const auto text = dir_->read_whole(name, kMostFileBytes);
  if (!text && text.error().code == Errc::kIo) return failed(text.error());
  contents.versions[which] = version;
  if (is_checkpoint) contents.checkpoints[which] = std::make_shared<const OffsetCheckpoint>();
  if (!is_checkpoint) contents.node_id.reset();
  if (!text) {
    if (text.error().code != Errc::kNotFound)
      problems_->add({dir_->name_of(name), -1, text.error().what});
    return;
  }
  if (is_checkpoint) {
    auto checkpoint = parse_offset_checkpoint(*text, dir_->name_of(name));
    if (checkpoint) {
      contents.checkpoints[which] =
          std::make_shared<const OffsetCheckpoint>(std::move(*checkpoint));
    } else {
      problems_->add({dir_->name_of(name), -1, checkpoint.error().what + ": not used"});
    }
    return;
  }
  const auto properties = parse_meta_properties(*text, dir_->name_of(name));
  if (properties) {
    contents.node_id = properties->node_id;
  } else {
    problems_->add({dir_->name_of(name), -1, properties.error().what + ": not used"});
  }
}

}  // namespace offsetfs::storage
