#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "storage/inotify.h"
#include "storage/log_changes.h"
#include "storage/log_dir_files.h"
#include "storage/mutex.h"
#include "storage/segment_list.h"

namespace offsetfs::storage {

class LogDir;

// Notices the changes of a LogDir and publishes them, after the LogDir, its files or the
// PartitionLog have looked again.
//
// By inotify: each log directory is watched, and each partition directory that was opened; writes
// into a partition's files only while somebody listens to it, so that 1,000 partitions at work
// cost nothing while nobody follows them. One thread. After an overflow everything is looked at.
//
// By polling, in a thread of its own for each log directory concerned: where the file system does
// not tell (NFS, FUSE, ...), where the kernel grants no inotify, and for the partitions that its
// limit of watches leaves out. What is listened to is looked at every kPollMs, the rest of what was
// opened every kPollAllMs.
//
// Any thread.
class LogWatcher final : public LogChanges::Watcher {
 public:
  static constexpr std::int64_t kPollMs = 100;
  static constexpr std::int64_t kPollAllMs = 1000;

  enum class How { kAuto, kPoll };
  // Says why there is polling, once for each reason. Any thread.
  using Notice = std::function<void(const std::string&)>;

  // `source` outlives this.
  LogWatcher(const LogDir& source, How how, Notice notice);
  ~LogWatcher() override;
  LogWatcher(const LogWatcher&) = delete;
  LogWatcher& operator=(const LogWatcher&) = delete;

  // The partition is in use: from when this returns its changes are noticed.
  void use(std::uint32_t partition);

  void begin_listening(std::uint32_t partition) override;
  void end_listening(std::uint32_t partition) override;
  bool is_prompt(std::uint32_t partition) override;
  std::string manner() override;

 private:
  // A partition in use.
  struct Used {
    std::size_t dir = 0;
    int watch = -1;  // -1: polled
    int listeners = 0;
    LogDirFiles::Checkpointed checkpointed;  // as listeners know them
    // As polling saw it last.
    std::shared_ptr<const SegmentList> segments;
    std::optional<FileInfo> active_log;
  };
  struct Target {  // what a watch is of
    enum class Kind { kLogDir, kCheckpoints, kPartition };
    Kind kind = Kind::kLogDir;
    std::uint32_t number = 0;  // of a directory, or a partition
  };
  // What a bunch of events came to.
  struct Noticed {
    bool all = false;
    bool partitions = false;
    std::set<std::size_t> checkpoints;  // directories
    std::set<std::uint32_t> appended;
    std::set<std::uint32_t> segments;
    std::set<std::uint32_t> attributes;  // modes or owners
  };
  // A log directory that is polled.
  struct Poller {
    std::atomic<bool> wanted = false;
    std::atomic<bool> untold = false;  // nothing of it can be watched
    std::jthread thread;
  };

  void watch_dirs();
  void watch_dir(std::size_t dir);
  void install(std::uint32_t partition, Used& used) REQUIRES(installing_);
  void set_mask(std::uint32_t partition, const Used& used) REQUIRES(installing_);
  void poll_from_now_on(std::size_t dir, const std::string& why);

  void run(const std::stop_token& stop);
  void note(const Inotify::Event& event, Noticed& noticed);
  static void note_in_partition(std::uint32_t partition, const Inotify::Event& event,
                                Noticed& noticed);
  void tell(const Noticed& noticed);
  void tell_partitions();
  void tell_checkpoints(std::size_t dir);
  void tell_segments(std::uint32_t partition);
  void tell_everything();
  void forget_gone();
  std::vector<std::uint32_t> used_partitions() const;

  void poll(std::size_t dir, const std::stop_token& stop);
  void poll_listing();
  void poll_partition(std::uint32_t partition);
  void publish(LogChanges::Change::Kind kind, std::uint32_t partition = 0) const;

  const LogDir& source_;
  const Notice notice_;
  std::unique_ptr<Inotify> inotify_;  // null: none is granted or wanted

  // Held while a watch is set up or changed, so that who comes second waits until it stands.
  Mutex installing_;
  mutable Mutex mutex_;  // never held across I/O or a listener's call
  std::unordered_map<int, Target> targets_ GUARDED_BY(mutex_);
  std::map<std::uint32_t, Used> used_ GUARDED_BY(mutex_);
  std::set<std::string> reasons_ GUARDED_BY(mutex_);  // why there is polling

  std::mutex waking_;  // a plain one: a condition waits with it
  std::condition_variable_any wakes_pollers_;
  Mutex polling_listing_;
  std::shared_ptr<const void> listing_ GUARDED_BY(polling_listing_);  // as polling saw it last
  std::vector<std::unique_ptr<Poller>> pollers_;                      // by directory
  std::jthread thread_;                                               // last: it uses the others
};

}  // namespace offsetfs::storage
