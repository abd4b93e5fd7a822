#include "fs/escape_avx2.h"

#if defined(__x86_64__)

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include <immintrin.h>

#include "fs/escape_rules.h"

// Blocks of 32 bytes. A block without anything to escape is copied as it is. Else each 8 bytes are
// spread to 16, a backslash before every byte, and a byte shuffle closes up over the backslashes
// that are not wanted: no branch for each escape, since where quotes lie in JSON can't be
// predicted. Only \u00XX, which no shuffle can make room for, takes the plain loop for its block.
//
// The functions carry their target themselves: a file of its own flags would leave AVX2 code in
// inline functions that the rest of the program shares.
#define OFFSETFS_AVX2 __attribute__((target("avx2,bmi,popcnt")))

namespace offsetfs::fs {
namespace {

constexpr std::size_t kBlock = 32;

// For each mask of 8: the shuffle that keeps of 8 pairs (backslash, byte) every byte, and the
// backslash where the mask has a bit. What lies behind is written and then overwritten.
using Shuffle = std::array<std::uint8_t, 16>;
alignas(16) constexpr auto kClosingUp = [] {
  std::array<Shuffle, 256> shuffles{};
  for (std::size_t mask = 0; mask < shuffles.size(); ++mask) {
    std::size_t to = 0;
    for (std::uint8_t i = 0; i < 8; ++i) {
      if ((mask >> i & 1) != 0) shuffles[mask][to++] = static_cast<std::uint8_t>(2 * i);
      shuffles[mask][to++] = static_cast<std::uint8_t>(2 * i + 1);
    }
  }
  return shuffles;
}();

// The last block of a field, filled up with a letter that no rule escapes.
struct PaddedBlock {
  alignas(kBlock) char bytes[kBlock];
  PaddedBlock(const char* at, std::size_t size) {
    std::memset(bytes, 'x', kBlock);
    std::memcpy(bytes, at, size);
  }
};

OFFSETFS_AVX2 inline __m256i load(const char* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

OFFSETFS_AVX2 inline __m256i equals(__m256i bytes, char c) {
  return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(c));
}

OFFSETFS_AVX2 inline __m256i at_most(__m256i bytes, char c) {  // unsigned
  return _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(c)), bytes);
}

// What to put in the place of a byte below 16: by a table of letters, others as they are.
OFFSETFS_AVX2 inline __m256i translate(__m256i bytes, __m128i letters) {
  const __m256i translated = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(letters), bytes);
  return _mm256_blendv_epi8(bytes, translated, at_most(bytes, 0x0f));
}

struct Json {
  static constexpr const EscapeRules& kRules = kJsonRules;

  OFFSETFS_AVX2 static __m256i special(__m256i bytes) {
    return _mm256_or_si256(at_most(bytes, 0x1f),
                           _mm256_or_si256(equals(bytes, '"'), equals(bytes, '\\')));
  }
  // Those that take \u00XX: below 0x20 and without a letter.
  OFFSETFS_AVX2 static __m256i long_form(__m256i bytes) {
    const __m128i lettered =
        _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, -1, 0, 0, -1, -1);
    const __m256i by_low_bits = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(lettered), bytes);
    const __m256i above = _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(0x0f));
    return _mm256_and_si256(at_most(bytes, 0x1f), _mm256_or_si256(by_low_bits, above));
  }
  OFFSETFS_AVX2 static __m256i letters(__m256i bytes) {
    return translate(bytes,
                     _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 'b', 't', 'n', 11, 'f', 'r', 14, 15));
  }
};

struct Tsv {
  static constexpr const EscapeRules& kRules = kTsvRules;

  OFFSETFS_AVX2 static __m256i special(__m256i bytes) {
    return _mm256_or_si256(_mm256_or_si256(equals(bytes, '\t'), equals(bytes, '\n')),
                           _mm256_or_si256(equals(bytes, '\r'), equals(bytes, '\\')));
  }
  OFFSETFS_AVX2 static __m256i long_form(__m256i /*bytes*/) { return _mm256_setzero_si256(); }
  OFFSETFS_AVX2 static __m256i letters(__m256i bytes) {
    return translate(bytes,
                     _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 't', 'n', 11, 12, 'r', 14, 15));
  }
};

// Sums of what a scan saw; the lanes of the two counts are bytes and hold 255 blocks.
struct Seen {
  __m256i special;
  __m256i long_form;
  __m256i all;  // every byte or-ed
};

template <class Rules>
OFFSETFS_AVX2 inline void look_at(__m256i bytes, Seen& seen) {
  seen.special = _mm256_sub_epi8(seen.special, Rules::special(bytes));
  seen.long_form = _mm256_sub_epi8(seen.long_form, Rules::long_form(bytes));
  seen.all = _mm256_or_si256(seen.all, bytes);
}

OFFSETFS_AVX2 inline std::size_t sum(__m256i counts) {
  const __m256i sums = _mm256_sad_epu8(counts, _mm256_setzero_si256());
  const __m128i halves =
      _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  return static_cast<std::size_t>(_mm_cvtsi128_si64(halves) + _mm_extract_epi64(halves, 1));
}

template <class Rules>
OFFSETFS_AVX2 EscapeScan scan(storage::Bytes bytes) {
  constexpr std::size_t kMostBlocks = 255;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  EscapeScan result;
  Seen seen{};
  do {
    seen.special = seen.long_form = _mm256_setzero_si256();
    const std::size_t blocks = std::min(left / kBlock, kMostBlocks - 1);
    for (const char* const end = at + blocks * kBlock; at != end; at += kBlock) {
      look_at<Rules>(load(at), seen);
    }
    left -= blocks * kBlock;
    if (left != 0 && left < kBlock) {
      look_at<Rules>(load(PaddedBlock(at, left).bytes), seen);
      left = 0;
    }
    // \u00XX adds five where others add one.
    result.added_bytes += sum(seen.special) + 4 * sum(seen.long_form);
  } while (left != 0);
  result.is_ascii = _mm256_movemask_epi8(seen.all) == 0;
  return result;
}

OFFSETFS_AVX2 inline char* write_eight(__m128i pairs, unsigned mask, char* out) {
  const __m128i shuffle = _mm_load_si128(reinterpret_cast<const __m128i*>(kClosingUp[mask].data()));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(pairs, shuffle));
  return out + 8 + std::popcount(mask);
}

template <class Rules>
OFFSETFS_AVX2 inline char* write_block(const char* at, char* out) {
  const __m256i bytes = load(at);
  const auto special = static_cast<unsigned>(_mm256_movemask_epi8(Rules::special(bytes)));
  if (special == 0) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), bytes);
    return out + kBlock;
  }
  if (_mm256_movemask_epi8(Rules::long_form(bytes)) != 0) {
    return write_escaped(Rules::kRules, at, at + kBlock, out);
  }
  const __m256i letters = Rules::letters(bytes);
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i low = _mm256_castsi256_si128(letters);
  const __m128i high = _mm256_extracti128_si256(letters, 1);
  out = write_eight(_mm_unpacklo_epi8(backslash, low), special & 0xff, out);
  out = write_eight(_mm_unpackhi_epi8(backslash, low), special >> 8 & 0xff, out);
  out = write_eight(_mm_unpacklo_epi8(backslash, high), special >> 16 & 0xff, out);
  return write_eight(_mm_unpackhi_epi8(backslash, high), special >> 24, out);
}

template <class Rules>
OFFSETFS_AVX2 char* write(storage::Bytes bytes, char* out) {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kBlock; left -= kBlock, at += kBlock) out = write_block<Rules>(at, out);
  if (left == 0) return out;
  // The filling escapes nothing and lies behind, so it is cut off by its length.
  return write_block<Rules>(PaddedBlock(at, left).bytes, out) - (kBlock - left);
}

constexpr Escaper kJson{scan<Json>, write<Json>};
constexpr Escaper kTsv{scan<Tsv>, write<Tsv>};

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0 &&
                          __builtin_cpu_supports("bmi") != 0 &&
                          __builtin_cpu_supports("popcnt") != 0;
  return has;
}

}  // namespace

const Escaper* avx2_json_escaper() { return has_avx2() ? &kJson : nullptr; }
const Escaper* avx2_tsv_escaper() { return has_avx2() ? &kTsv : nullptr; }

}  // namespace offsetfs::fs

#else

namespace offsetfs::fs {

const Escaper* avx2_json_escaper() { return nullptr; }
const Escaper* avx2_tsv_escaper() { return nullptr; }

}  // namespace offsetfs::fs

#endif
