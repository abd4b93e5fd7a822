#include "storage/record.h"

#include "storage/check.h"
#include "storage/varint.h"

namespace offsetfs::storage {
namespace {

// Whoever made the view has checked it: a field that doesn't fit is a fault of our own.
std::int32_t take_length(Bytes& encoded) {
  std::int32_t length = 0;
  const char* at = decode_varint(encoded.data(), encoded.data() + encoded.size(), length);
  CHECK(at != nullptr);
  encoded.remove_prefix(static_cast<std::size_t>(at - encoded.data()));
  CHECK(length <= static_cast<std::int64_t>(encoded.size()));
  return length;
}

Bytes take_bytes(Bytes& encoded, std::int32_t length) {
  CHECK(length >= 0);
  const Bytes taken = encoded.substr(0, static_cast<std::size_t>(length));
  encoded.remove_prefix(taken.size());
  return taken;
}

}  // namespace

RecordHeader RecordHeaders::pop_front() {
  CHECK(count_ > 0);
  --count_;
  RecordHeader header;
  header.key = take_bytes(encoded_, take_length(encoded_));
  const std::int32_t value_length = take_length(encoded_);
  if (value_length >= 0) header.value = take_bytes(encoded_, value_length);
  return header;
}

}  // namespace offsetfs::storage
