#include "storage/checkpoint_file.h"

#include <cstdint>
#include <optional>

#include "storage/java_number.h"
#include "storage/text_lines.h"

namespace offsetfs::storage {
namespace {

// A stranger's line goes into a message: not all of it.
std::string shown(std::string_view line) {
  constexpr std::size_t kMost = 60;
  std::string text = "\"";
  for (const char c : line.substr(0, kMost)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (line.size() > kMost ? "...\"" : "\"");
}

// As Java's split("\\s+"): a line that begins with whitespace has an empty first field, and empty
// fields at the end are dropped.
std::vector<std::string_view> split_fields(std::string_view line) {
  constexpr std::string_view kWhitespace = " \t\v\f\r\n";
  std::vector<std::string_view> fields;
  for (;;) {
    const auto end = line.find_first_of(kWhitespace);
    if (end == std::string_view::npos) break;
    fields.push_back(line.substr(0, end));
    const auto next = line.find_first_not_of(kWhitespace, end);
    if (next == std::string_view::npos) return fields;
    line.remove_prefix(next);
  }
  fields.push_back(line);
  return fields;
}

}  // namespace

Result<void> parse_checkpoint(
    std::string_view text, const std::string& name, std::size_t fields,
    const std::function<Result<void>(std::span<const std::string_view> fields,
                                     const std::string& where)>& entry) {
  TextLines lines(text);
  const auto where = [&] { return name + ":" + std::to_string(lines.number()); };
  auto line = lines.next();
  if (!line) return {};
  const auto version = parse_java_int(*line);
  if (!version)
    return fail(Errc::kCorrupt, where() + ": expected a version, found " + shown(*line));
  if (*version != 0) {
    return fail(Errc::kUnsupported,
                where() + ": version " + std::to_string(*version) + ", expected 0");
  }
  line = lines.next();
  if (!line) return {};
  const auto count = parse_java_int(*line);
  if (!count) {
    return fail(Errc::kCorrupt, where() + ": expected a number of entries, found " + shown(*line));
  }
  std::int64_t seen = 0;
  while ((line = lines.next())) {
    const auto parts = split_fields(*line);
    if (parts.size() != fields) {
      return fail(Errc::kCorrupt, where() + ": expected " + std::to_string(fields) +
                                      " fields, found " + shown(*line));
    }
    RETURN_IF_ERROR(entry(parts, where()));
    ++seen;
  }
  if (seen != *count) {
    return fail(Errc::kCorrupt, name + ": expected " + std::to_string(*count) + " entries, found " +
                                    std::to_string(seen));
  }
  return {};
}

std::string render_checkpoint(std::span<const std::string> entries) {
  std::string text = "0\n" + std::to_string(entries.size()) + "\n";
  for (const auto& entry : entries) text += entry + "\n";
  return text;
}

}  // namespace offsetfs::storage
