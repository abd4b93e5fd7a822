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
    text += escape(key, true) + "=" + escape(value, false) + "\n";
  return text;
}

}  // namespace offsetfs::storage
