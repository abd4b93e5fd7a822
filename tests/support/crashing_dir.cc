#include "tests/support/crashing_dir.h"

#include <algorithm>
#include <cerrno>

#include <sys/stat.h>

#include "tests/support/memory_file.h"

namespace offsetfs::tests {

using storage::Bytes;
using storage::Errc;
using storage::fail;
using storage::Position;
using storage::Result;

class CrashingDir::Handle final : public storage::WriteFile {
 public:
  Handle(CrashingDir& dir, std::shared_ptr<Inode> inode, std::string name)
      : WriteFile(std::move(name)), dir_(dir), inode_(std::move(inode)) {}

  Result<void> write_at(Position position, Bytes bytes) override {
    RETURN_IF_ERROR(dir_.change());
    const Bytes asked = bytes;
    if (dir_.bytes_left_ >= 0) bytes = bytes.substr(0, static_cast<std::size_t>(dir_.bytes_left_));
    const auto at = static_cast<std::size_t>(position.value);
    if (!bytes.empty() && inode_->now.size() < at + bytes.size())
      inode_->now.resize(at + bytes.size());
    std::copy(bytes.begin(), bytes.end(), inode_->now.begin() + position.value);
    if (dir_.bytes_left_ >= 0) dir_.bytes_left_ -= static_cast<std::int64_t>(bytes.size());
    if (bytes.size() < asked.size()) return storage::fail_errno(dir_.sys_errno_, name());
    return {};
  }
  Result<void> truncate(std::int64_t size_bytes) override {
    RETURN_IF_ERROR(dir_.change());
    inode_->now.resize(static_cast<std::size_t>(size_bytes));
    return {};
  }
  Result<void> sync() override {
    RETURN_IF_ERROR(dir_.change());
    inode_->synced = inode_->now;
    return {};
  }
  bool has_name() const override {
    return std::ranges::any_of(dir_.names_,
                               [&](const auto& entry) { return entry.second == inode_; });
  }

 private:
  CrashingDir& dir_;
  const std::shared_ptr<Inode> inode_;
};

void CrashingDir::fail_after(std::int64_t bytes, int sys_errno) {
  bytes_left_ = bytes;
  sys_errno_ = sys_errno;
}

// The size is of any moment since the sync; each sector is as it was then or as it is now. What was
// never written is zeros.
std::string CrashingDir::after_power_cut(const Inode& inode) {
  const auto [least, most] = std::minmax({inode.synced.size(), inode.now.size()});
  std::string left;
  left.resize(least + random_() % (most - least + 1));
  const std::uint64_t kept_of_16 = random_() % 17;
  for (std::size_t at = 0; at < left.size(); at += kSector) {
    const std::string& from = random_() % 16 < kept_of_16 ? inode.now : inode.synced;
    const std::size_t end = std::min({at + kSector, left.size(), from.size()});
    for (std::size_t i = at; i < end; ++i) left[i] = from[i];
  }
  return left;
}

void CrashingDir::cut_power() {
  Names survived = history_[random_() % history_.size()];
  names_.clear();
  for (auto& [name, inode] : survived) {
    auto fresh = std::make_shared<Inode>();
    fresh->now = fresh->synced = after_power_cut(*inode);
    names_[name] = std::move(fresh);
  }
  history_ = {names_};
  bytes_left_ = -1;
  changes_left_ = -1;
}

Result<void> CrashingDir::change() {
  if (changes_left_ == 0) return storage::fail_errno(EIO, "the machine has stopped");
  if (changes_left_ > 0) --changes_left_;
  return {};
}

std::string& CrashingDir::content(const std::string& name) { return names_.at(name)->now; }

std::map<std::string, std::string> CrashingDir::contents() const {
  std::map<std::string, std::string> all;
  for (const auto& [name, inode] : names_) all[name] = inode->now;
  return all;
}

Result<std::unique_ptr<storage::WriteFile>> CrashingDir::open(const std::string& name, Open how) {
  auto found = names_.find(name);
  if (found == names_.end()) {
    if (how == Open::kExisting) return fail(Errc::kNotFound, name_of(name));
    RETURN_IF_ERROR(change());
    found = names_.emplace(name, std::make_shared<Inode>()).first;
    history_.push_back(names_);
  }
  if (how == Open::kFresh) RETURN_IF_ERROR(change());
  if (how == Open::kFresh) found->second->now.clear();
  return std::make_unique<Handle>(*this, found->second, name_of(name));
}

Result<std::unique_ptr<storage::File>> CrashingDir::open_for_reading(
    const std::string& name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return fail(Errc::kNotFound, name_of(name));
  return std::make_unique<MemoryFile>(found->second->now, name_of(name));
}

Result<storage::FileInfo> CrashingDir::info(const std::string& name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return fail(Errc::kNotFound, name_of(name));
  storage::FileInfo info;
  info.size_bytes = static_cast<std::int64_t>(found->second->now.size());
  info.mode = S_IFREG | 0644;
  return info;
}

Result<std::vector<std::string>> CrashingDir::list_files() const {
  std::vector<std::string> names;
  for (const auto& [name, inode] : names_) names.push_back(name);
  return names;
}

Result<void> CrashingDir::rename(const std::string& from, const std::string& to) {
  const auto found = names_.find(from);
  if (found == names_.end()) return fail(Errc::kNotFound, name_of(from));
  RETURN_IF_ERROR(change());
  const auto inode = found->second;
  names_.erase(found);
  names_[to] = inode;
  history_.push_back(names_);
  return {};
}

Result<void> CrashingDir::unlink(const std::string& name) {
  if (!names_.contains(name)) return fail(Errc::kNotFound, name_of(name));
  RETURN_IF_ERROR(change());
  names_.erase(name);
  history_.push_back(names_);
  return {};
}

Result<void> CrashingDir::sync_dir() {
  RETURN_IF_ERROR(change());
  history_ = {names_};
  return {};
}

}  // namespace offsetfs::tests
