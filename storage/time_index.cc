#include "storage/time_index.h"

#include <limits>
#include <utility>

#include "storage/byte_reader.h"

namespace offsetfs::storage {
namespace {

struct RawEntry {
  std::int64_t timestamp;
  std::int32_t relative_offset;

  static RawEntry at(const char* bytes) {
    return {load_big_endian<std::int64_t>(bytes), load_big_endian<std::int32_t>(bytes + 8)};
  }
  bool is_padding() const { return timestamp == 0 && relative_offset == 0; }
  // As an entry may follow `before`: timestamps ascend, offsets may stay.
  bool may_follow(const RawEntry& before) const {
    return timestamp > before.timestamp && relative_offset >= before.relative_offset;
  }
};

constexpr std::size_t kEntryBytes = 12;
constexpr RawEntry kBeforeTheFirst{-1, 0};

// Nothing for what cannot be an entry: a negative field, or an offset that no Java long holds.
std::optional<TimestampOffset> genuine(const RawEntry& entry, Offset base_offset) {
  Offset offset;
  if (entry.timestamp < 0 || entry.relative_offset < 0 ||
      __builtin_add_overflow(base_offset.value, entry.relative_offset, &offset.value)) {
    return std::nullopt;
  }
  return TimestampOffset{TimestampMs{entry.timestamp}, offset};
}

}  // namespace

TimeIndex::TimeIndex(std::unique_ptr<const File> file, Offset base_offset)
    : index_(std::move(file), kEntryBytes), base_offset_(base_offset) {}

Result<std::optional<TimestampOffset>> TimeIndex::lookup(TimestampMs target) const {
  ASSIGN_OR_RETURN(const auto found, index_.last_where([&](const char* bytes) {
    const auto entry = RawEntry::at(bytes);
    return !entry.is_padding() && genuine(entry, base_offset_) && entry.timestamp <= target.value;
  }));
  if (found) return genuine(RawEntry::at(found->data()), base_offset_);
  if (target.value >= 0) return zero_at_the_front();
  return std::nullopt;
}

Result<std::optional<TimestampOffset>> TimeIndex::last() const {
  return lookup(TimestampMs{std::numeric_limits<std::int64_t>::max()});
}

// (0, 0) is padding but in one place: a segment whose first record is of 1970 begins with it. There
// it is genuine if it is the whole file, or if a proper entry follows.
Result<std::optional<TimestampOffset>> TimeIndex::zero_at_the_front() const {
  std::optional<TimestampOffset> zero;
  RETURN_IF_ERROR(for_each([&](const TimestampOffset& entry) {
    if (entry.timestamp.value == 0 && entry.offset == base_offset_) zero = entry;
    return false;
  }));
  return zero;
}

Result<void> TimeIndex::for_each(const std::function<bool(const TimestampOffset&)>& visit) const {
  RawEntry last = kBeforeTheFirst;
  std::optional<TimestampOffset> zero;  // held back until what follows tells what it is
  bool stopped = false;
  RETURN_IF_ERROR(index_.for_each([&](const char* bytes) {
    const auto entry = RawEntry::at(bytes);
    const auto told = genuine(entry, base_offset_);
    if (!told || !entry.may_follow(last)) {
      zero.reset();
      return false;
    }
    last = entry;
    if (entry.is_padding()) {
      zero = told;
      return true;
    }
    stopped = (zero && !visit(*std::exchange(zero, std::nullopt))) || !visit(*told);
    return !stopped;
  }));
  if (zero && !stopped) visit(*zero);
  return {};
}

Result<std::vector<TimestampOffset>> TimeIndex::entries() const {
  return all_entries<TimestampOffset>(*this);
}

}  // namespace offsetfs::storage
