#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

// For escape.cc and escape_avx2.cc only: what is escaped, byte for byte, and the loop that
// everything else falls back on.

namespace offsetfs::fs {

struct EscapeRules {
  // 0: the byte itself; a letter: backslash and that letter; 'u': \u00XX.
  std::array<char, 256> letter{};

  constexpr std::size_t bytes(char c) const {
    const char how = letter[static_cast<std::uint8_t>(c)];
    return how == 0 ? 1 : how == 'u' ? 6 : 2;
  }
};

inline constexpr EscapeRules kJsonRules = [] {
  EscapeRules rules;
  for (std::size_t c = 0; c < 0x20; ++c) rules.letter[c] = 'u';
  rules.letter['\b'] = 'b';
  rules.letter['\t'] = 't';
  rules.letter['\n'] = 'n';
  rules.letter['\f'] = 'f';
  rules.letter['\r'] = 'r';
  rules.letter['"'] = '"';
  rules.letter['\\'] = '\\';
  return rules;
}();

inline constexpr EscapeRules kTsvRules = [] {
  EscapeRules rules;
  rules.letter['\t'] = 't';
  rules.letter['\n'] = 'n';
  rules.letter['\r'] = 'r';
  rules.letter['\\'] = '\\';
  return rules;
}();

inline char* write_escaped(const EscapeRules& rules, const char* at, const char* end, char* out) {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (; at != end; ++at) {
    const auto byte = static_cast<std::uint8_t>(*at);
    const char how = rules.letter[byte];
    if (how == 0) {
      *out++ = *at;
    } else if (how != 'u') {
      *out++ = '\\';
      *out++ = how;
    } else {
      std::memcpy(out, "\\u00", 4);  // NOLINT(bugprone-not-null-terminated-result): no C string
      out[4] = kHex[byte >> 4];
      out[5] = kHex[byte & 0xf];
      out += 6;
    }
  }
  return out;
}

}  // namespace offsetfs::fs
