#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "fs/open_file.h"
#include "storage/units.h"

namespace offsetfs::fs {

// The whole content of a file, in memory: bytes of its own, or a view into what it keeps alive.
class Content {
 public:
  explicit Content(std::string bytes) : own_(std::move(bytes)), bytes_(own_) {}
  Content(storage::Bytes bytes, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)), bytes_(bytes) {}
  Content(const Content&) = delete;  // the view may be into own_
  Content& operator=(const Content&) = delete;

  storage::Bytes bytes() const { return bytes_; }

 private:
  const std::string own_;
  const std::shared_ptr<const void> owner_;
  const storage::Bytes bytes_;
};

// An open file whose content is in memory.
class MemoryFile : public OpenFile {
 public:
  MemoryFile(std::shared_ptr<const Content> content, OpenFlags flags)
      : content_(std::move(content)), flags_(flags) {}

  storage::Result<storage::Bytes> read(std::uint64_t position, std::size_t size,
                                       std::string&) const override {
    const storage::Bytes bytes = content_->bytes();
    return bytes.substr(std::min<std::uint64_t>(position, bytes.size()), size);
  }
  OpenFlags flags() const override { return flags_; }

 private:
  const std::shared_ptr<const Content> content_;
  const OpenFlags flags_;
};

}  // namespace offsetfs::fs
