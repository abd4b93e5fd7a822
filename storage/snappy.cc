#include <snappy.h>

#include "storage/byte_reader.h"
#include "storage/codec_output.h"

namespace offsetfs::storage {
namespace {

constexpr Bytes kXerialMagic("\x82SNAPPY\0", 8);
constexpr std::int32_t kXerialVersion = 1;
constexpr std::size_t kXerialHeaderBytes = 16;
// As a chunk's length this begins another stream's header.
constexpr auto kXerialMagicLength = static_cast<std::int32_t>(0x82534E41U);
constexpr std::size_t kXerialBlockBytes = 32768;  // what Kafka's clients put in a block
// Three bytes of snappy can stand for 64 at most: a block that claims more lies, and is refused
// before anything is allocated for it.
constexpr std::size_t kLargestRatio = 22;

Result<void> expand_block(Bytes block, CodecOutput& out) {
  std::size_t claimed = 0;
  if (!snappy::GetUncompressedLength(block.data(), block.size(), &claimed))
    return fail(Errc::kCorrupt, "a block without a length");
  if (claimed > out.left()) return out.too_large();
  if (claimed > block.size() * kLargestRatio)
    return fail(Errc::kCorrupt, "a block of " + std::to_string(block.size()) + " bytes claims " +
                                    std::to_string(claimed));
  if (!snappy::RawUncompress(block.data(), block.size(), out.room(claimed).data()))
    return fail(Errc::kCorrupt, "a block that breaks the format");
  return out.produced(claimed);
}

Result<void> expand_xerial(Bytes stream, CodecOutput& out) {
  ByteReader in(stream);
  in.skip(static_cast<std::int64_t>(kXerialMagic.size()));
  if (const std::int32_t version = in.i32(); version < kXerialVersion)
    return fail(Errc::kUnsupported, "xerial version " + std::to_string(version));
  in.skip(4);  // the least version that can read it
  while (in.remaining() > 0) {
    const std::int32_t length = in.i32();
    if (length == kXerialMagicLength && in.ok()) {
      in.skip(kXerialHeaderBytes - sizeof length);
    } else if (const Bytes block = in.bytes(length); in.ok()) {
      RETURN_IF_ERROR(expand_block(block, out));
    }
    if (!in.ok()) return fail(Errc::kCorrupt, "ends within a chunk");
  }
  return {};
}

}  // namespace

Result<void> unsnappy(Bytes compressed, CodecOutput& out) {
  if (compressed.empty()) return {};
  const bool xerial =
      compressed.size() >= kXerialHeaderBytes && compressed.starts_with(kXerialMagic);
  return xerial ? expand_xerial(compressed, out) : expand_block(compressed, out);
}

void append_snappy(Bytes bytes, std::string& out) {
  char number[4];
  const auto append_i32 = [&](std::int32_t value) {
    store_big_endian(number, value);
    out.append(number, sizeof number);
  };
  out.append(kXerialMagic);
  append_i32(kXerialVersion);
  append_i32(kXerialVersion);
  std::string block(snappy::MaxCompressedLength(kXerialBlockBytes), '\0');
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kXerialBlockBytes))) {
    std::size_t written = 0;
    snappy::RawCompress(bytes.data(), std::min(bytes.size(), kXerialBlockBytes), block.data(),
                        &written);
    append_i32(static_cast<std::int32_t>(written));
    out.append(block, 0, written);
  }
}

}  // namespace offsetfs::storage
