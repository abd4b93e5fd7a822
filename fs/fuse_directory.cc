#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "fs/fuse_reply.h"

// OPENDIR, READDIR, READDIRPLUS and RELEASEDIR. A cookie is what the listing makes of it; the
// kernel hands back the one of the last name it passed on.

namespace offsetfs::fs {
namespace {

// The kernel asks for the names of one open directory in turn, but for a reader that was killed:
// its request may still be at work when the next one comes.
struct OpenDirectory {
  std::unique_ptr<FileSystem::Listing> listing;
  std::mutex one_at_a_time;
};

OpenDirectory* directory_of(const fuse_file_info* info) {
  return reinterpret_cast<OpenDirectory*>(static_cast<std::uintptr_t>(info->fh));
}

// The reply being filled: names until one does not fit.
class Reply {
 public:
  Reply(fuse_req_t req, std::size_t size) : req_(req), buffer_(storage()), size_(size) {
    if (buffer_.size() < size) buffer_.resize(size);
  }

  bool add(const FileSystem::Name& name) {
    char* const at = buffer_.data() + used_;
    const std::size_t room = size_ - used_;
    // NUL-terminated for libfuse.
    name_.assign(name.name);
    std::size_t needed = 0;
    if (name.entry != nullptr) {
      const fuse_entry_param param = to_fuse(*name.entry);
      needed = fuse_add_direntry_plus(req_, at, room, name_.c_str(), &param, name.cookie);
    } else {
      struct stat st {};
      st.st_ino = name.ino;
      st.st_mode = name.type;
      needed = fuse_add_direntry(req_, at, room, name_.c_str(), &st, name.cookie);
    }
    if (needed > room) return false;
    used_ += needed;
    if (name.entry != nullptr && name.entry->ino != 0) counted_.push_back(name.entry->ino);
    return true;
  }

  bool empty() const { return used_ == 0; }

  void send(FileSystem& file_system) {
    if (fuse_reply_buf(req_, buffer_.data(), used_) != -ENOENT) return;
    for (const std::uint64_t ino : counted_) file_system.forget(ino, 1);  // nobody got them
  }

 private:
  static std::vector<char>& storage() {
    static thread_local std::vector<char> bytes;
    return bytes;
  }

  fuse_req_t req_;
  std::vector<char>& buffer_;
  const std::size_t size_;
  std::size_t used_ = 0;
  std::string name_;
  std::vector<std::uint64_t> counted_;
};

void list(fuse_req_t req, std::size_t size, off_t cookie, const fuse_file_info* info,
          bool with_attributes) {
  answer(req, [&](FileSystem& file_system) {
    Reply reply(req, size);
    const auto ended = [&] {
      OpenDirectory& directory = *directory_of(info);
      // Given back before the reply: behind that the directory may be closed and gone.
      const std::lock_guard lock(directory.one_at_a_time);
      return directory.listing->list(cookie, with_attributes,
                                     [&](const FileSystem::Name& name) { return reply.add(name); });
    }();
    // Names first: the error is met again by who asks for what follows them.
    if (!ended && reply.empty()) return reply_error(req, ended.error());
    reply.send(file_system);
  });
}

}  // namespace

void on_opendir(fuse_req_t req, fuse_ino_t ino, fuse_file_info* info) {
  answer(req, [&](FileSystem& file_system) {
    auto listing = file_system.open_directory(ino);
    if (!listing) return reply_error(req, listing.error());
    auto directory = std::make_unique<OpenDirectory>();
    directory->listing = std::move(*listing);
    info->fh = reinterpret_cast<std::uintptr_t>(directory.get());
    if (fuse_reply_open(req, info) == 0) directory.release();  // NOLINT: RELEASEDIR deletes it
  });
}

void on_readdir(fuse_req_t req, fuse_ino_t, std::size_t size, off_t cookie, fuse_file_info* info) {
  list(req, size, cookie, info, false);
}

void on_readdirplus(fuse_req_t req, fuse_ino_t, std::size_t size, off_t cookie,
                    fuse_file_info* info) {
  list(req, size, cookie, info, true);
}

void on_releasedir(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  const std::unique_ptr<OpenDirectory> directory(directory_of(info));
  fuse_reply_err(req, 0);
}

}  // namespace offsetfs::fs
