#include "storage/guarded_file.h"

#include <cstring>
#include <utility>
#include <vector>

namespace offsetfs::storage {
namespace {

class GuardedFile final : public File {
 public:
  GuardedFile(std::unique_ptr<File> file, std::shared_ptr<const SourceGuard> guard)
      : File(file->name()), file_(std::move(file)), guard_(std::move(guard)) {}
  ~GuardedFile() override {
    // A close may hang as a read may.
    guard_->leave_to_itself([file = std::move(file_)]() mutable { file.reset(); });
  }
  GuardedFile(const GuardedFile&) = delete;
  GuardedFile& operator=(const GuardedFile&) = delete;

  Result<std::size_t> read_at(Position position, std::span<char> buffer) const override {
    Read read{position, buffer};
    RETURN_IF_ERROR(read_many({&read, 1}));
    return read.bytes_read;
  }

  Result<void> read_many(std::span<Read> reads) const override {
    struct Copies {
      std::vector<std::vector<char>> buffers;
      std::vector<Read> reads;
    };
    const auto copies = std::make_shared<Copies>();
    copies->buffers.reserve(reads.size());
    for (const Read& read : reads) {
      auto& buffer = copies->buffers.emplace_back(read.buffer.size());
      copies->reads.push_back({read.position, buffer});
    }
    RETURN_IF_ERROR(guard_->get<void>(
        [file = file_, copies]() -> Result<void> { return file->read_many(copies->reads); }));
    for (std::size_t i = 0; i < reads.size(); ++i) {
      reads[i].bytes_read = copies->reads[i].bytes_read;
      if (reads[i].bytes_read > 0)
        std::memcpy(reads[i].buffer.data(), copies->buffers[i].data(), reads[i].bytes_read);
    }
    return {};
  }

  Result<FileInfo> info() const override {
    return guard_->get<FileInfo>([file = file_] { return file->info(); });
  }

 private:
  std::shared_ptr<const File> file_;
  const std::shared_ptr<const SourceGuard> guard_;
};

}  // namespace

std::unique_ptr<File> guarded(std::unique_ptr<File> file,
                              std::shared_ptr<const SourceGuard> guard) {
  return std::make_unique<GuardedFile>(std::move(file), std::move(guard));
}

}  // namespace offsetfs::storage
