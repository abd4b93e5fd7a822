#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include <libdeflate.h>

#include "storage/check.h"
#include "storage/codec_output.h"

namespace offsetfs::storage {
namespace {

struct Free {
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
  void operator()(libdeflate_compressor* c) const { libdeflate_free_compressor(c); }
};

// A few KiB and a few hundred KiB; made once a thread.
libdeflate_decompressor* decompressor() {
  thread_local const std::unique_ptr<libdeflate_decompressor, Free> instance(
      libdeflate_alloc_decompressor());
  if (instance == nullptr) throw std::bad_alloc();
  return instance.get();
}
libdeflate_compressor* compressor() {
  constexpr int kZlibDefaultLevel = 6;
  thread_local const std::unique_ptr<libdeflate_compressor, Free> instance(
      libdeflate_alloc_compressor(kZlibDefaultLevel));
  if (instance == nullptr) throw std::bad_alloc();
  return instance.get();
}

// A member ends with its size modulo 2^32. It is a claim, so it is believed only as far as records
// compress in practice; beyond that the output grows by what really comes.
std::size_t first_guess(Bytes member) {
  std::uint32_t claimed = 0;
  if (member.size() >= sizeof claimed)
    std::memcpy(&claimed, member.data() + member.size() - sizeof claimed, sizeof claimed);
  static_assert(std::endian::native == std::endian::little, "gzip's trailer is little-endian");
  return std::clamp<std::size_t>(claimed, 64, member.size() * 16 + 4096);
}

// libdeflate wants the whole output at once: where it does not fit, try again with four times as
// much, which costs a third more work in all.
Result<std::size_t> expand_member(Bytes compressed, CodecOutput& out) {
  for (std::size_t guess = first_guess(compressed);; guess *= 4) {
    const std::span<char> room = out.room(guess);
    std::size_t consumed = 0;
    std::size_t produced = 0;
    switch (libdeflate_gzip_decompress_ex(decompressor(), compressed.data(), compressed.size(),
                                          room.data(), room.size(), &consumed, &produced)) {
      case LIBDEFLATE_SUCCESS: RETURN_IF_ERROR(out.produced(produced)); return consumed;
      case LIBDEFLATE_INSUFFICIENT_SPACE:
        if (room.size() > out.left()) return out.too_large();
        break;
      default: return fail(Errc::kCorrupt, "no whole gzip member, or its checksum is wrong");
    }
  }
}

bool begins_member(Bytes bytes) { return bytes.starts_with("\x1f\x8b"); }

}  // namespace

Result<void> gunzip(Bytes compressed, CodecOutput& out) {
  // What follows the first member and isn't one is not looked at, as in Java's GZIPInputStream.
  do {
    ASSIGN_OR_RETURN(const std::size_t consumed, expand_member(compressed, out));
    compressed.remove_prefix(consumed);
  } while (begins_member(compressed));
  return {};
}

void append_gzip(Bytes bytes, std::string& out) {
  const std::size_t before = out.size();
  out.resize(before + libdeflate_gzip_compress_bound(compressor(), bytes.size()));
  const std::size_t written = libdeflate_gzip_compress(compressor(), bytes.data(), bytes.size(),
                                                       out.data() + before, out.size() - before);
  CHECK(written != 0);
  out.resize(before + written);
}

}  // namespace offsetfs::storage
