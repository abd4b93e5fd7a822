#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "storage/write_dir.h"

namespace offsetfs::tests {

// A WriteDir in memory whose machine can lose power. What was not synced then is kept, dropped,
// reordered or torn at random, sector by sector; of the names only the first few changes since the
// last sync_dir() have happened. A write can be made to fail half way, as on a full disk.
class CrashingDir final : public storage::WriteDir {
 public:
  static constexpr std::int64_t kSector = 512;

  explicit CrashingDir(std::uint64_t seed) : random_(seed) {}

  void cut_power();  // handles that are open then write to nothing
  // The machine stops after so many more changes: all that follow fail with EIO, up to cut_power().
  void stop_after(int changes) { changes_left_ = changes; }
  // Writes fail with `sys_errno` once so many more bytes were taken; -1: never.
  void fail_after(std::int64_t bytes, int sys_errno);
  // All writes since have nothing to do with the disk; for tests that damage.
  std::string& content(const std::string& name);
  std::map<std::string, std::string> contents() const;

  storage::Result<std::unique_ptr<storage::WriteFile>> open(const std::string& name,
                                                            Open how) override;
  storage::Result<std::unique_ptr<storage::File>> open_for_reading(
      const std::string& name) const override;
  storage::Result<storage::FileInfo> info(const std::string& name) const override;
  storage::Result<std::vector<std::string>> list_files() const override;
  storage::Result<std::vector<std::string>> list_directories() const override { return {}; }
  storage::Result<void> rename(const std::string& from, const std::string& to) override;
  storage::Result<void> unlink(const std::string& name) override;
  storage::Result<void> set_mtime(const std::string&, std::int64_t) override { return change(); }
  storage::Result<void> sync_dir() override;
  std::string name_of(const std::string& name) const override { return "memory/" + name; }

 private:
  struct Inode {
    std::string now, synced;
  };
  using Names = std::map<std::string, std::shared_ptr<Inode>>;
  class Handle;

  storage::Result<void> change();
  std::string after_power_cut(const Inode& inode);

  std::mt19937_64 random_;
  Names names_;
  std::vector<Names> history_ = {{}};  // since the last sync_dir(), that first
  std::int64_t bytes_left_ = -1;
  int changes_left_ = -1;
  int sys_errno_ = 0;
};

}  // namespace offsetfs::tests
