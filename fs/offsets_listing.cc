#include "fs/offsets_listing.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "fs/record_files.h"

namespace offsetfs::fs {

using storage::Errc;
using storage::Offset;
using storage::Result;

// The facts of a batch's records, met in ascending order. A batch that can't be decoded has none,
// and its names are listed without.
class OffsetsListing::BatchFacts {
 public:
  BatchFacts(const PartitionView& view, const OffsetCursor& cursor,
             const OffsetCursor::Batch& batch)
      : view_(view), batch_(batch) {
    auto decoded = cursor.decode();
    if (!decoded) return;
    decoded_ = std::move(*decoded);
    records_ = decoded_->records();
  }

  const NodeFacts* at(Offset offset) {
    if (decoded_ == nullptr) return nullptr;
    storage::Record record;
    while (records_->next(record) == storage::RecordReader::Step::kRecord) {
      if (record.offset < offset) continue;
      if (record.offset > offset) break;
      facts_ = plain_record_facts(view_, record, batch_.header, batch_.segment_base_offset);
      return &facts_;
    }
    decoded_ = nullptr;
    return nullptr;
  }

 private:
  const PartitionView& view_;
  const OffsetCursor::Batch& batch_;
  std::shared_ptr<const storage::DecodedBatch> decoded_;
  std::optional<storage::RecordReader> records_;
  NodeFacts facts_;
};

OffsetsListing::OffsetsListing(std::shared_ptr<const PartitionView> view, std::int64_t limit,
                               bool show_control)
    : view_(std::move(view)), limit_(limit), cursor_(view_->log, show_control) {
  node_.kind = NodeKind::kRecord;
  node_.partition = view_->id;
}

Result<void> OffsetsListing::list(std::int64_t cookie, bool with_facts,
                                  const ListedNameSink& sink) {
  ASSIGN_OR_RETURN(const storage::LogOffsets log, view_->log->offsets());
  given_before_ = given_before(cookie);
  given_.clear();
  Offset from = std::max(Offset{cookie}, log.log_start_offset);
  for (;;) {
    ASSIGN_OR_RETURN(const OffsetCursor::Batch* batch, cursor_.at_or_after(from));
    if (batch == nullptr) break;
    ASSIGN_OR_RETURN(const bool more, give(*batch, from, with_facts, sink));
    if (!more) return {};
    from = batch->header.next_offset();
  }
  if (cursor_.met_damage()) return storage::fail(Errc::kCorrupt, "damage was passed over");
  return {};
}

std::int64_t OffsetsListing::given_before(std::int64_t cookie) const {
  if (cookie == 0) return 0;
  const auto next = std::lower_bound(given_.begin(), given_.end(), Offset{cookie});
  const bool goes_on = next != given_.begin() && (*(next - 1) + 1).value == cookie;
  return goes_on ? given_before_ + (next - given_.begin()) : 0;
}

Result<bool> OffsetsListing::give(const OffsetCursor::Batch& batch, Offset from, bool with_facts,
                                  const ListedNameSink& sink) {
  std::optional<BatchFacts> facts;
  if (with_facts) facts.emplace(*view_, cursor_, batch);
  const auto give_with_facts = [&](Offset offset) {
    return give_one(offset, facts ? facts->at(offset) : nullptr, sink);
  };
  if (batch.dense) {
    for (Offset offset = std::max(from, batch.header.base_offset);
         offset <= batch.header.last_offset; offset = offset + 1) {
      ASSIGN_OR_RETURN(const bool more, give_with_facts(offset));
      if (!more) return false;
    }
    return true;
  }
  for (auto next = std::lower_bound(batch.offsets.begin(), batch.offsets.end(), from);
       next != batch.offsets.end(); ++next) {
    ASSIGN_OR_RETURN(const bool more, give_with_facts(*next));
    if (!more) return false;
  }
  return true;
}

Result<bool> OffsetsListing::give_one(Offset offset, const NodeFacts* facts,
                                      const ListedNameSink& sink) {
  if (given_before_ + static_cast<std::int64_t>(given_.size()) >= limit_)
    return storage::fail_errno(EFBIG, "more names than a listing may give");
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, offset.value);
  node_.number = offset.value;
  const std::string_view name(digits, static_cast<std::size_t>(end - digits));
  if (!sink({name, &node_, S_IFREG, offset.value + 1, facts})) return false;
  given_.push_back(offset);
  return true;
}

}  // namespace offsetfs::fs
