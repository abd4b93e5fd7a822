#include "tests/support/hex.h"

#include "storage/check.h"

namespace offsetfs::tests {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

unsigned value_of(char digit) {
  const auto value = kDigits.find(digit);
  CHECK(value != std::string_view::npos);
  return static_cast<unsigned>(value);
}

}  // namespace

std::string unhex(std::string_view digits) {
  CHECK(digits.size() % 2 == 0);
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes.push_back(static_cast<char>(value_of(digits[i]) << 4 | value_of(digits[i + 1])));
  return bytes;
}

std::string hex(std::string_view bytes) {
  std::string digits;
  for (const char byte : bytes) {
    digits.push_back(kDigits[static_cast<unsigned char>(byte) >> 4]);
    digits.push_back(kDigits[static_cast<unsigned char>(byte) & 15]);
  }
  return digits;
}

}  // namespace offsetfs::tests
