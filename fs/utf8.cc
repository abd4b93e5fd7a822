#include "fs/utf8.h"

#include <algorithm>
#include <cstdint>

#include <simdjson.h>

namespace offsetfs::fs {
namespace {

// By the first byte: the length, and what the second byte may be (RFC 3629, section 4).
struct Lead {
  std::size_t bytes;
  std::uint8_t second_least;
  std::uint8_t second_most;
};

Lead lead_of(std::uint8_t first) {
  if (first < 0x80) return {1, 0, 0};
  if (first < 0xc2) return {0, 0, 0};
  if (first < 0xe0) return {2, 0x80, 0xbf};
  if (first == 0xe0) return {3, 0xa0, 0xbf};
  if (first == 0xed) return {3, 0x80, 0x9f};
  if (first < 0xf0) return {3, 0x80, 0xbf};
  if (first == 0xf0) return {4, 0x90, 0xbf};
  if (first < 0xf4) return {4, 0x80, 0xbf};
  if (first == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

}  // namespace

bool is_utf8(storage::Bytes bytes) { return simdjson::validate_utf8(bytes.data(), bytes.size()); }

std::size_t utf8_sequence_bytes(storage::Bytes bytes) {
  if (bytes.empty()) return 0;
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const Lead lead = lead_of(at(0));
  if (lead.bytes <= 1) return lead.bytes;
  if (bytes.size() < lead.bytes) return 0;
  if (at(1) < lead.second_least || at(1) > lead.second_most) return 0;
  for (std::size_t i = 2; i < lead.bytes; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  return lead.bytes;
}

std::string to_utf8(storage::Bytes bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t sequence = utf8_sequence_bytes(bytes);
    sequence == 0 ? text.append("\xef\xbf\xbd") : text.append(bytes.substr(0, sequence));
    bytes.remove_prefix(std::max<std::size_t>(sequence, 1));
  }
  return text;
}

}  // namespace offsetfs::fs
