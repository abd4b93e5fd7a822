#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "storage/file.h"
#include "storage/index_file.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::storage {

struct OffsetPosition {
  Offset offset{};
  Position position{};
  friend bool operator==(const OffsetPosition&, const OffsetPosition&) = default;
};

// The sparse map offset -> position beside a segment (`<base offset>.index`).
//
//   file  := entry* zero*      big-endian; no header, no checksum
//   entry := relative_offset: i32 (offset - base offset)   position: i32
//
// What an entry (O, P) says: P is a batch boundary, and every batch before P has last_offset < O.
// The tail of a preallocated file is zeros: space, not entries; after a truncation it may hold
// stale entries that still ascend. So an entry is a hint, and its user checks it.
//
// lookup() is a binary search that reads the file in 4 KiB blocks and remembers the first entry of
// each block it met: a warm lookup costs one read. Any thread.
class OffsetIndex {
 public:
  // Takes the file. Never reads more than it must; a length that is no multiple of 8 ends at the
  // last whole entry.
  OffsetIndex(std::unique_ptr<const File> file, Offset base_offset);

  // The greatest entry with offset <= target and position < `limit`; nothing if there is none (the
  // scan then begins at the file's front).
  Result<std::optional<OffsetPosition>> lookup(Offset target, Position limit) const;
  // The same, with the entries behind it if they are genuine and were read along: by what an entry
  // says, the batch at `next` is most likely the one that holds the target, and ends at
  // `after_next`.
  struct Around {
    std::optional<OffsetPosition> entry;
    std::optional<OffsetPosition> next;
    std::optional<OffsetPosition> after_next;
  };
  Result<Around> lookup_around(Offset target, Position limit) const;
  // The greatest entry with position < `before`: where to step back to from an entry that lied.
  Result<std::optional<OffsetPosition>> lookup_position(Position before) const;
  // Every entry up to the first that does not ascend: what index.tsv shows. Reads the whole file.
  // kTooLarge beyond kMostEntries, which no index of a segment.index.bytes below 32 MiB reaches.
  static constexpr std::size_t kMostEntries = std::size_t{4} << 20;
  Result<std::vector<OffsetPosition>> entries() const;
  // The same one by one, in O(1) memory, until `visit` returns false.
  Result<void> for_each(const std::function<bool(const OffsetPosition&)>& visit) const;

  const File& file() const { return index_.file(); }

 private:
  const IndexFile index_;
  const Offset base_offset_;
};

}  // namespace offsetfs::storage
