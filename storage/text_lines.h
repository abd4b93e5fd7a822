#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace offsetfs::storage {

// The lines of a text as Java's BufferedReader gives them: each ends with "\n", "\r" or "\r\n", the
// last one perhaps with nothing.
class TextLines {
 public:
  explicit TextLines(std::string_view text) : rest_(text) {}

  std::optional<std::string_view> next() {
    if (rest_.empty()) return std::nullopt;
    ++number_;
    const auto end = rest_.find_first_of("\r\n");
    const auto line = rest_.substr(0, end);
    rest_.remove_prefix(line.size());
    if (rest_.starts_with("\r\n")) {
      rest_.remove_prefix(2);
    } else if (!rest_.empty()) {
      rest_.remove_prefix(1);
    }
    return line;
  }
  // Of the line that next() gave last; counts from 1.
  std::size_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

}  // namespace offsetfs::storage
