#include "storage/varint.h"

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
  char bytes[kMostVarlongBytes];
  out.append(bytes, put_raw_varint(bytes, value));
}

}  // namespace

void append_uvarint(std::string& out, std::uint32_t value) { append_raw(out, value); }
void append_varint(std::string& out, std::int32_t value) { append_raw(out, zigzag(value)); }
void append_varlong(std::string& out, std::int64_t value) { append_raw(out, zigzag(value)); }

}  // namespace offsetfs::storage
