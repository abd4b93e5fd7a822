#include "storage/transaction_index.h"

#include <array>
#include <utility>

#include "storage/byte_reader.h"

namespace offsetfs::storage {

TransactionIndex::TransactionIndex(std::unique_ptr<const File> file, Offset base_offset)
    : file_(std::move(file)), base_offset_(base_offset) {}

Result<void> TransactionIndex::for_each(
    const std::function<bool(const AbortedTransaction&)>& visit) const {
  constexpr std::size_t kPieceEntries = 120;  // about 4 KiB
  std::array<char, kPieceEntries * kEntryBytes> piece;
  Position position;
  const auto name_entry = [&] {
    return file_->name() + ": entry at " + std::to_string(position.value);
  };
  for (;;) {
    ASSIGN_OR_RETURN(const std::size_t got, file_->read_at(position, piece));
    ByteReader reader(Bytes(piece.data(), got - got % kEntryBytes));
    while (reader.remaining() > 0) {
      const auto version = reader.i16();
      AbortedTransaction entry;
      entry.producer_id = reader.i64();
      entry.first_offset = Offset{reader.i64()};
      entry.last_offset = Offset{reader.i64()};
      entry.last_stable_offset = Offset{reader.i64()};
      if (version > 0) {
        return fail(Errc::kUnsupported,
                    name_entry() + ": version " + std::to_string(version) + ", expected 0");
      }
      if (entry.last_offset < base_offset_) {
        return fail(Errc::kCorrupt, name_entry() + ": last offset " +
                                        std::to_string(entry.last_offset.value) +
                                        " lies before the segment's base offset " +
                                        std::to_string(base_offset_.value));
      }
      if (!visit(entry)) return {};
      position = position + static_cast<std::int64_t>(kEntryBytes);
    }
    if (got < piece.size()) return {};
  }
}

Result<std::vector<AbortedTransaction>> TransactionIndex::entries() const {
  std::vector<AbortedTransaction> all;
  bool too_many = false;
  RETURN_IF_ERROR(for_each([&](const AbortedTransaction& entry) {
    too_many = all.size() == kMostEntries;
    if (!too_many) all.push_back(entry);
    return !too_many;
  }));
  if (too_many) {
    return fail(Errc::kTooLarge,
                file_->name() + ": more than " + std::to_string(kMostEntries) + " entries");
  }
  return all;
}

}  // namespace offsetfs::storage
