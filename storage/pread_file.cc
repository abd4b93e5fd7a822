#include "storage/pread_file.h"

#include <cerrno>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "storage/file_info.h"
#include "storage/unique_fd.h"

namespace offsetfs::storage {
namespace {

class PreadFile final : public File {
 public:
  PreadFile(int fd, std::string name) : File(std::move(name)), fd_(fd) {}

  Result<std::size_t> read_at(Position position, std::span<char> buffer) const override {
    std::size_t done = 0;
    while (done < buffer.size()) {
      const auto at = position.value + static_cast<std::int64_t>(done);
      const ssize_t got = ::pread(fd_.get(), buffer.data() + done, buffer.size() - done, at);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail_errno(errno, name() + ": read at " + std::to_string(at));
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  Result<void> read_many(std::span<Read> reads) const override {
    for (auto& read : reads) {
      ASSIGN_OR_RETURN(read.bytes_read, read_at(read.position, read.buffer));
    }
    return {};
  }

  Result<FileInfo> info() const override {
    struct stat st {};
    if (::fstat(fd_.get(), &st) != 0) return fail_errno(errno, name());
    return to_file_info(st);
  }

 private:
  const UniqueFd fd_;
};

}  // namespace

std::unique_ptr<File> PreadBackend::adopt(int fd, std::string name) const {
  return std::make_unique<PreadFile>(fd, std::move(name));
}

}  // namespace offsetfs::storage
