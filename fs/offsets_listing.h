#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "fs/directory_listing.h"
#include "fs/offset_cursor.h"
#include "fs/partitions.h"

namespace offsetfs::fs {

// `offsets/`: the plain names of the visible records, in offset order, as a stream: O(1) memory on
// any size. The cookie of N is N + 1 and means "what lies at or after N + 1", so a listing goes on
// rightly whatever was appended or deleted meanwhile, and seekdir finds any place at once.
//
// kIo with EFBIG after `limit` names if there are more (a seek begins a new count), and kCorrupt
// behind the last name if damage was passed over: never silently short.
class OffsetsListing : public DirectoryListing {
 public:
  OffsetsListing(std::shared_ptr<const PartitionView> view, std::int64_t limit, bool show_control);

  storage::Result<void> list(std::int64_t cookie, bool with_facts,
                             const ListedNameSink& sink) override;

 private:
  class BatchFacts;

  std::int64_t given_before(std::int64_t cookie) const;
  // False: the sink had enough.
  storage::Result<bool> give(const OffsetCursor::Batch& batch, storage::Offset from,
                             bool with_facts, const ListedNameSink& sink);
  storage::Result<bool> give_one(storage::Offset offset, const NodeFacts* facts,
                                 const ListedNameSink& sink);

  const std::shared_ptr<const PartitionView> view_;
  const std::int64_t limit_;
  OffsetCursor cursor_;
  Node node_;  // of the name at hand

  // The names of the last reply and how many came before it: the kernel may pass on only some of
  // them and ask for the rest again.
  std::vector<storage::Offset> given_;
  std::int64_t given_before_ = 0;
};

}  // namespace offsetfs::fs
