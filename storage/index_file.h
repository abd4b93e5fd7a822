#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/file.h"
#include "storage/mutex.h"
#include "storage/result.h"

namespace offsetfs::storage {

// A file of fixed-width entries that ascend, then perhaps padding: what an offset index and a time
// index have in common. Knows nothing of what an entry says.
//
// The file is searched in blocks of about 4 KiB. The first entry of each block that was met is
// remembered, so that a warm search reads one block. What is remembered may grow old (an active
// segment's index is appended to in its padding): a search that meets a contradiction in the block
// it reads forgets everything and begins again. Nothing here trusts the entries to ascend: on
// garbage a search answers with some entry, after O(log n) reads. Any thread.
class IndexFile {
 public:
  static constexpr std::size_t kMostEntryBytes = 16;

  using Entry = std::array<char, kMostEntryBytes>;
  // True for a front part of the entries, false for the rest. Must be false for padding.
  using Holds = std::function<bool(const char* entry)>;

  IndexFile(std::unique_ptr<const File> file, std::size_t entry_bytes);

  // The last entry for which `holds` is true; nothing if there is none.
  // `following` gets the entries behind it, as many as were read along: at most two, perhaps none.
  using Following = std::array<std::optional<Entry>, 2>;
  Result<std::optional<Entry>> last_where(const Holds& holds, Following* following = nullptr) const;
  // Calls `visit` with each whole entry from the front until it returns false.
  Result<void> for_each(const std::function<bool(const char* entry)>& visit) const;

  const File& file() const { return *file_; }

 private:
  static constexpr std::size_t kBlockBytes = 4096;
  struct Block {
    std::int64_t number = -1;
    std::size_t entries = 0;  // whole ones, as many as the file had
    std::array<char, kBlockBytes> bytes;
  };

  Result<bool> search(const Holds& holds, std::optional<Entry>& found, Following* following) const;
  Result<std::int64_t> last_block_where(const Holds& holds, std::int64_t blocks,
                                        Block& block) const;
  Result<bool> is_outdated(const Block& block, std::size_t holding, std::int64_t blocks) const;
  const char* entry(const Block& block, std::size_t index) const;

  Result<void> read(std::int64_t number, Block& block) const;
  Result<std::int64_t> measured_blocks(bool again) const EXCLUDES(mutex_);
  void forget() const EXCLUDES(mutex_);
  bool recall(std::int64_t block, Entry& first) const EXCLUDES(mutex_);
  void remember(std::int64_t block, const char* first) const EXCLUDES(mutex_);

  const std::unique_ptr<const File> file_;
  const std::size_t entry_bytes_;
  const std::size_t block_entries_;

  mutable Mutex mutex_;                                      // never held across I/O
  mutable std::int64_t blocks_ GUARDED_BY(mutex_) = 0;       // 0: not measured, or empty
  mutable std::vector<char> firsts_ GUARDED_BY(mutex_);      // blocks_ * entry_bytes_
  mutable std::vector<bool> remembered_ GUARDED_BY(mutex_);  // which of them are known
};

// All the entries that `index` visits. kTooLarge beyond its kMostEntries.
template <class Entry, class Index>
Result<std::vector<Entry>> all_entries(const Index& index) {
  std::vector<Entry> all;
  bool too_many = false;
  RETURN_IF_ERROR(index.for_each([&](const Entry& entry) {
    too_many = all.size() == Index::kMostEntries;
    if (!too_many) all.push_back(entry);
    return !too_many;
  }));
  if (too_many) {
    return fail(Errc::kTooLarge, index.file().name() + ": more than " +
                                     std::to_string(Index::kMostEntries) + " entries");
  }
  return all;
}

}  // namespace offsetfs::storage
