#include "storage/index_writer.h"

#include <array>
#include <utility>

#include "storage/byte_reader.h"

namespace offsetfs::storage {
namespace {

constexpr std::size_t kCollectedBytes = 48 << 10;

}  // namespace

Result<IndexWriter> IndexWriter::open(std::unique_ptr<WriteFile> file, std::int64_t entry_bytes,
                                      std::int64_t preallocated_bytes, std::int64_t entries) {
  IndexWriter index;
  index.file_ = std::move(file);
  index.entry_bytes_ = entry_bytes;
  index.slots_ = preallocated_bytes / entry_bytes;
  index.entries_ = entries;
  // Cut first: entries of a time before a crash must not stand behind the genuine ones.
  RETURN_IF_ERROR(index.file_->truncate(entries * entry_bytes));
  if (index.slots_ > entries) RETURN_IF_ERROR(index.file_->truncate(index.slots_ * entry_bytes));
  return index;
}

Result<void> IndexWriter::append(Bytes entry) {
  if (collecting_) {
    collected_ += entry;
    ++entries_;
    return collected_.size() < kCollectedBytes ? Result<void>{} : write_collected();
  }
  RETURN_IF_ERROR(file_->write_at({entries_ * entry_bytes_}, entry));
  ++entries_;
  return {};
}

Result<void> IndexWriter::write_collected() {
  const Position at{entries_ * entry_bytes_ - static_cast<std::int64_t>(collected_.size())};
  RETURN_IF_ERROR(file_->write_at(at, collected_));
  collected_.clear();
  return {};
}

Result<void> IndexWriter::trim() {
  if (!collected_.empty()) RETURN_IF_ERROR(write_collected());
  return file_->truncate(entries_ * entry_bytes_);
}

SegmentIndexes::SegmentIndexes(Offset base_offset, std::int64_t interval_bytes,
                               IndexWriter offset_index, IndexWriter time_index, State state)
    : base_offset_(base_offset),
      interval_bytes_(interval_bytes),
      offset_index_(std::move(offset_index)),
      time_index_(std::move(time_index)),
      state_(state) {}

bool SegmentIndexes::is_full() const {
  return (offset_index_.slots() > 0 && offset_index_.entries() >= offset_index_.slots()) ||
         (time_index_.slots() > 0 && time_index_.entries() >= time_index_.slots() - 1);
}

Result<void> SegmentIndexes::add(const BatchHeader& header, Position position) {
  const State before = state_;
  if (header.max_timestamp > state_.max_timestamp) {
    state_.max_timestamp = header.max_timestamp;
    state_.offset_of_max_timestamp = header.last_offset;
  }
  if (state_.bytes_since_entry > interval_bytes_) {
    std::array<char, 8> entry;
    store_big_endian(entry.data(), static_cast<std::int32_t>(header.last_offset - base_offset_));
    store_big_endian(entry.data() + 4, static_cast<std::int32_t>(position.value));
    auto added = offset_index_.append({entry.data(), entry.size()});
    if (added) {
      ++state_.offset_entries;
      added = add_time_entry(1);
    }
    if (!added) {
      take_back(before);
      return added;
    }
    state_.bytes_since_entry = 0;
  }
  state_.bytes_since_entry += header.size_bytes;
  return {};
}

void SegmentIndexes::take_back(const State& state) {
  state_ = state;
  offset_index_.set_entries(state.offset_entries);
  time_index_.set_entries(state.time_entries);
}

Result<void> SegmentIndexes::add_time_entry(std::int64_t slots_kept) {
  if (state_.max_timestamp <= state_.last_time_entry) return {};
  if (time_index_.slots() > 0 && time_index_.entries() >= time_index_.slots() - slots_kept)
    return {};
  std::array<char, 12> entry;
  store_big_endian(entry.data(), state_.max_timestamp.value);
  store_big_endian(entry.data() + 8,
                   static_cast<std::int32_t>(state_.offset_of_max_timestamp - base_offset_));
  RETURN_IF_ERROR(time_index_.append({entry.data(), entry.size()}));
  ++state_.time_entries;
  state_.last_time_entry = state_.max_timestamp;
  return {};
}

Result<void> SegmentIndexes::seal() {
  RETURN_IF_ERROR(add_time_entry(0));
  RETURN_IF_ERROR(offset_index_.trim());
  return time_index_.trim();
}

Result<void> SegmentIndexes::sync() {
  RETURN_IF_ERROR(offset_index_.sync());
  return time_index_.sync();
}

}  // namespace offsetfs::storage
