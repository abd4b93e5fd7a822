#include "storage/java_properties.h"

#include <cstdint>
#include <optional>

#include "storage/text_lines.h"

namespace offsetfs::storage {
namespace {

constexpr std::string_view kBlanks = " \t\f";

bool is_blank(char c) { return kBlanks.find(c) != std::string_view::npos; }

std::string_view without_indentation(std::string_view line) {
  const auto first = line.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view() : line.substr(first);
}

bool goes_on(std::string_view line) {
  const auto last = line.find_last_not_of('\\');
  const auto backslashes = last == std::string_view::npos ? line.size() : line.size() - last - 1;
  return backslashes % 2 == 1;
}

// A property's lines joined into one; nothing at the end of the text.
std::optional<std::string> next_property(TextLines& lines) {
  while (const auto line = lines.next()) {
    const auto first = without_indentation(*line);
    if (first.empty() || first.front() == '#' || first.front() == '!') continue;
    std::string joined(first);
    while (goes_on(joined)) {
      joined.pop_back();
      const auto more = lines.next();
      if (!more) break;
      joined += without_indentation(*more);
    }
    if (!joined.empty()) return joined;
  }
  return std::nullopt;
}

// Where the key ends: at the first "=", ":" or blank with no backslash before it.
std::size_t key_size(std::string_view property) {
  std::size_t i = 0;
  while (i < property.size()) {
    if (property[i] == '\\') {
      i += 2;
      continue;
    }
    if (property[i] == '=' || property[i] == ':' || is_blank(property[i])) return i;
    ++i;
  }
  return property.size();
}

std::string_view value_behind(std::string_view rest) {
  rest = without_indentation(rest);
  if (rest.starts_with('=') || rest.starts_with(':')) {
    rest = without_indentation(rest.substr(1));
  }
  return rest;
}

void append_utf8(std::string& text, std::uint32_t code_point) {
  const auto add = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code_point < 0x80) {
    add(code_point);
  } else if (code_point < 0x800) {
    add(0xc0 | code_point >> 6);
    add(0x80 | (code_point & 0x3f));
  } else if (code_point < 0x10000) {
    add(0xe0 | code_point >> 12);
    add(0x80 | (code_point >> 6 & 0x3f));
    add(0x80 | (code_point & 0x3f));
  } else {
    add(0xf0 | code_point >> 18);
    add(0x80 | (code_point >> 12 & 0x3f));
    add(0x80 | (code_point >> 6 & 0x3f));
    add(0x80 | (code_point & 0x3f));
  }
}

std::optional<std::uint32_t> hex_unit(std::string_view digits) {
  if (digits.size() < 4) return std::nullopt;
  std::uint32_t unit = 0;
  for (const char c : digits.substr(0, 4)) {
    const auto digit = std::string_view("0123456789abcdef").find(static_cast<char>(c | 0x20));
    const bool is_hex = digit != std::string_view::npos && ((c >= '0' && c <= '9') || digit > 9);
    if (!is_hex) return std::nullopt;
    unit = unit << 4 | static_cast<std::uint32_t>(digit);
  }
  return unit;
}

bool is_high_surrogate(std::uint32_t unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool is_low_surrogate(std::uint32_t unit) { return unit >= 0xdc00 && unit < 0xe000; }

// `rest` begins with "\u". Appends a character and tells how much of `rest` made it: two escapes
// for one beyond the basic plane. A surrogate alone is no character and becomes U+FFFD. 0:
// malformed.
std::size_t append_unicode_escape(std::string& text, std::string_view rest) {
  constexpr std::size_t kEscapeChars = 6;
  constexpr std::uint32_t kReplacement = 0xfffd;
  const auto unit = hex_unit(rest.substr(2));
  if (!unit) return 0;
  if (is_high_surrogate(*unit) && rest.substr(kEscapeChars).starts_with("\\u")) {
    const auto low = hex_unit(rest.substr(kEscapeChars + 2));
    if (low && is_low_surrogate(*low)) {
      append_utf8(text, 0x10000 + ((*unit - 0xd800) << 10) + (*low - 0xdc00));
      return 2 * kEscapeChars;
    }
  }
  const bool is_alone = is_high_surrogate(*unit) || is_low_surrogate(*unit);
  append_utf8(text, is_alone ? kReplacement : *unit);
  return kEscapeChars;
}

char plain_escape(char c) {
  switch (c) {
    case 't': return '\t';
    case 'n': return '\n';
    case 'r': return '\r';
    case 'f': return '\f';
    default: return c;
  }
}

// Nothing for a malformed \u.
std::optional<std::string> unescape(std::string_view raw) {
  std::string text;
  while (!raw.empty()) {
    if (raw[0] != '\\') {
      text += raw[0];
      raw.remove_prefix(1);
    } else if (raw.size() == 1) {
      break;
    } else if (raw[1] == 'u') {
      const auto used = append_unicode_escape(text, raw);
      if (used == 0) return std::nullopt;
      raw.remove_prefix(used);
    } else {
      text += plain_escape(raw[1]);
      raw.remove_prefix(2);
    }
  }
  return text;
}

// The first character of `text`, which begins with a byte beyond ASCII, and its bytes; nothing if
// that is no UTF-8.
std::optional<std::pair<std::uint32_t, std::size_t>> first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(text[i]) & 0xff; };
  const std::size_t size = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < size) return std::nullopt;
  std::uint32_t code_point = byte(0) & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return std::nullopt;
    code_point = code_point << 6 | (byte(i) & 0x3f);
  }
  // Each has one spelling; what append_utf8 would spell otherwise is none.
  std::string spelled;
  append_utf8(spelled, code_point);
  if (code_point > 0x10ffff || is_high_surrogate(code_point) || is_low_surrogate(code_point) ||
      spelled != text.substr(0, size))
    return std::nullopt;
  return std::pair{code_point, size};
}

void append_escaped_unit(std::string& escaped, std::uint32_t unit) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  escaped += "\\u";
  for (const int shift : {12, 8, 4, 0}) escaped += kDigits[unit >> shift & 0xf];
}

// Java reads the file as ISO 8859-1, where UTF-8 would be other characters. Bytes that are none
// stay: there is no way to write them.
std::string escape_beyond_ascii(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const bool is_ascii = (text[0] & 0x80) == 0;
    const auto character = is_ascii ? std::nullopt : first_character(text);
    if (!character) {
      escaped += text[0];
      text.remove_prefix(1);
      continue;
    }
    const auto [code_point, size] = *character;
    if (code_point < 0x10000) {
      append_escaped_unit(escaped, code_point);
    } else {
      append_escaped_unit(escaped, 0xd800 + ((code_point - 0x10000) >> 10));
      append_escaped_unit(escaped, 0xdc00 + ((code_point - 0x10000) & 0x3ff));
    }
    text.remove_prefix(size);
  }
  return escaped;
}

// Blanks matter all through a key, and in front of a value.
std::string escape(std::string_view text, bool is_key) {
  std::string escaped;
  for (const char c : text) {
    const bool in_front = is_key || escaped.empty();
    switch (c) {
      case '\t': escaped += "\\t"; break;
      case '\n': escaped += "\\n"; break;
      case '\r': escaped += "\\r"; break;
      case '\f': escaped += "\\f"; break;
      case '\\': escaped += "\\\\"; break;
      case ' ':
      case '=':
      case ':':
      case '#':
      case '!':
        if (in_front) escaped += '\\';
        [[fallthrough]];
      default: escaped += c;
    }
  }
  return escaped;
}

}  // namespace

Result<JavaProperties> parse_java_properties(std::string_view text, const std::string& name) {
  JavaProperties properties;
  TextLines lines(text);
  while (const auto property = next_property(lines)) {
    const auto size = key_size(*property);
    auto key = unescape(std::string_view(*property).substr(0, size));
    auto value = unescape(value_behind(std::string_view(*property).substr(size)));
    if (!key || !value) {
      return fail(Errc::kCorrupt, name + ":" + std::to_string(lines.number()) +
                                      ": a \\u without four hexadecimal digits");
    }
    properties[std::move(*key)] = std::move(*value);
  }
  return properties;
}

std::string render_java_properties(const JavaProperties& properties) {
  std::string text;
  for (const auto& [key, value] : properties)
    text += escape_beyond_ascii(escape(key, true) + "=" + escape(value, false)) + "\n";
  return text;
}

}  // namespace offsetfs::storage
