#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fs/attributes.h"
#include "storage/dir.h"
#include "storage/mutex.h"
#include "storage/partition_log.h"
#include "storage/result.h"
#include "storage/segment_files.h"
#include "storage/segment_list.h"
#include "storage/unique_fd.h"
#include "storage/units.h"

namespace offsetfs::fs {

// What a view takes over from the file it shows.
struct SourceFacts {
  Access access;
  std::int64_t mtime_ns = 0;
  std::int64_t size_bytes = 0;
};

// `below` in `dir`, a file or a directory. kNotFound if it is gone.
storage::Result<SourceFacts> source_facts(const storage::SourceDir& dir, const std::string& below);

// Who may enter the mount: whoever may list each of the sources and, class by class, search all
// directories above them. So one directory of mode 0700 there keeps out the same people here, and
// from the moment on that it is given that mode. Any thread.
class RootAccess {
 public:
  using Dirs = std::vector<std::shared_ptr<const storage::SourceDir>>;

  // Holds the directories above open: the mount may come to lie over one of them, and to ask for it
  // by its path would then be to ask ourselves. So this must be made before the mount.
  explicit RootAccess(const Dirs& dirs);

  Access now() const;

 private:
  struct Source {
    std::shared_ptr<const storage::SourceDir> dir;
    std::vector<storage::UniqueFd> above;
    bool reached = true;  // all of them could be opened
  };
  static Access of_source(const Source& source);

  std::vector<Source> sources_;
};

// The facts of the files of one partition. Modes and owners of its segments are remembered for
// kKeepMs, since every lookup of a record wants them. Any thread.
class SourceAccess {
 public:
  static constexpr std::int64_t kKeepMs = 60'000;

  explicit SourceAccess(std::shared_ptr<const storage::PartitionLog> log) : log_(std::move(log)) {}

  storage::Result<SourceFacts> directory() const;
  timespec mtime_of_directory() const;  // 0 if it is gone
  // r-- for whom the directory may be listed by: of what is told of it without looking into files.
  Access of_directory_content() const;
  // A file of the partition's directory, by its name there.
  storage::Result<SourceFacts> file(const std::string& name) const;
  // A file of a segment, under the suffix that it bears.
  storage::Result<SourceFacts> segment_file(const storage::SegmentEntry& entry,
                                            storage::SegmentFile kind) const;

  // Of the live segment's `.log`. A segment that was deleted while its records are still being read
  // is as it was last seen; where it never was, as its directory.
  Access of_segment(storage::Offset base_offset) const;
  timespec mtime_of_segment(storage::Offset base_offset) const;  // of its `.log`
  // Of what is made of the live segments that hold [from, to): the narrowest of theirs. Where they
  // are many, only some of them are looked at, since that takes a look at each file; then admits()
  // must be asked for each segment before it is shown.
  Access of_range(storage::Offset from, storage::Offset to) const;
  // Of a directory whose names tell of the records of all segments: whoever may read them all may
  // list and search it.
  Access of_names() const;
  // kIo with EACCES if the segment is not for all who were let in by `granted`. From then on
  // of_range() knows.
  storage::Result<void> admits(const Access& granted, storage::Offset base_offset) const;
  // Modes may have changed: all are looked at anew.
  void forget() const;

 private:
  struct Remembered {
    Access access;
    std::int64_t until_ms = 0;
  };
  storage::Result<SourceFacts> log_of(storage::Offset base_offset) const;

  static constexpr std::size_t kMostRemembered = 1U << 17;
  static constexpr std::size_t kLookedAt = 32;  // of the segments of a range

  const std::shared_ptr<const storage::PartitionLog> log_;
  mutable storage::Mutex mutex_;
  mutable std::unordered_map<storage::Offset, Remembered> segments_ GUARDED_BY(mutex_);
  // Met in the middle of a range, by admits().
  mutable std::optional<Access> narrower_ GUARDED_BY(mutex_);
};

}  // namespace offsetfs::fs
