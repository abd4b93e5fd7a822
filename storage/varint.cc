#include "storage/varint.h"

namespace offsetfs::storage {

template <class Unsigned>
RawVarint<Unsigned> decode_long_varint(const char* at, const char* end) {
  constexpr unsigned kBits = sizeof(Unsigned) * 8;
  Unsigned sum = 0;
  for (unsigned shift = 0; shift < kBits && at != end; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    sum |= static_cast<Unsigned>(byte & 0x7f) << shift;
    if (byte < 0x80) return {sum, at};
  }
  return {0, nullptr};
}

template RawVarint<std::uint32_t> decode_long_varint(const char*, const char*);
template RawVarint<std::uint64_t> decode_long_varint(const char*, const char*);

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
