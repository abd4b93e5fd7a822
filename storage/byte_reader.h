#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "storage/units.h"

// Fixed-width integers as Kafka lays them out: big-endian, two's complement.

namespace offsetfs::storage {

template <std::integral T>
constexpr T swap_bytes(T value) {
  if constexpr (sizeof(T) == 1) {
    return value;
  } else if constexpr (sizeof(T) == 2) {
    return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(value)));
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(value)));
  } else {
    return static_cast<T>(__builtin_bswap64(static_cast<std::uint64_t>(value)));
  }
}

// Precondition of both: sizeof(T) bytes at `at`, at any alignment. The caller has checked that.
template <std::integral T>
T load_big_endian(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return std::endian::native == std::endian::little ? swap_bytes(value) : value;
}
template <std::integral T>
void store_big_endian(char* at, T value) {
  if constexpr (std::endian::native == std::endian::little) value = swap_bytes(value);
  std::memcpy(at, &value, sizeof value);
}

// A cursor that never leaves its bytes. The first read past the end makes it fail for good: that
// read and all later ones give 0 or nothing, and ok() is false. So a caller may read a whole
// structure and ask once.
class ByteReader {
 public:
  explicit ByteReader(Bytes bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }
  Bytes rest() const { return bytes_.substr(position_); }

  template <std::integral T>
  T read() {
    if (!has(sizeof(T))) return T{};
    const T value = load_big_endian<T>(bytes_.data() + position_);
    position_ += sizeof(T);
    return value;
  }
  std::int8_t i8() { return read<std::int8_t>(); }
  std::int16_t i16() { return read<std::int16_t>(); }
  std::int32_t i32() { return read<std::int32_t>(); }
  std::int64_t i64() { return read<std::int64_t>(); }
  std::uint32_t u32() { return read<std::uint32_t>(); }

  // A negative count fails, as one beyond the end does.
  Bytes bytes(std::int64_t count) {
    if (count < 0 || !has(static_cast<std::uint64_t>(count))) {
      ok_ = false;
      return {};
    }
    const Bytes taken = bytes_.substr(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    return taken;
  }
  void skip(std::int64_t count) { (void)bytes(count); }

 private:
  bool has(std::uint64_t count) {
    if (ok_ && count <= remaining()) return true;
    ok_ = false;
    return false;
  }

  Bytes bytes_;
  std::size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace offsetfs::storage
