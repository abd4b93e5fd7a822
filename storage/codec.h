#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/batch_header.h"
#include "storage/result.h"
#include "storage/units.h"

// The four codecs in the framings that Kafka's clients give them:
//
//   gzip    RFC 1952, members may follow each other
//   snappy  xerial stream (8 magic bytes, version: i32, compatible: i32, then length: i32 + block,
//           again and again), or the whole one raw block, as some clients write it
//   lz4     one LZ4 frame of independent blocks, end mark required
//   zstd    RFC 8878 frames, without content size as a rule
//
// Source: Kafka's org.apache.kafka.common.compress, snappy-java's SnappyInputStream.

namespace offsetfs::storage {

// The inverse of codec_name().
std::optional<Codec> codec_named(std::string_view name);

// Kafka's clients summed the header of an LZ4 frame over the wrong bytes until magic 1 came: in
// messages of magic 0 the wrong sum is written, and on reading it is not looked at.
enum class Lz4HeaderSum { kRight, kOldWrong };

// Expands `compressed`. What comes back lies in `out`, which only ever grows: give the same string
// again, and a warm reader allocates nothing. Memory is bound by what was really produced (a small
// multiple of it) and by `limit`, never by what the input claims.
//
// kCorrupt: breaks the codec's format. kTooLarge: more than `limit` bytes. kUnsupported: LZ4 blocks
// that depend on each other, dictionaries. Any thread.
Result<Bytes> decompress(Codec codec, Bytes compressed, std::string& out, std::int64_t limit,
                         Lz4HeaderSum lz4_header_sum = Lz4HeaderSum::kRight);

// Appends `bytes`, compressed at Kafka's default level, to `out`. Any thread.
void compress(Codec codec, Bytes bytes, std::string& out,
              Lz4HeaderSum lz4_header_sum = Lz4HeaderSum::kRight);

}  // namespace offsetfs::storage
