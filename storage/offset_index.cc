#include "storage/offset_index.h"

#include <limits>
#include <utility>

#include "storage/byte_reader.h"

namespace offsetfs::storage {
namespace {

struct RawEntry {
  std::int32_t relative_offset;
  std::int32_t position;

  static RawEntry at(const char* bytes) {
    return {load_big_endian<std::int32_t>(bytes), load_big_endian<std::int32_t>(bytes + 4)};
  }
  // The first batch of a segment never gets an entry, so neither field is 0 in a genuine one: this
  // tells them from the padding (and from garbage).
  bool is_genuine() const { return relative_offset > 0 && position > 0; }
};

constexpr std::size_t kEntryBytes = 8;

}  // namespace

OffsetIndex::OffsetIndex(std::unique_ptr<const File> file, Offset base_offset)
    : index_(std::move(file), kEntryBytes), base_offset_(base_offset) {}

Result<std::optional<OffsetPosition>> OffsetIndex::lookup(Offset target, Position limit) const {
  ASSIGN_OR_RETURN(const Around around, lookup_around(target, limit));
  return around.entry;
}

Result<OffsetIndex::Around> OffsetIndex::lookup_around(Offset target, Position limit) const {
  Around around;
  if (target <= base_offset_) return around;
  const std::int64_t relative_target = target - base_offset_;
  IndexFile::Following following;
  ASSIGN_OR_RETURN(const auto found, index_.last_where(
                                         [&](const char* bytes) {
                                           const auto entry = RawEntry::at(bytes);
                                           return entry.is_genuine() &&
                                                  entry.relative_offset <= relative_target &&
                                                  entry.position < limit.value;
                                         },
                                         &following));
  RawEntry last{0, 0};
  const auto take = [&](const auto& bytes, std::optional<OffsetPosition>& to) {
    if (!bytes) return false;
    const auto entry = RawEntry::at(bytes->data());
    if (entry.relative_offset <= last.relative_offset || entry.position <= last.position ||
        entry.position >= limit.value ||
        entry.relative_offset > std::numeric_limits<std::int64_t>::max() - base_offset_.value) {
      return false;
    }
    last = entry;
    to = OffsetPosition{base_offset_ + entry.relative_offset, Position{entry.position}};
    return true;
  };
  take(found, around.entry);
  if (take(following[0], around.next)) take(following[1], around.after_next);
  return around;
}

Result<std::optional<OffsetPosition>> OffsetIndex::lookup_position(Position before) const {
  return lookup(Offset{std::numeric_limits<std::int64_t>::max()}, before);
}

Result<void> OffsetIndex::for_each(const std::function<bool(const OffsetPosition&)>& visit) const {
  RawEntry last{0, 0};
  return index_.for_each([&](const char* bytes) {
    const auto entry = RawEntry::at(bytes);
    // An offset that no Java long holds is as impossible as one that does not ascend.
    Offset offset;
    if (entry.relative_offset <= last.relative_offset || entry.position <= last.position ||
        __builtin_add_overflow(base_offset_.value, entry.relative_offset, &offset.value)) {
      return false;
    }
    last = entry;
    return visit({offset, Position{entry.position}});
  });
}

Result<std::vector<OffsetPosition>> OffsetIndex::entries() const {
  return all_entries<OffsetPosition>(*this);
}

}  // namespace offsetfs::storage
