#include "fs/base64.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace offsetfs::fs {
namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Two characters for each 12 bits: half the look-ups of one character for each 6.
constexpr auto kPairs = [] {
  std::array<char, std::size_t{2} * 4096> pairs{};
  for (std::size_t i = 0; i < 4096; ++i) {
    pairs[2 * i] = kAlphabet[i >> 6];
    pairs[2 * i + 1] = kAlphabet[i & 63];
  }
  return pairs;
}();

// 64: no character of the alphabet.
constexpr auto kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(64);
  for (std::uint8_t i = 0; i < 64; ++i) values[static_cast<std::uint8_t>(kAlphabet[i])] = i;
  return values;
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

bool read_base64(storage::Bytes text, std::string& out) {
  if (text.size() % 4 != 0) return false;
  const std::size_t before = out.size();
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_padding = i >= text.size() - padding;
    const std::uint8_t value = is_padding ? 0 : kValues[static_cast<std::uint8_t>(text[i])];
    if (value == 64) return out.resize(before), false;
    bits = bits << 6 | value;
    if (i % 4 != 3) continue;
    for (const int shift : {16, 8, 0}) out.push_back(static_cast<char>(bits >> shift & 0xff));
    bits = 0;
  }
  for (; padding > 0; --padding) {
    if (out.back() != 0) return out.resize(before), false;
    out.pop_back();
  }
  return true;
}

}  // namespace offsetfs::fs
