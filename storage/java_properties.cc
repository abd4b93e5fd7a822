#include "storage/java_properties.h"

#include <charconv>
#include <cstdint>

namespace offsetfs::storage {
namespace {

constexpr std::string_view kBlanks = " \t\f";
constexpr std::string_view kLineEnds = "\r\n";

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
}

std::string_view take_line(std::string_view& text) {
  const auto end = text.find_first_of(kLineEnds);
  const auto line = text.substr(0, end);
  if (end == std::string_view::npos) return text = {}, line;
  text.remove_prefix(end + (text.substr(end, 2) == "\r\n" ? 2 : 1));
  return line;
}

bool goes_on(std::string_view line) {
  const auto last_other = line.find_last_not_of('\\');
  const auto backslashes =
      line.size() - (last_other == std::string_view::npos ? 0 : last_other + 1);
  return backslashes % 2 == 1;
}

// A line with those that continue it, leading blanks gone.
std::string take_logical_line(std::string_view& text) {
  auto line = take_line(text);
  skip_blanks(line);
  std::string whole(line);
  if (line.starts_with('#') || line.starts_with('!')) return {};
  while (goes_on(whole)) {
    whole.pop_back();
    auto next = take_line(text);
    skip_blanks(next);
    whole += next;
  }
  return whole;
}

void append_utf8(std::string& out, std::uint32_t code_unit) {
  if (code_unit < 0x80) {
    out += static_cast<char>(code_unit);
  } else if (code_unit < 0x800) {
    out += static_cast<char>(0xC0 | code_unit >> 6);
    out += static_cast<char>(0x80 | (code_unit & 0x3F));
  } else {
    out += static_cast<char>(0xE0 | code_unit >> 12);
    out += static_cast<char>(0x80 | (code_unit >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code_unit & 0x3F));
  }
}

// Takes what follows a backslash.
void append_escaped(std::string& out, std::string_view& text) {
  const char letter = text.front();
  text.remove_prefix(1);
  switch (letter) {
    case 't': out += '\t'; return;
    case 'n': out += '\n'; return;
    case 'r': out += '\r'; return;
    case 'f': out += '\f'; return;
    case 'u': {
      std::uint32_t code_unit = 0;
      const auto digits = text.substr(0, 4);
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), code_unit, 16);
      if (error == std::errc{} && end == digits.data() + 4) {
        text.remove_prefix(4);
        return append_utf8(out, code_unit);
      }
      break;
    }
    default: break;
  }
  out += letter;
}

// The key, or with no `terminators` the value: up to the first of them that is not escaped.
std::string take_word(std::string_view& text, std::string_view terminators) {
  std::string word;
  while (!text.empty() && terminators.find(text.front()) == std::string_view::npos) {
    const char next = text.front();
    text.remove_prefix(1);
    if (next == '\\' && !text.empty())
      append_escaped(word, text);
    else
      word += next;
  }
  return word;
}

}  // namespace

std::map<std::string, std::string, std::less<>> parse_java_properties(std::string_view text) {
  std::map<std::string, std::string, std::less<>> properties;
  while (!text.empty()) {
    const auto line = take_logical_line(text);
    std::string_view rest = line;
    if (rest.empty()) continue;
    auto key = take_word(rest, "=: \t\f");
    skip_blanks(rest);
    if (rest.starts_with('=') || rest.starts_with(':')) {
      rest.remove_prefix(1);
      skip_blanks(rest);
    }
    properties[std::move(key)] = take_word(rest, {});
  }
  return properties;
}

}  // namespace offsetfs::storage
