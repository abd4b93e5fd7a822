#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace offsetfs::fs {

// A canonical decimal number: digits alone, no sign, no leading zero, within 63 bits. Other
// spellings of the same number are no names: a file has one name.
inline std::optional<std::int64_t> parse_canonical(std::string_view digits) {
  if (digits.empty() || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
  if (digits.front() == '-') return std::nullopt;  // from_chars would take it
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// How many characters write_decimal() writes, without a division.
inline std::size_t decimal_bytes(std::int64_t value) {
  constexpr auto kPowers = [] {
    std::array<std::uint64_t, 20> powers{};
    powers[0] = 0;  // 0 has one digit, as 1 to 9 have
    std::uint64_t power = 1;
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = power *= 10;
    return powers;
  }();
  const bool negative = value < 0;
  const auto magnitude =
      negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  // 1233 / 4096 is the logarithm of 2 to base 10, near enough for 64 bits.
  const auto guess = static_cast<std::size_t>(std::bit_width(magnitude | 1)) * 1233 >> 12;
  return guess + (magnitude >= kPowers[guess] ? 1 : 0) + (negative ? 1 : 0);
}

// Writes `value` into the `bytes` characters at `out`, which are decimal_bytes(value). Where a
// caller writes more behind it, that does not wait for the divisions.
inline char* write_decimal(std::int64_t value, std::size_t bytes, char* out) {
  constexpr auto kPairs = [] {
    std::array<char, 200> pairs{};
    for (std::size_t i = 0; i < 100; ++i) {
      pairs[2 * i] = static_cast<char>('0' + i / 10);
      pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
    return pairs;
  }();
  auto magnitude = static_cast<std::uint64_t>(value);
  if (value < 0) {
    magnitude = 0 - magnitude;
    *out = '-';
  }
  char* at = out + bytes;
  while (magnitude >= 100) {
    at -= 2;
    std::memcpy(at, kPairs.data() + 2 * (magnitude % 100), 2);
    magnitude /= 100;
  }
  if (magnitude >= 10) {
    std::memcpy(at - 2, kPairs.data() + 2 * magnitude, 2);
  } else {
    at[-1] = static_cast<char>('0' + magnitude);
  }
  return out + bytes;
}

}  // namespace offsetfs::fs
