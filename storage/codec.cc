#include "storage/codec.h"

#include "storage/check.h"
#include "storage/codec_output.h"

namespace offsetfs::storage {
namespace {

Result<void> expand(Codec codec, Bytes compressed, CodecOutput& out, Lz4HeaderSum lz4_header_sum) {
  switch (codec) {
    case Codec::kNone: break;
    case Codec::kGzip: return gunzip(compressed, out);
    case Codec::kSnappy: return unsnappy(compressed, out);
    case Codec::kLz4: return unlz4(compressed, out, lz4_header_sum);
    case Codec::kZstd: return unzstd(compressed, out);
  }
  return fail(Errc::kUnsupported, "codec " + std::to_string(static_cast<int>(codec)));
}

}  // namespace

std::optional<Codec> codec_named(std::string_view name) {
  for (const Codec codec : {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd})
    if (name == codec_name(codec)) return codec;
  return std::nullopt;
}

Result<Bytes> decompress(Codec codec, Bytes compressed, std::string& out, std::int64_t limit,
                         Lz4HeaderSum lz4_header_sum) {
  if (codec == Codec::kNone) return compressed;
  CodecOutput output(out, limit);
  if (auto done = expand(codec, compressed, output, lz4_header_sum); !done) {
    done.error().what = std::string(codec_name(codec)) + ": " + done.error().what;
    return fail(std::move(done.error()));
  }
  return output.bytes();
}

void compress(Codec codec, Bytes bytes, std::string& out, Lz4HeaderSum lz4_header_sum) {
  switch (codec) {
    case Codec::kNone: out.append(bytes); return;
    case Codec::kGzip: return append_gzip(bytes, out);
    case Codec::kSnappy: return append_snappy(bytes, out);
    case Codec::kLz4: return append_lz4(bytes, out, lz4_header_sum);
    case Codec::kZstd: return append_zstd(bytes, out);
  }
  CHECK(false && "a codec that exists");
}

}  // namespace offsetfs::storage
