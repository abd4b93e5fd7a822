#include "storage/index_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "storage/check.h"

namespace offsetfs::storage {
namespace {

// Kafka's segment.index.bytes is an int; what a file has beyond that is no index.
constexpr std::int64_t kMostIndexBytes = std::numeric_limits<std::int32_t>::max();
// Of a larger file (80 MiB; an index is 10 MiB by default) nothing is remembered: it may be all
// holes, and many like it open at once.
constexpr std::int64_t kMostRememberedBlocks = 20480;

}  // namespace

IndexFile::IndexFile(std::unique_ptr<const File> file, std::size_t entry_bytes)
    : file_(std::move(file)), entry_bytes_(entry_bytes), block_entries_(kBlockBytes / entry_bytes) {
  CHECK(file_ != nullptr);
  CHECK(entry_bytes > 0 && entry_bytes <= kMostEntryBytes);
}

Result<std::optional<IndexFile::Entry>> IndexFile::last_where(const Holds& holds,
                                                              Following* following) const {
  // The second search starts from nothing but what it reads itself. What it finds odd as well is
  // not age but garbage, or a file being written to: its answer is as good a hint as any.
  std::optional<Entry> found;
  ASSIGN_OR_RETURN(const bool outdated, search(holds, found, following));
  if (outdated) {
    forget();
    found.reset();
    RETURN_IF_ERROR(search(holds, found, following));
  }
  return found;
}

// True if what was remembered does not agree with what the file holds now.
Result<bool> IndexFile::search(const Holds& holds, std::optional<Entry>& found,
                               Following* following) const {
  ASSIGN_OR_RETURN(const std::int64_t blocks, measured_blocks(false));
  if (blocks == 0) return false;
  Block block;
  ASSIGN_OR_RETURN(const std::int64_t number, last_block_where(holds, blocks, block));
  if (block.number != number) RETURN_IF_ERROR(read(number, block));

  std::size_t low = 0;
  std::size_t high = block.entries;
  while (low < high) {
    const auto middle = low + (high - low) / 2;
    holds(entry(block, middle)) ? low = middle + 1 : high = middle;
  }
  if (low > 0) {
    found.emplace();
    std::memcpy(found->data(), entry(block, low - 1), entry_bytes_);
  }
  for (std::size_t i = 0; following != nullptr && i < following->size(); ++i) {
    auto& behind = (*following)[i];
    behind.reset();
    if (low + i >= block.entries) continue;
    behind.emplace();
    std::memcpy(behind->data(), entry(block, low + i), entry_bytes_);
  }
  return is_outdated(block, low, blocks);
}

// The last block whose first entry holds, else 0. `block` is the last one that was read for it.
Result<std::int64_t> IndexFile::last_block_where(const Holds& holds, std::int64_t blocks,
                                                 Block& block) const {
  std::int64_t low = 0;  // holds, or is 0
  std::int64_t high = blocks;
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    Entry first;
    if (!recall(middle, first)) {
      RETURN_IF_ERROR(read(middle, block));
      if (block.entries == 0) {  // the file ends before: it was trimmed
        high = middle;
        continue;
      }
      std::memcpy(first.data(), entry(block, 0), entry_bytes_);
      remember(middle, first.data());
    }
    (holds(first.data()) ? low : high) = middle;
  }
  return low;
}

// `holding` entries of the block hold. If that is all of them, the answer may lie further on than
// memory says: in the next block, or in one that the file did not have.
Result<bool> IndexFile::is_outdated(const Block& block, std::size_t holding,
                                    std::int64_t blocks) const {
  Entry first;
  if (block.number > 0) {
    if (block.entries == 0) return true;
    if (recall(block.number, first) &&
        std::memcmp(first.data(), entry(block, 0), entry_bytes_) != 0) {
      return true;
    }
  }
  if (holding < block.entries || holding == 0) return false;
  const auto next_number = block.number + 1;
  if (next_number == blocks) {
    ASSIGN_OR_RETURN(const std::int64_t now, measured_blocks(true));
    return now > blocks;
  }
  if (!recall(next_number, first)) return false;
  Block next;
  RETURN_IF_ERROR(read(next_number, next));
  return next.entries == 0 || std::memcmp(first.data(), entry(next, 0), entry_bytes_) != 0;
}

Result<void> IndexFile::for_each(const std::function<bool(const char* entry)>& visit) const {
  Block block;
  do {
    RETURN_IF_ERROR(read(block.number + 1, block));
    for (std::size_t i = 0; i < block.entries; ++i) {
      if (!visit(entry(block, i))) return {};
    }
  } while (block.entries == block_entries_);
  return {};
}

const char* IndexFile::entry(const Block& block, std::size_t index) const {
  return block.bytes.data() + index * entry_bytes_;
}

Result<void> IndexFile::read(std::int64_t number, Block& block) const {
  const std::size_t size = block_entries_ * entry_bytes_;
  const Position position{number * static_cast<std::int64_t>(size)};
  ASSIGN_OR_RETURN(const std::size_t got,
                   file_->read_at(position, std::span(block.bytes).first(size)));
  block.number = number;
  block.entries = got / entry_bytes_;
  return {};
}

Result<std::int64_t> IndexFile::measured_blocks(bool again) const {
  if (!again) {
    const MutexLock lock(mutex_);
    if (blocks_ > 0) return blocks_;
  }
  ASSIGN_OR_RETURN(const FileInfo info, file_->info());
  const auto entries =
      static_cast<std::size_t>(std::min(info.size_bytes, kMostIndexBytes)) / entry_bytes_;
  const auto blocks = static_cast<std::int64_t>((entries + block_entries_ - 1) / block_entries_);
  const MutexLock lock(mutex_);
  blocks_ = blocks;
  const auto kept = static_cast<std::size_t>(blocks <= kMostRememberedBlocks ? blocks : 0);
  firsts_.resize(kept * entry_bytes_);
  remembered_.resize(kept);
  return blocks;
}

void IndexFile::forget() const {
  const MutexLock lock(mutex_);
  blocks_ = 0;
  firsts_.clear();
  remembered_.clear();
}

bool IndexFile::recall(std::int64_t block, Entry& first) const {
  const auto i = static_cast<std::size_t>(block);
  const MutexLock lock(mutex_);
  if (i >= remembered_.size() || !remembered_[i]) return false;
  std::memcpy(first.data(), firsts_.data() + i * entry_bytes_, entry_bytes_);
  return true;
}

void IndexFile::remember(std::int64_t block, const char* first) const {
  const auto i = static_cast<std::size_t>(block);
  const MutexLock lock(mutex_);
  if (i >= remembered_.size()) return;
  remembered_[i] = true;
  std::memcpy(firsts_.data() + i * entry_bytes_, first, entry_bytes_);
}

}  // namespace offsetfs::storage
