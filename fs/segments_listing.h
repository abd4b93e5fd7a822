#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "fs/directory_listing.h"
#include "fs/partitions.h"
#include "storage/partition_log.h"

namespace offsetfs::fs {

// `segments/` and `time/`: a name a segment, in base-offset order, then in segments/ those that are
// part of no other view. A stream too, since a segment's time must be looked up in its file. The
// cookie is the base offset + 1, of the others a number above every offset, so a listing goes on
// rightly when segments come and go.
class SegmentsListing : public DirectoryListing {
 public:
  explicit SegmentsListing(std::shared_ptr<const PartitionView> view) : view_(std::move(view)) {}

  storage::Result<void> list(std::int64_t cookie, bool with_facts,
                             const ListedNameSink& sink) override;

 private:
  const std::shared_ptr<const PartitionView> view_;
};

// The time of the first record of each segment that has one. What can't be read has no name here.
class TimesListing : public DirectoryListing {
 public:
  explicit TimesListing(std::shared_ptr<const PartitionView> view) : view_(std::move(view)) {}

  storage::Result<void> list(std::int64_t cookie, bool with_facts,
                             const ListedNameSink& sink) override;

 private:
  const std::shared_ptr<const PartitionView> view_;
};

}  // namespace offsetfs::fs
