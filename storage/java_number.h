#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

namespace offsetfs::storage {

// A whole text as Java's Integer.parseInt and Long.parseLong take it: decimal, one sign of either
// kind, leading zeros. Nothing for anything else, for a number out of range too.
template <std::signed_integral T>
std::optional<T> parse_java_number(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

inline std::optional<std::int32_t> parse_java_int(std::string_view text) {
  return parse_java_number<std::int32_t>(text);
}
inline std::optional<std::int64_t> parse_java_long(std::string_view text) {
  return parse_java_number<std::int64_t>(text);
}

}  // namespace offsetfs::storage
