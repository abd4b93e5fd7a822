#include "storage/uuid.h"

#include <random>

namespace offsetfs::storage {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t kTextChars = 22;
constexpr std::uint32_t kSixBits = 0x3f;

}  // namespace

std::string Uuid::to_string() const {
  std::string text;
  std::uint32_t bits = 0;
  int pending = 0;  // bits not yet written
  for (const auto byte : bytes) {
    bits = bits << 8 | byte;
    for (pending += 8; pending >= 6; pending -= 6) {
      text += kDigits[bits >> (pending - 6) & kSixBits];
    }
  }
  text += kDigits[bits << (6 - pending) & kSixBits];
  return text;
}

std::optional<Uuid> parse_uuid(std::string_view text) {
  if (text.size() == kTextChars + 2 && text.ends_with("==")) text.remove_suffix(2);
  if (text.size() != kTextChars) return std::nullopt;
  Uuid uuid;
  std::size_t next = 0;
  std::uint32_t bits = 0;
  int pending = 0;
  for (const char c : text) {
    const auto digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    pending += 6;
    if (pending < 8) continue;
    pending -= 8;
    uuid.bytes[next++] = static_cast<std::uint8_t>(bits >> pending);
  }
  return uuid;
}

Uuid random_uuid() {
  std::random_device random;
  for (;;) {
    Uuid uuid;
    for (auto& byte : uuid.bytes) byte = static_cast<std::uint8_t>(random());
    uuid.bytes[6] = static_cast<std::uint8_t>((uuid.bytes[6] & 0x0f) | 0x40);
    uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3f) | 0x80);
    if (uuid.to_string().front() != '-') return uuid;
  }
}

}  // namespace offsetfs::storage
