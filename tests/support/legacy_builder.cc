#include "tests/support/legacy_builder.h"

#include <algorithm>

#include "storage/byte_reader.h"
#include "storage/codec.h"
#include "storage/crc32c.h"

namespace offsetfs::tests {
namespace {

constexpr std::uint8_t kLogAppendTimeBit = 8;

template <class T>
void append(std::string& out, T value) {
  out.append(sizeof value, '\0');
  storage::store_big_endian(out.data() + out.size() - sizeof value, value);
}

void append_nullable(std::string& out, const std::optional<std::string>& bytes) {
  append(out, bytes ? static_cast<std::int32_t>(bytes->size()) : std::int32_t{-1});
  if (bytes) out.append(*bytes);
}

}  // namespace

std::string legacy_message(int magic, std::int64_t offset, const LegacyRecord& record,
                           std::uint8_t attributes) {
  std::string summed;
  append(summed, static_cast<std::int8_t>(magic));
  append(summed, attributes);
  if (magic == 1) append(summed, record.timestamp);
  append_nullable(summed, record.key);
  append_nullable(summed, record.value);

  std::string entry;
  append(entry, offset);
  append(entry, static_cast<std::int32_t>(summed.size() + 4));
  append(entry, storage::crc32(summed));
  return entry + summed;
}

std::string legacy_wrapper(const LegacyWrapper& wrapper, std::int64_t offset,
                           std::int64_t timestamp, const std::string& inner) {
  LegacyRecord outer;
  outer.timestamp = timestamp;
  outer.value.emplace();
  storage::compress(
      wrapper.codec, inner, *outer.value,
      wrapper.magic == 0 ? storage::Lz4HeaderSum::kOldWrong : storage::Lz4HeaderSum::kRight);
  const auto codec = static_cast<std::uint8_t>(wrapper.codec);
  const auto attributes =
      static_cast<std::uint8_t>(codec | (wrapper.append_time ? kLogAppendTimeBit : 0));
  return legacy_message(wrapper.magic, offset, outer, attributes);
}

std::string legacy_batch(const LegacyWrapper& wrapper, const std::vector<LegacyRecord>& records) {
  const int inner_magic = wrapper.inner_magic >= 0 ? wrapper.inner_magic : wrapper.magic;
  std::int64_t inner_offset = wrapper.magic == 0 ? wrapper.first_offset : 0;
  std::int64_t largest = -1;
  std::string inner;
  for (const LegacyRecord& record : records) {
    inner += legacy_message(inner_magic, inner_offset++, record);
    largest = std::max(largest, record.timestamp);
  }
  const auto count = static_cast<std::int64_t>(records.size());
  const std::int64_t offset =
      wrapper.wrapper_offset >= 0 ? wrapper.wrapper_offset : wrapper.first_offset + count - 1;
  return legacy_wrapper(wrapper, offset, largest, inner);
}

}  // namespace offsetfs::tests
