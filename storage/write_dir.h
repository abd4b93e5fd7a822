#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/file.h"
#include "storage/result.h"
#include "storage/unique_fd.h"
#include "storage/units.h"

namespace offsetfs::storage {

// One open regular file that is written. What was written is durable after sync() and not before.
// One thread at a time. Nothing is mapped: on a full disk a store into a sparse mapping is a
// SIGBUS, while a write is an ENOSPC that can be answered.
class WriteFile {
 public:
  virtual ~WriteFile() = default;
  WriteFile(const WriteFile&) = delete;
  WriteFile& operator=(const WriteFile&) = delete;

  // All of `bytes`; after an error any part of them may have been written.
  virtual Result<void> write_at(Position position, Bytes bytes) = 0;
  // Cuts, or grows with zeros that take no room.
  virtual Result<void> truncate(std::int64_t size_bytes) = 0;
  virtual Result<void> sync() = 0;
  // False once the last of its names was removed: what is written then goes well, and nowhere.
  virtual bool has_name() const = 0;

  const std::string& name() const { return name_; }  // for messages

 protected:
  explicit WriteFile(std::string name) : name_(std::move(name)) {}

 private:
  const std::string name_;
};

// The seam to a directory that is ours to write: a partition directory or a log directory. Names
// are of files in it, no paths. What was created, renamed or unlinked is durable after sync_dir().
// Tests stand another one here, which loses power or has a full disk. Any thread.
class WriteDir {
 public:
  enum class Open {
    kExisting,  // kNotFound if absent
    kOrCreate,  // as it is, or empty
    kFresh,     // a new file, empty, whatever bore the name
  };

  virtual ~WriteDir() = default;
  virtual Result<std::unique_ptr<WriteFile>> open(const std::string& name, Open how) = 0;
  virtual Result<std::unique_ptr<File>> open_for_reading(const std::string& name) const = 0;
  virtual Result<FileInfo> info(const std::string& name) const = 0;       // kNotFound if absent
  virtual Result<std::vector<std::string>> list_files() const = 0;        // regular ones, in order
  virtual Result<std::vector<std::string>> list_directories() const = 0;  // in order
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> unlink(const std::string& name) = 0;  // kNotFound if absent
  virtual Result<void> set_mtime(const std::string& name, std::int64_t mtime_ns) = 0;
  virtual Result<void> sync_dir() = 0;
  virtual std::string name_of(const std::string& name) const = 0;  // for messages

  // The whole of a small file. kTooLarge beyond `limit_bytes`.
  Result<std::string> read_whole(const std::string& name, std::size_t limit_bytes) const;
  // All or nothing, whenever the power goes: NAME.tmp, fsync, rename, fsync of the directory.
  Result<void> replace(const std::string& name, Bytes content);
  // The same for content that was written under NAME.tmp already.
  Result<void> adopt_temporary(const std::string& name, WriteFile& temporary);
  // Absent is fine.
  Result<void> unlink_if_there(const std::string& name);
};

// A real directory. Holds one descriptor; no symbolic link below it is followed. What root makes in
// it belongs to the directory's owner (new_file.h).
class PosixWriteDir final : public WriteDir {
 public:
  // kNotFound, kIo; kInvalid if it is no directory.
  static Result<std::shared_ptr<PosixWriteDir>> open(const std::string& path,
                                                     std::shared_ptr<const IoBackend> io);

  // The directory `name` in this one; no symbolic link. kNotFound, kIo, kInvalid.
  Result<std::shared_ptr<PosixWriteDir>> open_below(const std::string& name) const;
  // The same, made if it is not there: durable after sync_dir().
  Result<std::shared_ptr<PosixWriteDir>> open_or_make_below(const std::string& name);

  Result<std::unique_ptr<WriteFile>> open(const std::string& name, Open how) override;
  Result<std::unique_ptr<File>> open_for_reading(const std::string& name) const override;
  Result<FileInfo> info(const std::string& name) const override;
  Result<std::vector<std::string>> list_files() const override;
  Result<std::vector<std::string>> list_directories() const override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> unlink(const std::string& name) override;
  Result<void> set_mtime(const std::string& name, std::int64_t mtime_ns) override;
  Result<void> sync_dir() override;
  std::string name_of(const std::string& name) const override { return path_ + "/" + name; }

 private:
  PosixWriteDir(UniqueFd fd, std::string path, std::shared_ptr<const IoBackend> io)
      : fd_(std::move(fd)), path_(std::move(path)), io_(std::move(io)) {}
  Result<UniqueFd> open_to_write(const std::string& name, Open how);
  Result<UniqueFd> make_anew(const std::string& name);
  Result<std::vector<std::string>> list(mode_t type) const;

  const UniqueFd fd_;
  const std::string path_;
  const std::shared_ptr<const IoBackend> io_;
};

}  // namespace offsetfs::storage
