#include "storage/varint.h"

#include <bit>

namespace offsetfs::storage {

template <class Unsigned>
const char* decode_long_varint(const char* at, const char* end, Unsigned& value) {
  constexpr unsigned kBits = sizeof(Unsigned) * 8;
  Unsigned sum = 0;
  for (unsigned shift = 0; shift < kBits; shift += 7) {
    if (at == end) return nullptr;
    const auto byte = static_cast<unsigned char>(*at++);
    sum |= static_cast<Unsigned>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      value = sum;
      return at;
    }
  }
  return nullptr;
}

template const char* decode_long_varint(const char*, const char*, std::uint32_t&);
template const char* decode_long_varint(const char*, const char*, std::uint64_t&);

namespace {

template <class Unsigned>
void append_raw(std::string& out, Unsigned value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

std::uint32_t zigzag(std::int32_t value) {
  return (static_cast<std::uint32_t>(value) << 1) ^ static_cast<std::uint32_t>(value >> 31);
}
std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

template <class Unsigned>
std::size_t raw_bytes(Unsigned value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1U)) + 6) / 7;
}

}  // namespace

void append_uvarint(std::string& out, std::uint32_t value) { append_raw(out, value); }
void append_varint(std::string& out, std::int32_t value) { append_raw(out, zigzag(value)); }
void append_varlong(std::string& out, std::int64_t value) { append_raw(out, zigzag(value)); }

std::size_t varint_bytes(std::int32_t value) { return raw_bytes(zigzag(value)); }
std::size_t varlong_bytes(std::int64_t value) { return raw_bytes(zigzag(value)); }

}  // namespace offsetfs::storage
