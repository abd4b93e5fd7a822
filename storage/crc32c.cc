#include "storage/crc32c.h"

#include <array>
#include <cstdio>

#include <isa-l/crc.h>

namespace offsetfs::storage {

std::uint32_t crc32c(Bytes bytes) { return crc32c_extend(0, bytes); }

std::uint32_t crc32c_extend(std::uint32_t crc, Bytes bytes) {
  // crc32_iscsi is the bare register: neither start value nor final inversion is in it, and its
  // length is an int.
  constexpr std::size_t kMostAtOnce = 1U << 30;
  std::uint32_t state = ~crc;
  while (!bytes.empty()) {
    const Bytes head = bytes.substr(0, kMostAtOnce);
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(head.data()));  // only read
    state = crc32_iscsi(data, static_cast<int>(head.size()), state);
    bytes.remove_prefix(head.size());
  }
  return ~state;
}

std::uint32_t crc32(Bytes bytes) {
  // This one inverts at both ends by itself.
  return crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::string crc_mismatch(std::uint32_t stored, std::uint32_t computed) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "CRC stored 0x%08x, computed 0x%08x", stored, computed);
  return text.data();
}

}  // namespace offsetfs::storage
