#include <algorithm>
#include <bit>
#include <cstring>

#include <lz4.h>

#include "storage/check.h"
#include "storage/codec_output.h"

// frame  := magic: 04 22 4D 18  FLG  BD  [content size: u64]  header sum: u8
//           block*  end mark: u32 = 0  [content sum: u32]
// block  := size: u32 (high bit: stored as it is)  data  [block sum: u32]
// FLG    := version (bits 6-7) = 1, independent blocks (5), block sums (4), content size (3),
//           content sum (2), reserved (1), dictionary id (0)
// BD     := largest block (bits 4-6): 4 = 64 KiB, 5 = 256 KiB, 6 = 1 MiB, 7 = 4 MiB
//
// Little-endian; sums are xxHash32. The frame is read here and not by LZ4F, because Kafka's rules
// differ: see Lz4HeaderSum; a content sum is not looked at, and neither is what follows the end
// mark.

namespace offsetfs::storage {
namespace {

constexpr Bytes kMagic("\x04\x22\x4d\x18", 4);
constexpr std::uint8_t kVersion = 1 << 6;
constexpr std::uint8_t kVersionMask = 3 << 6;
constexpr std::uint8_t kIndependentBlocks = 1 << 5;
constexpr std::uint8_t kBlockSums = 1 << 4;
constexpr std::uint8_t kContentSize = 1 << 3;
constexpr std::uint8_t kReserved = 1 << 1;
constexpr std::uint8_t kDictionaryId = 1 << 0;
constexpr std::uint8_t kBd64KiB = 4 << 4;
constexpr std::uint32_t kStoredBlock = 1U << 31;
constexpr std::size_t kWrittenBlockBytes = 64 << 10;

static_assert(std::endian::native == std::endian::little, "loads below are plain");
std::uint32_t load_u32(const char* at) {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}
void append_u32(std::string& out, std::uint32_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// xxHash32 with seed 0.
std::uint32_t xxh32(Bytes bytes) {
  constexpr std::uint32_t k1 = 2654435761U;
  constexpr std::uint32_t k2 = 2246822519U;
  constexpr std::uint32_t k3 = 3266489917U;
  constexpr std::uint32_t k4 = 668265263U;
  constexpr std::uint32_t k5 = 374761393U;
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  std::uint32_t sum = k5;
  if (bytes.size() >= 16) {
    std::uint32_t lanes[4] = {k1 + k2, k2, 0, 0U - k1};
    for (; end - at >= 16; at += 16)
      for (std::ptrdiff_t lane = 0; lane < 4; ++lane)
        lanes[lane] = std::rotl(lanes[lane] + load_u32(at + 4 * lane) * k2, 13) * k1;
    sum = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
          std::rotl(lanes[3], 18);
  }
  sum += static_cast<std::uint32_t>(bytes.size());
  for (; end - at >= 4; at += 4) sum = std::rotl(sum + load_u32(at) * k3, 17) * k4;
  for (; at != end; ++at) sum = std::rotl(sum + static_cast<unsigned char>(*at) * k5, 11) * k1;
  sum = (sum ^ (sum >> 15)) * k2;
  sum = (sum ^ (sum >> 13)) * k3;
  return sum ^ (sum >> 16);
}

std::uint8_t header_sum_of(Bytes bytes) { return static_cast<std::uint8_t>(xxh32(bytes) >> 8); }

struct FrameHeader {
  std::size_t largest_block_bytes = 0;
  bool has_block_sums = false;
  std::size_t size_bytes = 0;  // of the header itself
};

Result<FrameHeader> read_frame_header(Bytes frame, Lz4HeaderSum sum_rule) {
  if (frame.size() < kMagic.size() + 3) return fail(Errc::kCorrupt, "ends within the frame header");
  if (!frame.starts_with(kMagic)) return fail(Errc::kCorrupt, "no LZ4 frame");
  const auto flg = static_cast<std::uint8_t>(frame[4]);
  const auto bd = static_cast<std::uint8_t>(frame[5]);
  if ((flg & kVersionMask) != kVersion) return fail(Errc::kUnsupported, "a frame version unknown");
  if ((flg & kIndependentBlocks) == 0)
    return fail(Errc::kUnsupported, "blocks that depend on each other");
  if ((flg & kDictionaryId) != 0) return fail(Errc::kUnsupported, "a dictionary");
  if ((flg & kReserved) != 0 || (bd & 0x8f) != 0 || bd < kBd64KiB)
    return fail(Errc::kCorrupt, "a frame header with reserved bits");

  FrameHeader header;
  header.largest_block_bytes = std::size_t{1} << (8 + 2 * (bd >> 4));
  header.has_block_sums = (flg & kBlockSums) != 0;
  const std::size_t sum_at = kMagic.size() + 2 + ((flg & kContentSize) != 0 ? 8 : 0);
  if (frame.size() <= sum_at) return fail(Errc::kCorrupt, "ends within the frame header");
  const auto stored = static_cast<std::uint8_t>(frame[sum_at]);
  const Bytes summed = frame.substr(kMagic.size(), sum_at - kMagic.size());
  if (sum_rule == Lz4HeaderSum::kRight && header_sum_of(summed) != stored)
    return fail(Errc::kCorrupt, "frame header checksum " + std::to_string(stored) + ", expected " +
                                    std::to_string(header_sum_of(summed)));
  header.size_bytes = sum_at + 1;
  return header;
}

Result<void> expand_block(Bytes block, bool stored, std::size_t largest, CodecOutput& out) {
  const std::span<char> room = out.room(stored ? block.size() : largest);
  if (stored) {
    const std::size_t count = std::min(block.size(), room.size());
    std::memcpy(room.data(), block.data(), count);
    return out.produced(count);
  }
  const std::size_t most = std::min(room.size(), largest);
  const int produced = LZ4_decompress_safe(block.data(), room.data(),
                                           static_cast<int>(block.size()), static_cast<int>(most));
  if (produced >= 0) return out.produced(static_cast<std::size_t>(produced));
  // The decoder does not tell a block that is broken from one that wants more room than the limit
  // left it.
  if (most < largest) return out.too_large();
  return fail(Errc::kCorrupt, "a block that breaks the format");
}

}  // namespace

Result<void> unlz4(Bytes compressed, CodecOutput& out, Lz4HeaderSum header_sum) {
  ASSIGN_OR_RETURN(const FrameHeader header, read_frame_header(compressed, header_sum));
  compressed.remove_prefix(header.size_bytes);
  for (;;) {
    if (compressed.size() < 4) return fail(Errc::kCorrupt, "ends without an end mark");
    const std::uint32_t size_field = load_u32(compressed.data());
    compressed.remove_prefix(4);
    const std::size_t size = size_field & ~kStoredBlock;
    if (size == 0) return {};
    if (size > header.largest_block_bytes)
      return fail(Errc::kCorrupt, "a block of " + std::to_string(size) + " bytes, at most " +
                                      std::to_string(header.largest_block_bytes) + " allowed");
    if (compressed.size() < size + (header.has_block_sums ? 4 : 0))
      return fail(Errc::kCorrupt, "ends within a block");
    const Bytes block = compressed.substr(0, size);
    compressed.remove_prefix(size);
    if (header.has_block_sums) {
      if (xxh32(block) != load_u32(compressed.data()))
        return fail(Errc::kCorrupt, "a block whose checksum is wrong");
      compressed.remove_prefix(4);
    }
    const bool stored = (size_field & kStoredBlock) != 0;
    RETURN_IF_ERROR(expand_block(block, stored, header.largest_block_bytes, out));
  }
}

void append_lz4(Bytes bytes, std::string& out, Lz4HeaderSum header_sum) {
  std::string header(kMagic);
  header.push_back(static_cast<char>(kVersion | kIndependentBlocks));
  header.push_back(static_cast<char>(kBd64KiB));
  // The old mistake was to sum the magic bytes, too.
  const std::size_t sum_from = header_sum == Lz4HeaderSum::kRight ? kMagic.size() : 0;
  header.push_back(static_cast<char>(header_sum_of(Bytes(header).substr(sum_from))));
  out.append(header);

  std::string block(static_cast<std::size_t>(LZ4_compressBound(kWrittenBlockBytes)), '\0');
  while (!bytes.empty()) {
    const Bytes plain = bytes.substr(0, kWrittenBlockBytes);
    bytes.remove_prefix(plain.size());
    const int written = LZ4_compress_default(
        plain.data(), block.data(), static_cast<int>(plain.size()), static_cast<int>(block.size()));
    CHECK(written > 0);
    const auto size = static_cast<std::uint32_t>(written);
    const bool stored = size >= plain.size();
    append_u32(out, stored ? static_cast<std::uint32_t>(plain.size()) | kStoredBlock : size);
    out.append(stored ? plain : Bytes(block).substr(0, size));
  }
  append_u32(out, 0);
}

}  // namespace offsetfs::storage
