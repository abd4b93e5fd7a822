#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace offsetfs::storage {

// A topic's or directory's id: 16 bytes, as text URL-safe Base64 without padding, 22 characters.
// Source: Kafka's Uuid.
struct Uuid {
  std::array<std::uint8_t, 16> bytes{};

  friend auto operator<=>(const Uuid&, const Uuid&) = default;
  bool is_zero() const { return *this == Uuid{}; }
  std::string to_string() const;
};

// Accepts what Java's decoder does: the padding may be there.
std::optional<Uuid> parse_uuid(std::string_view text);

// As Java's randomUUID makes them for topics and directories: version 4, none of Kafka's reserved
// ids, and with no '-' in front, which a command line would take for an option.
Uuid random_uuid();

}  // namespace offsetfs::storage
