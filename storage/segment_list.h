#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/dir.h"
#include "storage/result.h"
#include "storage/segment_files.h"
#include "storage/units.h"

namespace offsetfs::storage {

// A segment as the directory lists it. Cheap: no file of it was opened.
struct SegmentEntry {
  Offset base_offset{};
  // That its `.log` bears in the directory. A live segment may bear kSwap: what it is called is its
  // base offset all the same.
  SegmentSuffix suffix = SegmentSuffix::kNone;
  std::uint8_t files = 0;    // bit 1 << SegmentFile: present in the directory
  std::uint8_t swapped = 0;  // of them, those that bear ".swap"
  // Tells files apart that had one name, one after the other: a segment that compaction replaced,
  // or that was truncated away and written anew. 0: the first of its name. Counted while the log
  // is open.
  std::uint32_t generation = 0;

  bool has(SegmentFile file) const { return (files >> static_cast<int>(file) & 1) != 0; }
  // The suffix of one file: a broker that died between two renames leaves a mixed set.
  SegmentSuffix suffix_of(SegmentFile file) const {
    if ((swapped >> static_cast<int>(file) & 1) != 0) return SegmentSuffix::kSwap;
    return suffix == SegmentSuffix::kSwap ? SegmentSuffix::kNone : suffix;
  }
  friend bool operator==(const SegmentEntry&, const SegmentEntry&) = default;
};

// What a broker would load from a partition directory, and what it would not.
struct SegmentList {
  // The log, by base offset. A replacement that waits to be renamed stands here, and what it
  // replaces does not.
  std::vector<SegmentEntry> live;
  // Doomed, unfinished or void: `.deleted`, `.cleaned`, and `.swap` of a split that was cut short.
  // By base offset, then suffix; each has its `.log`.
  std::vector<SegmentEntry> set_aside;
  // Files that a `.swap` replaces; a broker would delete them at its next start.
  std::vector<SegmentFileName> replaced;
  // Producer snapshots that count, of segment bases and others, ascending.
  std::vector<Offset> snapshots;
};

// The offset after the last batch of `<base_offset>.log.swap`; nothing if it holds none.
using NextOffsetOfSwap = std::function<std::optional<Offset>(Offset base_offset)>;

// Kafka's start-up resolution (LogLoader.load) done on names alone: nothing is touched.
//
//   1. `.deleted` and `.cleaned` are no part of the log; min_cleaned is the lowest `.cleaned`.
//   2. A `.swap` at or above min_cleaned is void: a split renames its results from the highest
//   down,
//      and one still `.cleaned` says that it did not get through.
//   3. The remaining `.log.swap` files cover [lowest base offset, highest next offset).
//   4. Files without suffix whose offset lies in there are replaced, snapshots included.
//   5. The remaining `.swap` files take their plain names, over what bore them.
//   6. Each `.log` is a segment; what lies beside no `.log` is nothing (snapshots apart).
SegmentList resolve_segments(std::vector<SegmentFileName> names,
                             const NextOffsetOfSwap& next_offset);

// The same for the directory `below`; only regular files count.
Result<SegmentList> list_segments(const SourceDir& dir, const std::string& below,
                                  const NextOffsetOfSwap& next_offset);

}  // namespace offsetfs::storage
