#include "fs/base64.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace offsetfs::fs {
namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Two characters for each 12 bits: half the look-ups of one character for each 6.
constexpr auto kPairs = [] {
  std::array<char, 2 * 4096> pairs{};
  for (std::size_t i = 0; i < 4096; ++i) {
    pairs[2 * i] = kAlphabet[i >> 6];
    pairs[2 * i + 1] = kAlphabet[i & 63];
  }
  return pairs;
}();

char* write_triple(std::uint32_t bits, char* out) {
  std::memcpy(out, kPairs.data() + std::size_t{2} * (bits >> 12), 2);
  std::memcpy(out + 2, kPairs.data() + std::size_t{2} * (bits & 0xfff), 2);
  return out + 4;
}

}  // namespace

char* write_base64(storage::Bytes bytes, char* out) {
  const auto at = [&](std::size_t i) { return std::uint32_t{static_cast<std::uint8_t>(bytes[i])}; };
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    out = write_triple(at(i) << 16 | at(i + 1) << 8 | at(i + 2), out);
  }
  const std::size_t left = bytes.size() - i;
  if (left == 0) return out;
  out = write_triple(at(i) << 16 | (left == 2 ? at(i + 1) << 8 : 0), out);
  out[-1] = '=';
  if (left == 1) out[-2] = '=';
  return out;
}

}  // namespace offsetfs::fs
