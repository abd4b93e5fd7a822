#pragma once

#include <charconv>
#include <cstdint>
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

}  // namespace offsetfs::fs
