#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "storage/byte_reader.h"
#include "storage/units.h"
#include "storage/uuid.h"
#include "storage/varint.h"

namespace offsetfs::storage {

// A cursor over a structure in Kafka's flexible schema encoding:
//
//   string := uv (length + 1; 0 = null) bytes       array := uv (count + 1; 0 = null) element*
//   uuid   := 16 bytes                              struct := field* tags
//   tags   := uv count, count times (tag: uv  size: uv  payload), at the end of every struct
//
// Fails as ByteReader does: once, for good, and the caller asks at the end. A null string where one
// must be fails too.
// Source: Kafka's MessageDataGenerator.
class FlexibleReader {
 public:
  explicit FlexibleReader(Bytes bytes) : bytes_(bytes) {}

  bool ok() const { return ok_ && bytes_.ok(); }
  bool at_end() const { return bytes_.remaining() == 0; }

  std::int8_t i8() { return bytes_.i8(); }
  std::int16_t i16() { return bytes_.i16(); }
  std::int32_t i32() { return bytes_.i32(); }
  std::int64_t i64() { return bytes_.i64(); }
  Uuid uuid() {
    Uuid uuid;
    const Bytes bytes = bytes_.bytes(uuid.bytes.size());
    std::transform(bytes.begin(), bytes.end(), uuid.bytes.begin(),
                   [](char c) { return static_cast<std::uint8_t>(c); });
    return uuid;
  }

  std::uint32_t uvarint() {
    std::uint32_t value = 0;
    const Bytes rest = bytes_.rest();
    const char* next = decode_uvarint(rest.data(), rest.data() + rest.size(), value);
    if (next == nullptr) return fail(0U);
    bytes_.skip(next - rest.data());
    return value;
  }
  std::optional<Bytes> nullable_string() {
    const auto length = uvarint();
    if (length == 0) return std::nullopt;
    return bytes_.bytes(static_cast<std::int64_t>(length) - 1);
  }
  Bytes string() {
    const auto text = nullable_string();
    return text ? *text : fail(Bytes{});
  }

  // The tagged fields that end a struct: each as (tag, payload). Unknown ones are passed over by
  // whoever ignores them.
  void tags(const std::function<void(std::uint32_t tag, Bytes payload)>& visit = {}) {
    for (auto count = uvarint(); count > 0 && ok(); --count) {
      const auto tag = uvarint();
      const Bytes payload = bytes_.bytes(uvarint());
      if (ok() && visit) visit(tag, payload);
    }
  }

 private:
  template <class T>
  T fail(T value) {
    ok_ = false;
    return value;
  }

  ByteReader bytes_;
  bool ok_ = true;
};

}  // namespace offsetfs::storage
