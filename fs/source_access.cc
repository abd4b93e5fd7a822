#include "fs/source_access.h"

#include <algorithm>
#include <cerrno>
#include <utility>

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

// True also where it can't be told: then the group loses what it may have had.
bool has_acl(const std::string& path) {
  if (::lgetxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) >= 0) return true;
  return errno != ENODATA && errno != ENOTSUP;
}

void drop_group_if_acl(const std::string& path, Access& access) {
  if ((access.mode & kGroupBits) != 0 && has_acl(path))
    access.mode = static_cast<mode_t>(access.mode & ~kGroupBits);
}

std::string absolute(const SourceDir& dir, const std::string& below) {
  return below.empty() ? dir.real_path() : dir.real_path() + "/" + below;
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

Access access_through_ancestors(const SourceDir& dir) {
  const auto facts = source_facts(dir, "");
  if (!facts) return {0, 0, 0};
  Access access = facts->access;
  std::string path = dir.real_path();
  while (path.size() > 1) {
    path.resize(std::max<std::size_t>(path.rfind('/'), 1));
    struct stat above {};
    if (::stat(path.c_str(), &above) != 0) above.st_mode = 0;
    if (above.st_mode != 0 && (above.st_mode & kGroupBits) != 0 && has_acl(path))
      above.st_mode &= ~kGroupBits;
    restrict_to_searchers(above, access);
  }
  return access;
}

}  // namespace

Result<SourceFacts> source_facts(const SourceDir& dir, const std::string& below) {
  ASSIGN_OR_RETURN(const storage::FileInfo info, dir.info(below));
  SourceFacts facts{S_ISDIR(info.mode) ? directory_access(info) : file_access(info), info.mtime_ns,
                    info.size_bytes};
  drop_group_if_acl(absolute(dir, below), facts.access);
  return facts;
}

Access root_access(const std::vector<std::shared_ptr<const SourceDir>>& dirs) {
  if (dirs.empty()) return {0, 0, 0};
  Access access = access_through_ancestors(*dirs.front());
  for (const auto& dir : dirs) access = narrowest(access, access_through_ancestors(*dir));
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

Result<SourceFacts> SourceAccess::segment_file(const storage::SegmentFileName& name) const {
  return file(storage::segment_file_name(name));
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
  const auto facts = segment_file({base_offset, SegmentFile::kLog, {}});
  return ns_to_timespec(facts ? facts->mtime_ns : 0);
}

Access SourceAccess::of_segment(Offset base_offset) const {
  const std::int64_t now_ms = coarse_now_ms();
  {
    const storage::MutexLock lock(mutex_);
    const auto found = segments_.find(base_offset);
    if (found != segments_.end() && now_ms < found->second.until_ms) return found->second.access;
  }
  const auto facts = segment_file({base_offset, SegmentFile::kLog, {}});
  const Access access = facts ? facts->access : of_directory_content();
  const storage::MutexLock lock(mutex_);
  if (segments_.size() >= kMostRemembered) segments_.clear();
  segments_[base_offset] = {access, now_ms + kKeepMs};
  return access;
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
