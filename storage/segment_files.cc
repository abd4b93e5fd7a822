#include "storage/segment_files.h"

#include <array>
#include <charconv>

namespace offsetfs::storage {
namespace {

constexpr std::size_t kDigits = 20;

// In the order of the enums, so that a name's place is its value.
constexpr std::array<std::string_view, 5> kFiles = {".log", ".index", ".timeindex", ".txnindex",
                                                    ".snapshot"};
constexpr std::array<const char*, 4> kSuffixes = {"", ".deleted", ".cleaned", ".swap"};

std::optional<Offset> parse_digits(std::string_view digits) {
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
  }
  std::int64_t value = 0;  // out of range beyond 2^63 - 1, which no Java long holds
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc{}) {
    return std::nullopt;
  }
  return Offset{value};
}

}  // namespace

std::optional<SegmentFileName> parse_segment_file(std::string_view name) {
  if (name.size() <= kDigits) return std::nullopt;
  const auto rest = name.substr(kDigits);
  if (rest.front() != '.') return std::nullopt;  // before the digits: cheap for most strangers
  for (std::size_t file = 0; file < kFiles.size(); ++file) {
    if (!rest.starts_with(kFiles[file])) continue;
    const auto suffix = rest.substr(kFiles[file].size());
    for (std::size_t i = 0; i < kSuffixes.size(); ++i) {
      if (suffix != kSuffixes[i]) continue;
      const auto base_offset = parse_digits(name.substr(0, kDigits));
      if (!base_offset) return std::nullopt;
      return SegmentFileName{*base_offset, static_cast<SegmentFile>(file),
                             static_cast<SegmentSuffix>(i)};
    }
  }
  return std::nullopt;
}

std::string segment_file_name(const SegmentFileName& name) {
  std::string text = segment_base_name(name.base_offset);
  text += kFiles[static_cast<std::size_t>(name.file)];
  text += suffix_text(name.suffix);
  return text;
}

std::string segment_base_name(Offset base_offset) {
  const std::string digits = std::to_string(base_offset.value);
  return digits.size() < kDigits ? std::string(kDigits - digits.size(), '0') + digits : digits;
}

const char* suffix_text(SegmentSuffix suffix) {
  return kSuffixes[static_cast<std::size_t>(suffix)];
}

}  // namespace offsetfs::storage
