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

OFFSETFS_AVX2 inline __m256i load(const char* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

// Fewer bytes than a block, filled up with a letter that no rule escapes. Two loads that overlap,
// and a shuffle that takes the overlap out: a copy into a padded buffer would wait for its own
// stores.
constexpr char kFilling = 'x';
constexpr std::uint8_t kFill = 0x80;  // of a shuffle: no byte from there

// For each count below 16: where its bytes are after load_ends().
alignas(16) constexpr auto kJoining = [] {
  std::array<Shuffle, 16> shuffles{};
  for (std::uint8_t count = 0; count < 16; ++count) {
    // The low half begins with the first bytes; the high half ends with the last, or holds the
    // last.
    const int low = count >= 8 ? 8 : count >= 4 ? 4 : count - 1;
    const int high = count >= 8 ? 8 : count >= 4 ? 4 : 1;
    for (int i = 0; i < 16; ++i) {
      const int from = i < low ? i : 8 + i - (count - high);
      shuffles[count][static_cast<std::size_t>(i)] =
          i < count ? static_cast<std::uint8_t>(from) : kFill;
    }
  }
  return shuffles;
}();

// Shifts a vector of 16 down by `count` bytes, read at [count].
alignas(16) constexpr auto kShifting = [] {
  std::array<std::uint8_t, 32> shuffle{};
  for (std::size_t i = 0; i < 32; ++i) shuffle[i] = i < 16 ? static_cast<std::uint8_t>(i) : kFill;
  return shuffle;
}();

template <class Word>
inline std::int64_t load_word(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return static_cast<std::int64_t>(word);
}

// Precondition: 0 < count < 16.
OFFSETFS_AVX2 inline __m128i load_ends(const char* at, std::size_t count) {
  if (count >= 8) {
    return _mm_set_epi64x(load_word<std::uint64_t>(at + count - 8), load_word<std::uint64_t>(at));
  }
  if (count >= 4) {
    return _mm_set_epi64x(load_word<std::uint32_t>(at + count - 4), load_word<std::uint32_t>(at));
  }
  const std::int64_t first = load_word<std::uint8_t>(at);
  const std::int64_t middle = load_word<std::uint8_t>(at + (count >> 1));
  return _mm_set_epi64x(load_word<std::uint8_t>(at + count - 1),
                        count == 3 ? first | middle << 8 : first);
}

OFFSETFS_AVX2 inline __m128i shuffle_or_fill(__m128i bytes, const std::uint8_t* shuffle) {
  const __m128i from = _mm_loadu_si128(reinterpret_cast<const __m128i*>(shuffle));
  return _mm_blendv_epi8(_mm_shuffle_epi8(bytes, from), _mm_set1_epi8(kFilling), from);
}

// Precondition: 0 < count < kBlock.
OFFSETFS_AVX2 inline __m256i load_part(const char* at, std::size_t count) {
  if (count < 16) {
    return _mm256_set_m128i(_mm_set1_epi8(kFilling),
                            shuffle_or_fill(load_ends(at, count), kJoining[count].data()));
  }
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + count - 16));
  return _mm256_set_m128i(shuffle_or_fill(high, kShifting.data() + (kBlock - count)), low);
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
      look_at<Rules>(load_part(at, left), seen);
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

// `count` bytes at `at`; `bytes` holds them, filled up to a block. The filling escapes nothing and
// lies behind, so its length is what must be taken off.
template <class Rules>
OFFSETFS_AVX2 inline char* write_block(__m256i bytes, const char* at, std::size_t count,
                                       char* out) {
  const auto special = static_cast<unsigned>(_mm256_movemask_epi8(Rules::special(bytes)));
  if (special == 0) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), bytes);
    return out + count;
  }
  if (_mm256_movemask_epi8(Rules::long_form(bytes)) != 0) {
    return write_escaped(Rules::kRules, at, at + count, out);
  }
  const __m256i letters = Rules::letters(bytes);
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i low = _mm256_castsi256_si128(letters);
  const __m128i high = _mm256_extracti128_si256(letters, 1);
  out = write_eight(_mm_unpacklo_epi8(backslash, low), special & 0xff, out);
  out = write_eight(_mm_unpackhi_epi8(backslash, low), special >> 8 & 0xff, out);
  out = write_eight(_mm_unpacklo_epi8(backslash, high), special >> 16 & 0xff, out);
  out = write_eight(_mm_unpackhi_epi8(backslash, high), special >> 24, out);
  return out - (kBlock - count);
}

template <class Rules>
OFFSETFS_AVX2 char* write(storage::Bytes bytes, char* out) {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kBlock; left -= kBlock, at += kBlock) {
    out = write_block<Rules>(load(at), at, kBlock, out);
  }
  return left == 0 ? out : write_block<Rules>(load_part(at, left), at, left, out);
}

constexpr Escaper kJson{scan<Json>, write<Json>};
constexpr Escaper kTsv{scan<Tsv>, write<Tsv>};

bool has_avx2() {
  static const bool kHas = __builtin_cpu_supports("avx2") != 0 &&
                           __builtin_cpu_supports("bmi") != 0 &&
                           __builtin_cpu_supports("popcnt") != 0;
  return kHas;
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
