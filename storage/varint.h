#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

// Variable-width integers: 7 bits a byte, low group first, the high bit says that more follow.
//
//   uv := unsigned, at most 5 bytes        vi := zigzag of 32 bits, at most 5 bytes
//                                          vl := zigzag of 64 bits, at most 10 bytes
//
// Zigzag maps 0, -1, 1, -2 to 0, 1, 2, 3. Kafka's records use vi and vl; its flexible schemas use
// uv. As in Kafka's reader, non-minimal forms are taken and bits beyond the width are dropped; a
// last allowed byte that says "more follow" is refused.
//
// Every decoder reads from [at, end), returns where the next field begins, and null if the bytes
// end too early or the number never does; then the out parameter holds nothing of use.
//
// Source: Kafka's ByteUtils.

namespace offsetfs::storage {

// A number and where the next field begins: null if there is none.
template <class Unsigned>
struct RawVarint {
  Unsigned value;
  const char* next;
};

// The rare long form, out of line so that the common one stays small enough to be inlined.
template <class Unsigned>
RawVarint<Unsigned> decode_long_varint(const char* at, const char* end);

template <class Unsigned>
inline RawVarint<Unsigned> decode_raw_varint(const char* at, const char* end) {
  if (at == end) [[unlikely]]
    return {0, nullptr};
  const auto first = static_cast<unsigned char>(*at);
  if (first < 0x80) [[likely]]
    return {first, at + 1};
  if (end - at < 2) [[unlikely]]
    return {0, nullptr};
  const auto second = static_cast<unsigned char>(at[1]);
  if (second < 0x80) [[likely]]
    return {static_cast<Unsigned>(first & 0x7f) | static_cast<Unsigned>(second) << 7, at + 2};
  return decode_long_varint<Unsigned>(at, end);
}

inline const char* decode_uvarint(const char* at, const char* end, std::uint32_t& value) {
  const auto raw = decode_raw_varint<std::uint32_t>(at, end);
  value = raw.value;
  return raw.next;
}

inline const char* decode_varint(const char* at, const char* end, std::int32_t& value) {
  const auto raw = decode_raw_varint<std::uint32_t>(at, end);
  value = static_cast<std::int32_t>((raw.value >> 1) ^ (0U - (raw.value & 1)));
  return raw.next;
}

inline const char* decode_varlong(const char* at, const char* end, std::int64_t& value) {
  const auto raw = decode_raw_varint<std::uint64_t>(at, end);
  value = static_cast<std::int64_t>((raw.value >> 1) ^ (std::uint64_t{0} - (raw.value & 1)));
  return raw.next;
}

// Writes the minimal form and returns where the next field begins. Precondition: room for
// kMostVarintBytes or kMostVarlongBytes.
inline constexpr std::size_t kMostVarintBytes = 5;
inline constexpr std::size_t kMostVarlongBytes = 10;
template <class Unsigned>
inline char* put_raw_varint(char* at, Unsigned value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
  *at++ = static_cast<char>(value);
  return at;
}
inline std::uint32_t zigzag(std::int32_t value) {
  return (static_cast<std::uint32_t>(value) << 1) ^ static_cast<std::uint32_t>(value >> 31);
}
inline std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
inline char* put_varint(char* at, std::int32_t value) { return put_raw_varint(at, zigzag(value)); }
inline char* put_varlong(char* at, std::int64_t value) { return put_raw_varint(at, zigzag(value)); }

// Appends the minimal form.
void append_uvarint(std::string& out, std::uint32_t value);
void append_varint(std::string& out, std::int32_t value);
void append_varlong(std::string& out, std::int64_t value);

// How many bytes the minimal form takes.
inline std::size_t varint_bytes(std::int32_t value) {
  return (static_cast<std::size_t>(std::bit_width(zigzag(value) | 1U)) + 6) / 7;
}
inline std::size_t varlong_bytes(std::int64_t value) {
  return (static_cast<std::size_t>(std::bit_width(zigzag(value) | 1U)) + 6) / 7;
}

}  // namespace offsetfs::storage
