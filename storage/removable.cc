#include "storage/removable.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/segment_files.h"
#include "storage/topic_partition.h"

namespace offsetfs::storage {
namespace {

using Kind = Removable::Kind;

using Holder = SourceDir::Lock::Holder;

// When it goes: said of what a broker removes at its start, or while it runs.
const char* when(Holder holder) {
  switch (holder) {
    case Holder::kProcess: return "the running broker removes it by itself";
    case Holder::kWriter:
      return "no broker works on this directory, but offsetfs writes to it: leave it alone while "
             "that lasts; whoever opens the log next removes it";
    case Holder::kUnknown:
      return "whether a broker works on this directory can't be told, as its .lock may not be "
             "opened or its file system does not tell: leave it alone until you know";
    case Holder::kNobody: break;
  }
  return "no broker works on this directory; the next one to start removes it, and it may be "
         "removed now";
}

// One log directory, or one partition's directory that was given alone.
class Walk {
 public:
  Walk(const SourceDir& dir, Holder holder, std::vector<Removable>& found)
      : dir_(dir), found_(found), holder_(holder) {}

  void run() {
    std::vector<std::string> partitions;
    bool is_partition = false;
    const auto listed = dir_.list("", [&](const SourceDir::Entry& entry) {
      const std::string name(entry.name);
      if (entry.kind == SourceDir::Kind::kDirectory && parse_partition_dir(name))
        partitions.push_back(name);
      if (entry.kind == SourceDir::Kind::kFile) {
        is_partition = is_partition || parse_segment_file(name).has_value();
        if (name.ends_with(".tmp")) add_temporary(name);
      }
      return true;
    });
    if (!listed) return;
    if (is_partition) partition("");
    for (const auto& name : partitions) {
      const auto state = parse_partition_dir(name)->state;
      if (state == DirState::kDelete)
        whole_directory(name, Kind::kDeleteDirectory, running(),
                        std::string("its topic or replica was deleted; ") + when(holder_));
      else if (state == DirState::kStray)
        whole_directory(
            name, Kind::kStrayDirectory, false,
            "the cluster does not know this replica, and no broker serves or removes it: "
            "look at its records under " +
                name + "/ first, they may be the last copy");
      else
        partition(name + "/");
    }
  }

 private:
  bool running() const { return holder_ == Holder::kProcess; }

  void add(Kind kind, const std::string& below, std::int64_t bytes, bool broker_will,
           std::string reason) {
    found_.push_back({kind, dir_.name_of(below), bytes, broker_will, std::move(reason)});
  }
  std::int64_t bytes_of(const std::string& below) const {
    const auto info = dir_.info(below);
    return info ? info->allocated_bytes : 0;
  }

  void add_temporary(const std::string& below) {
    add(Kind::kTemporary, below, bytes_of(below), false,
        holder_ == Holder::kNobody
            ? "an unfinished replacement of a small file, which no broker reads"
            : "an unfinished replacement of a small file; a broker may just be writing it");
  }

  void whole_directory(const std::string& name, Kind kind, bool broker_will, std::string reason) {
    std::int64_t bytes = 0;
    (void)dir_
        .list(name,
              [&](const SourceDir::Entry& entry) {
                bytes += bytes_of(name + "/" + std::string(entry.name));
                return true;
              })
        .has_value();
    add(kind, name, bytes, broker_will, std::move(reason));
  }

  // What a metadata log's snapshots leave behind.
  static bool is_doomed_checkpoint(std::string_view name) {
    return name.ends_with(".checkpoint.deleted") || name.ends_with(".checkpoint.part");
  }

  void partition(const std::string& stem) {
    std::set<Offset> logs;
    std::map<Offset, std::vector<std::string>> indexes;
    std::vector<std::string> cleaned;
    bool has_swap = false;
    const auto below = stem.empty() ? "" : stem.substr(0, stem.size() - 1);
    (void)dir_
        .list(below,
              [&](const SourceDir::Entry& entry) {
                if (entry.kind != SourceDir::Kind::kFile) return true;
                const std::string path = stem + std::string(entry.name);
                const auto name = parse_segment_file(entry.name);
                if (is_doomed_checkpoint(entry.name)) {
                  add(Kind::kDeletedSegment, path, bytes_of(path), running(),
                      std::string("a snapshot that is doomed or unfinished; ") + when(holder_));
                } else if (!name) {
                  if (!stem.empty() && entry.name.ends_with(".tmp")) add_temporary(path);
                } else if (name->suffix == SegmentSuffix::kDeleted) {
                  add(Kind::kDeletedSegment, path, bytes_of(path), running(),
                      std::string("retention or compaction took it out of the log; ") +
                          when(holder_));
                } else if (name->suffix == SegmentSuffix::kCleaned) {
                  cleaned.push_back(path);
                } else if (name->suffix == SegmentSuffix::kSwap) {
                  has_swap = true;
                } else if (name->file == SegmentFile::kLog) {
                  logs.insert(name->base_offset);
                } else if (name->file != SegmentFile::kProducerSnapshot) {
                  indexes[name->base_offset].push_back(path);
                }
                return true;
              })
        .has_value();
    for (const auto& path : cleaned) add_cleaned(path, has_swap);
    for (const auto& [base_offset, paths] : indexes)
      if (!logs.contains(base_offset))
        for (const auto& path : paths) add_orphan(path);
  }

  // A `.cleaned` file beside `.swap` files is what tells the next broker that a split was cut
  // short, and that the `.swap` files are void: without it they would be taken for the log.
  void add_cleaned(const std::string& path, bool has_swap) {
    std::string reason = std::string("a compaction or split that was cut short; ") + when(holder_);
    if (has_swap)
      reason =
          "a split that was cut short: the .swap files beside it are void because of it, so leave "
          "both to the next broker to start, and never remove this one alone";
    else if (holder_ == Holder::kProcess)
      reason = "a compaction or split writes it just now, or was cut short: leave it to the broker";
    else if (holder_ == Holder::kWriter)
      reason = "a compaction of offsetfs writes it just now, or was cut short: leave it alone";
    add(Kind::kCleanedSegment, path, bytes_of(path), running(), std::move(reason));
  }

  void add_orphan(const std::string& path) {
    add(Kind::kOrphanedIndex, path, bytes_of(path), false,
        holder_ == Holder::kNobody
            ? std::string("an index without its .log says nothing; ") + when(holder_)
            : "an index without its .log; a broker may just be making or removing the "
              "segment: look again");
  }

  const SourceDir& dir_;
  std::vector<Removable>& found_;
  const Holder holder_;
};

// Files below `root` that were unlinked while `process` holds them open. A file held by several
// descriptors takes its room once.
void find_held_open(std::int64_t process, const SourceDir& dir, std::vector<Removable>& found) {
  const auto fds = "/proc/" + std::to_string(process) + "/fd";
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(fds.c_str()), &::closedir);
  if (listing == nullptr) return;
  std::set<std::pair<dev_t, ino_t>> seen;
  while (const auto* entry = ::readdir(listing.get())) {
    const auto link = fds + "/" + entry->d_name;
    std::array<char, 4096> target{};
    const auto length = ::readlink(link.c_str(), target.data(), target.size());
    if (length <= 0) continue;
    const std::string_view path(target.data(), static_cast<std::size_t>(length));
    constexpr std::string_view kDeleted = " (deleted)";
    if (!path.starts_with(dir.real_path() + "/") || !path.ends_with(kDeleted)) continue;
    struct stat st {};
    if (::stat(link.c_str(), &st) != 0 || st.st_nlink != 0) continue;
    if (!seen.emplace(st.st_dev, st.st_ino).second) continue;
    const auto below = path.substr(dir.real_path().size() + 1);
    found.push_back({Kind::kHeldOpen,
                     dir.name_of(std::string(below.substr(0, below.size() - kDeleted.size()))),
                     static_cast<std::int64_t>(st.st_blocks) * 512, true,
                     "unlinked, but process " + std::to_string(process) +
                         " holds it open: its room comes back when that closes it or ends"});
  }
}

}  // namespace

const char* removable_kind_name(Removable::Kind kind) {
  switch (kind) {
    case Kind::kDeletedSegment: return "deleted segment file";
    case Kind::kCleanedSegment: return "unfinished compaction";
    case Kind::kOrphanedIndex: return "orphaned index";
    case Kind::kTemporary: return "temporary file";
    case Kind::kDeleteDirectory: return "-delete directory";
    case Kind::kStrayDirectory: return "-stray directory";
    case Kind::kHeldOpen: return "held open";
  }
  return "";
}

std::vector<Removable> find_removable(const std::vector<std::shared_ptr<const SourceDir>>& dirs) {
  std::vector<Removable> found;
  for (const auto& dir : dirs) {
    const auto lock = dir->lock_of(".lock");
    Walk(*dir, lock.holder, found).run();
    if (lock.process > 0) find_held_open(lock.process, *dir, found);
  }
  std::ranges::sort(found, {}, &Removable::path);
  return found;
}

}  // namespace offsetfs::storage
