#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "storage/dir.h"
#include "storage/file.h"
#include "storage/log_changes.h"
#include "storage/log_dir_files.h"
#include "storage/log_source.h"
#include "storage/log_watcher.h"
#include "storage/mutex.h"
#include "storage/partition_log.h"
#include "storage/problems.h"
#include "storage/result.h"

namespace offsetfs::storage {

// A source of directories: one partition directory (it holds `<20 digits>.log`), or one or several
// log directories (a broker's log.dirs), as one union. Opens nothing of a partition before it is
// asked for.
//
// A log directory is listed again when its mtime changed, which is looked at once in kRecheckMs at
// most. What is no partition there (alien names, links, FIFOs, what can't be read) is named in
// problems; the broker's own files are not, and what can't be read for a while is not gone. Of two
// live copies of a partition the one with the higher log end has the name, the other is NAME~I, I
// its directory's place in the list, from 0.
//
// A source is the directory that was there when it was opened, whatever bears its name later: one
// that is removed shows nothing any more, and says so once, among the problems.
class LogDir : public LogSource {
 public:
  static constexpr std::int64_t kRecheckMs = 250;

  struct Options {
    PartitionLog::Options log;
    std::size_t cached_batches_bytes = 8U << 20;
    std::uint64_t descriptors = 1024;  // RLIMIT_NOFILE: a quarter of them is used for segments
    std::function<void(const Problem&)> on_problem;  // each new one; any thread
    // Changes are noticed and told (changes()); nothing: only what is asked for is looked at.
    std::optional<LogWatcher::How> watch;
    // After how long a read of a source that may never answer is given up.
    std::chrono::milliseconds io_timeout{30'000};
    std::function<void(const std::string&)> on_notice;  // what is worth a line, once; any thread
  };

  // Each path as the user typed it (it may be a symbolic link). kInvalid with a cure: neither a
  // partition nor a log directory; a partition directory among several; the same directory twice.
  static Result<std::shared_ptr<const LogDir>> open(const std::vector<std::string>& paths,
                                                    std::shared_ptr<const IoBackend> io,
                                                    Options options);

  ~LogDir() override;
  std::shared_ptr<const std::vector<Partition>> partitions() const override;
  Result<std::shared_ptr<const PartitionLog>> open(std::uint32_t id) const override;
  bool is_single_partition() const override { return single_; }
  Problems& problems() const override { return *shared_.problems; }

  // The sources in the order given: the partition directory itself, or the log directories.
  const std::vector<std::shared_ptr<const SourceDir>>& dirs() const override { return dirs_; }
  LogChanges& changes() const override { return changes_; }
  bool is_broker_at_work() const override;
  const std::vector<std::shared_ptr<const LogDirFiles>>& files() const { return files_; }
  // Lists the log directories now if they changed. True if they had.
  bool refresh() const;

  // For the watcher: where a partition's log lies. Looks at nothing; nothing: it is gone.
  struct Place {
    std::size_t dir = 0;  // in dirs()
    std::shared_ptr<const PartitionLog> log;
  };
  std::optional<Place> place_of(std::uint32_t id) const;

 private:
  // Long ago on any clock, yet a time that can be subtracted.
  static constexpr std::int64_t kNeverChecked = INT64_MIN / 2;

  struct Found;    // a directory as a listing met it
  struct Known;    // an incarnation
  struct Listing;  // a snapshot
  // Of a directory: an inode number alone may come again after it was removed.
  struct Incarnation {
    dev_t dev = 0;
    ino_t ino = 0;
    std::int64_t birth_ns = 0;
    friend auto operator<=>(const Incarnation&, const Incarnation&) = default;
  };

  LogDir(std::vector<std::shared_ptr<const SourceDir>> dirs,
         std::vector<std::shared_ptr<const LogDirFiles>> files, bool single,
         PartitionLog::Shared shared);

  std::shared_ptr<const Listing> listing(bool look_now) const;
  void look_for_removed() const;
  // `old` (may be null): what stands where a directory can't be read now; `failed`: there is one.
  // Unless `patient` one that is slow to answer is not waited for either.
  std::vector<Found> scan(const Listing* old, bool patient, bool& failed) const;
  void scan_dir(std::size_t dir, const Listing* old, bool patient, std::vector<Found>& found,
                bool& failed) const;
  void alien(const SourceDir& dir, const SourceDir::Entry& entry) const;
  void name_twins(std::vector<Found>& found) const;
  std::shared_ptr<PartitionLog> make_log(const Found& found) const;
  std::shared_ptr<const Listing> publish(std::vector<Found> found,
                                         std::shared_ptr<Listing> fresh) const;

  const std::vector<std::shared_ptr<const SourceDir>> dirs_;
  const std::vector<std::shared_ptr<const LogDirFiles>> files_;
  const bool single_;
  const PartitionLog::Shared shared_;
  mutable LogChanges changes_;

  mutable Mutex mutex_;
  mutable std::shared_ptr<const Listing> listing_ GUARDED_BY(mutex_);
  mutable std::int64_t checked_ms_ GUARDED_BY(mutex_) = kNeverChecked;
  mutable std::set<std::size_t> removed_ GUARDED_BY(mutex_);  // of dirs_
  mutable std::uint64_t looks_ GUARDED_BY(mutex_) = 0;        // that were begun
  mutable std::map<Incarnation, std::uint32_t> ids_ GUARDED_BY(mutex_);
  mutable std::vector<std::shared_ptr<Known>> known_ GUARDED_BY(mutex_);  // by id

  std::unique_ptr<LogWatcher> watcher_;  // last: its threads use the others
};

}  // namespace offsetfs::storage
