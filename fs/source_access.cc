#include "fs/source_access.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "fs/coarse_clock.h"

namespace offsetfs::fs {
namespace {

using storage::Offset;
using storage::Result;
using storage::SegmentEntry;
using storage::SegmentFile;
using storage::SourceDir;

constexpr mode_t kGroupBits = 0070;

constexpr const char* kAcl = "system.posix_acl_access";

// At a file that others put in the place of the last one time and again.
constexpr int kMostLooks = 6;

// What stands for a file that could not be looked at.
constexpr std::int64_t kKeepUnseenMs = 1'000;

bool is_same_file(const storage::FileInfo& one, const storage::FileInfo& other) {
  return one.dev == other.dev && one.ino == other.ino;
}

// True also where it can't be told: then the group loses what it may have had.
bool is_acl(ssize_t size) {
  if (size >= 0) return true;
  return errno != ENODATA && errno != ENOTSUP;
}

bool is_not_found(const Result<SourceFacts>& facts) {
  return !facts && facts.error().code == storage::Errc::kNotFound;
}

// What is left of `access` for those who come through the directory `above`.
void restrict_to_searchers(const struct stat& above, Access& access) {
  const bool others = (above.st_mode & 01) != 0;
  const bool group = (above.st_mode & 010) != 0;
  const bool owner = (above.st_mode & 0100) != 0;
  const bool group_passes = above.st_gid == access.gid ? group : others;
  // Whether the owner is one of the group above can't be told: the two must agree then.
  const bool owner_passes = above.st_uid == access.uid   ? owner
                            : above.st_gid == access.gid ? group && others
                                                         : others;
  if (!others) access.mode &= ~mode_t{07};
  if (!group_passes) access.mode &= ~mode_t{070};
  if (!owner_passes) access.mode &= ~mode_t{0700};
}

// The directories above `path`, the nearest first; fewer where one can't be had.
std::vector<storage::UniqueFd> open_above(std::string path) {
  std::vector<storage::UniqueFd> above;
  while (path.size() > 1) {
    path.resize(std::max<std::size_t>(path.rfind('/'), 1));
    storage::UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd) break;
    above.push_back(std::move(fd));
  }
  return above;
}

// An O_PATH descriptor's attributes are had through /proc alone.
bool has_acl(int fd) {
  return is_acl(::getxattr(("/proc/self/fd/" + std::to_string(fd)).c_str(), kAcl, nullptr, 0));
}

}  // namespace

// Both calls go by the name, and a file that went from it between them seems to have an ACL: only
// where the same file is still there afterwards was it asked about.
Result<SourceFacts> source_facts(const SourceDir& dir, const std::string& below) {
  ASSIGN_OR_RETURN(storage::FileInfo info, dir.info(below));
  for (int looks = 1;; ++looks) {
    SourceFacts facts{S_ISDIR(info.mode) ? directory_access(info) : file_access(info),
                      info.mtime_ns, info.size_bytes};
    if ((facts.access.mode & kGroupBits) == 0 || !dir.has_acl(below)) return facts;
    facts.access.mode = static_cast<mode_t>(facts.access.mode & ~kGroupBits);
    const auto again = dir.info(below);
    if (!again && again.error().code == storage::Errc::kNotFound)
      return storage::fail(again.error());
    if (!again || is_same_file(info, *again) || looks == kMostLooks) return facts;
    info = *again;
  }
}

RootAccess::RootAccess(const Dirs& dirs) {
  for (const auto& dir : dirs) {
    Source source{dir, open_above(dir->real_path())};
    const std::string& path = dir->real_path();
    const auto depth = path.size() > 1 ? std::count(path.begin(), path.end(), '/') : 0;
    source.reached = static_cast<std::size_t>(depth) == source.above.size();
    sources_.push_back(std::move(source));
  }
}

Access RootAccess::of_source(const Source& source) {
  const auto facts = source_facts(*source.dir, "");
  if (!facts || !source.reached) return {0, 0, 0};
  Access access = facts->access;
  for (const storage::UniqueFd& fd : source.above) {
    struct stat above {};
    if (::fstat(fd.get(), &above) != 0) above.st_mode = 0;
    if ((above.st_mode & kGroupBits) != 0 && has_acl(fd.get())) above.st_mode &= ~kGroupBits;
    restrict_to_searchers(above, access);
  }
  return access;
}

Access RootAccess::now() const {
  if (sources_.empty()) return {0, 0, 0};
  Access access = of_source(sources_.front());
  for (std::size_t i = 1; i < sources_.size(); ++i)
    access = narrowest(access, of_source(sources_[i]));
  return access;
}

Result<SourceFacts> SourceAccess::directory() const {
  std::string below = log_->below("");
  if (below.ends_with('/')) below.pop_back();
  return source_facts(*log_->dir(), below);
}

Result<SourceFacts> SourceAccess::file(const std::string& name) const {
  return source_facts(*log_->dir(), log_->below(name));
}

Result<SourceFacts> SourceAccess::segment_file(const SegmentEntry& entry, SegmentFile kind) const {
  return file(storage::segment_file_name({entry.base_offset, kind, entry.suffix_of(kind)}));
}

// Of the live segment; by its plain name if that is gone, or has got it meanwhile.
Result<SourceFacts> SourceAccess::log_of(Offset base_offset) const {
  SegmentEntry plain;
  plain.base_offset = base_offset;
  for (int looks = 1;; ++looks) {
    const auto segments = log_->segments();
    const auto found = std::lower_bound(
        segments->begin(), segments->end(), base_offset,
        [](const SegmentEntry& entry, Offset offset) { return entry.base_offset < offset; });
    const bool is_live = found != segments->end() && found->base_offset == base_offset;
    auto facts = segment_file(is_live ? *found : plain, SegmentFile::kLog);
    if (is_not_found(facts) && is_live) facts = segment_file(plain, SegmentFile::kLog);
    if (!is_not_found(facts) || looks == kMostLooks) return facts;
    // Between two renames of compaction's a segment may seem to be missing.
    std::this_thread::sleep_for(std::chrono::milliseconds(1 << looks));
  }
}

timespec SourceAccess::mtime_of_directory() const {
  const auto facts = directory();
  return ns_to_timespec(facts ? facts->mtime_ns : 0);
}

Access SourceAccess::of_directory_content() const {
  const auto facts = directory();
  if (!facts) return {0, 0, 0};
  return {static_cast<mode_t>(facts->access.mode & 0444), facts->access.uid, facts->access.gid};
}

timespec SourceAccess::mtime_of_segment(Offset base_offset) const {
  const auto facts = log_of(base_offset);
  return ns_to_timespec(facts ? facts->mtime_ns : 0);
}

Access SourceAccess::of_segment(Offset base_offset) const {
  const std::int64_t now_ms = coarse_now_ms();
  std::optional<Access> last;
  {
    const storage::MutexLock lock(mutex_);
    const auto found = segments_.find(base_offset);
    if (found != segments_.end()) {
      if (now_ms < found->second.until_ms) return found->second.access;
      last = found->second.access;
    }
  }
  const auto facts = log_of(base_offset);
  const Access access = facts ? facts->access : last ? *last : of_directory_content();
  const storage::MutexLock lock(mutex_);
  if (segments_.size() >= kMostRemembered) segments_.clear();
  segments_[base_offset] = {access, now_ms + (facts ? kKeepMs : kKeepUnseenMs)};
  return access;
}

void SourceAccess::forget() const {
  const storage::MutexLock lock(mutex_);
  segments_.clear();
  narrower_.reset();
}

Access SourceAccess::of_range(Offset from, Offset to) const {
  const auto segments = log_->segments();
  const auto is_above = [](Offset offset, const SegmentEntry& entry) {
    return offset < entry.base_offset;
  };
  auto first = std::upper_bound(segments->begin(), segments->end(), from, is_above);
  if (first != segments->begin()) --first;
  const auto end = std::lower_bound(
      first, segments->end(), to,
      [](const SegmentEntry& entry, Offset offset) { return entry.base_offset < offset; });
  const auto count = static_cast<std::size_t>(end - first);
  if (count == 0) return of_directory_content();
  Access access = of_segment(first->base_offset);
  // Evenly spread, the last one included.
  const std::size_t looks = std::min(count, kLookedAt);
  for (std::size_t i = 1; i < looks; ++i) {
    const auto& entry = first[static_cast<std::ptrdiff_t>(i * (count - 1) / (looks - 1))];
    access = narrowest(access, of_segment(entry.base_offset));
  }
  const storage::MutexLock lock(mutex_);
  return narrower_ && count > looks ? narrowest(access, *narrower_) : access;
}

Access SourceAccess::of_names() const {
  Access access = of_range({0}, {INT64_MAX});
  access.mode |= (access.mode & 0444) >> 2;
  return access;
}

Result<void> SourceAccess::admits(const Access& granted, Offset base_offset) const {
  const Access own = of_segment(base_offset);
  if (own == granted || narrowest(granted, own) == granted) return {};
  const storage::MutexLock lock(mutex_);
  narrower_ = narrower_ ? narrowest(*narrower_, own) : own;
  return storage::fail_errno(
      EACCES, log_->dir()->name_of(log_->below(storage::segment_base_name(base_offset))) +
                  ": fewer may read it than the segments before it");
}

}  // namespace offsetfs::fs
