#include "storage/codec.h"

#include <random>
#include <string>
#include <string_view>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lz4frame.h>
#include <zlib.h>
#include <zstd.h>

#include "storage/byte_reader.h"
#include "tests/support/hex.h"

namespace offsetfs::storage {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kLimit = 64 << 20;
constexpr Codec kCodecs[] = {Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd};

std::string compressed(Codec codec, std::string_view plain) {
  std::string out;
  compress(codec, plain, out);
  return out;
}

// What came out, or the error's code in brackets.
std::string expanded(Codec codec, std::string_view bytes, std::int64_t limit = kLimit) {
  std::string buffer;
  const auto plain = decompress(codec, bytes, buffer, limit);
  if (plain) return std::string(*plain);
  switch (plain.error().code) {
    case Errc::kCorrupt: return "[corrupt]";
    case Errc::kTooLarge: return "[too large]";
    case Errc::kUnsupported: return "[unsupported]";
    default: return "[another error]";
  }
}

std::string text_of(std::size_t size, std::mt19937_64& random) {
  std::string text;
  while (text.size() < size) text.append("w").append(std::to_string(random() % 500)).append(" ");
  text.resize(size);
  return text;
}

std::string noise_of(std::size_t size, std::mt19937_64& random) {
  std::string noise;
  for (std::size_t i = 0; i < size; ++i) noise.push_back(static_cast<char>(random()));
  return noise;
}

class EachCodec : public ::testing::TestWithParam<Codec> {};

INSTANTIATE_TEST_SUITE_P(CodecTest, EachCodec, ::testing::ValuesIn(kCodecs),
                         [](const auto& tested) { return codec_name(tested.param); });

TEST_P(EachCodec, WhatIsCompressedComesBack) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const std::size_t size : {0, 1, 15, 16, 100, 32767, 32768, 32769, 65536, 65537, 300000}) {
    for (const std::string& plain :
         {text_of(size, random), noise_of(size, random), std::string(size, '\0')})
      EXPECT_EQ(expanded(GetParam(), compressed(GetParam(), plain)), plain) << size;
  }
}

TEST_P(EachCodec, TheSameBufferServesAgainAndIsNotGrownInVain) {
  std::mt19937_64 random(1);
  const std::string large = text_of(200000, random);
  std::string buffer;
  ASSERT_TRUE(decompress(GetParam(), compressed(GetParam(), large), buffer, kLimit));
  const std::size_t capacity = buffer.capacity();
  EXPECT_LE(capacity, 8 * large.size());
  const auto small = decompress(GetParam(), compressed(GetParam(), "small"), buffer, kLimit);
  ASSERT_TRUE(small);
  EXPECT_EQ(*small, "small");
  EXPECT_EQ(buffer.capacity(), capacity);
}

TEST_P(EachCodec, TheLimitIsExact) {
  std::mt19937_64 random(2);
  for (const std::string& plain : {text_of(100000, random), std::string(100000, 'x')}) {
    const std::string bytes = compressed(GetParam(), plain);
    EXPECT_EQ(expanded(GetParam(), bytes, 100000), plain);
    EXPECT_EQ(expanded(GetParam(), bytes, 99999), "[too large]");
    EXPECT_EQ(expanded(GetParam(), bytes, 65536), "[too large]");
    EXPECT_EQ(expanded(GetParam(), bytes, 1), "[too large]");
    EXPECT_EQ(expanded(GetParam(), bytes, 0), "[too large]");
  }
}

TEST_P(EachCodec, ABombIsRefusedInMemoryOfTheLimitsOrder) {
  const std::string bomb = compressed(GetParam(), std::string(48 << 20, '\0'));
  std::string buffer;
  const auto plain = decompress(GetParam(), bomb, buffer, 1 << 20);
  ASSERT_FALSE(plain);
  EXPECT_EQ(plain.error().code, Errc::kTooLarge);
  EXPECT_THAT(plain.error().what, HasSubstr("more than 1048576 bytes"));
  EXPECT_LE(buffer.capacity(), 4U << 20);
}

TEST_P(EachCodec, EveryCutIsAnErrorOrShortNeverMore) {
  std::mt19937_64 random(3);
  const std::string plain = text_of(3000, random);
  const std::string bytes = compressed(GetParam(), plain);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string out = expanded(GetParam(), std::string_view(bytes).substr(0, size));
    EXPECT_TRUE(out == "[corrupt]" || (plain.starts_with(out) && out.size() < plain.size()))
        << size << ": " << out.size();
  }
}

TEST_P(EachCodec, NoFlippedByteCrashes) {
  std::mt19937_64 random(4);
  const std::string bytes = compressed(GetParam(), text_of(3000, random));
  std::string buffer;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int mask : {0x01, 0x10, 0x80, 0xff}) {
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ mask);
      const auto plain = decompress(GetParam(), flipped, buffer, 1 << 20);
      if (plain) {
        EXPECT_LE(plain->size(), 1U << 20);
      }
    }
  }
}

TEST_P(EachCodec, NoiseIsRefusedOrHarmless) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::string buffer;
  for (int round = 0; round < 2000; ++round) {
    const std::string noise = noise_of(random() % 200, random);
    const auto plain = decompress(GetParam(), noise, buffer, 1 << 20);
    EXPECT_LE(plain.value_or(Bytes()).size(), 1U << 20);
    EXPECT_LE(buffer.capacity(), 8U << 20);
  }
}

TEST(CodecTest, PlainBytesAreGivenAsTheyAre) { EXPECT_EQ(expanded(Codec::kNone, "abc"), "abc"); }

// --- gzip
// ------------------------------------------------------------------------------------------

TEST(GzipTest, MembersMayFollowEachOther) {
  const std::string two = compressed(Codec::kGzip, "one ") + compressed(Codec::kGzip, "two");
  EXPECT_EQ(expanded(Codec::kGzip, two), "one two");
}

TEST(GzipTest, WhatFollowsAndIsNoMemberIsNotLookedAt) {
  EXPECT_EQ(expanded(Codec::kGzip, compressed(Codec::kGzip, "one") + "\1\2\3 garbage"), "one");
}

TEST(GzipTest, AMemberOfAnotherWriterWithAllItsOptionalFieldsIsTaken) {
  // zlib's deflate in gzip dress, with a name, a comment, extra bytes and a header checksum.
  const std::string plain(70000, 'z');
  z_stream stream{};
  ASSERT_EQ(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string name = "records";
  std::string extra = "xx";
  gz_header header{};
  header.name = reinterpret_cast<Bytef*>(name.data());
  header.comment = reinterpret_cast<Bytef*>(name.data());
  header.extra = reinterpret_cast<Bytef*>(extra.data());
  header.extra_len = 2;
  header.hcrc = 1;
  ASSERT_EQ(deflateSetHeader(&stream, &header), Z_OK);
  std::string out(plain.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  EXPECT_EQ(expanded(Codec::kGzip, out), plain);
}

TEST(GzipTest, AClaimOfFourGigabytesIsNotBelieved) {
  std::string bytes = compressed(Codec::kGzip, "small");
  bytes.replace(bytes.size() - 4, 4, "\xff\xff\xff\xff");
  std::string buffer;
  const auto plain = decompress(Codec::kGzip, bytes, buffer, kLimit);
  ASSERT_FALSE(plain) << "the claimed size is part of the format, and wrong";
  EXPECT_LE(buffer.capacity(), 100000U);
}

// --- snappy
// ----------------------------------------------------------------------------------------

constexpr std::string_view kXerialHeader("\x82SNAPPY\0\0\0\0\1\0\0\0\1", 16);

std::string raw_snappy_block(std::string_view plain) {
  const std::string stream = compressed(Codec::kSnappy, plain);
  return stream.substr(kXerialHeader.size() + 4);
}

TEST(SnappyTest, IsWrittenAsXerialStream) {
  EXPECT_TRUE(compressed(Codec::kSnappy, "abc").starts_with(kXerialHeader));
  EXPECT_EQ(compressed(Codec::kSnappy, ""), kXerialHeader);
  EXPECT_EQ(expanded(Codec::kSnappy, kXerialHeader), "");
}

TEST(SnappyTest, WithoutTheMagicTheWholeIsOneRawBlock) {
  std::mt19937_64 random(5);
  for (const std::size_t size : {1, 3, 10, 20, 30000}) {
    const std::string plain = text_of(size, random);
    EXPECT_EQ(expanded(Codec::kSnappy, raw_snappy_block(plain)), plain);
  }
}

TEST(SnappyTest, StreamsMayFollowEachOther) {
  const std::string two = compressed(Codec::kSnappy, "one ") + compressed(Codec::kSnappy, "two");
  EXPECT_EQ(expanded(Codec::kSnappy, two), "one two");
}

TEST(SnappyTest, AHeaderOfAnImpossibleVersionIsUnsupported) {
  std::string bytes = compressed(Codec::kSnappy, "abc");
  bytes[11] = 0;
  EXPECT_EQ(expanded(Codec::kSnappy, bytes), "[unsupported]");
}

TEST(SnappyTest, ChunkLengthsThatCannotBeAreRefused) {
  for (const std::int32_t length : {-1, 6, 0x7fffffff}) {
    std::string bytes = compressed(Codec::kSnappy, "abc");
    store_big_endian(bytes.data() + 16, length);
    EXPECT_EQ(expanded(Codec::kSnappy, bytes), "[corrupt]") << length;
  }
  EXPECT_EQ(expanded(Codec::kSnappy, compressed(Codec::kSnappy, "abc") + "\1\2"), "[corrupt]");
}

TEST(SnappyTest, ABlockThatClaimsMoreThanItCanHoldAllocatesNothing) {
  // 32 MiB in eight bytes.
  const std::string lie = tests::unhex("8080801000000000");
  std::string buffer;
  ASSERT_FALSE(decompress(Codec::kSnappy, lie, buffer, kLimit));
  EXPECT_LE(buffer.capacity(), 1000U);
}

// --- lz4
// -------------------------------------------------------------------------------------------

TEST(Lz4Test, TheFrameHeaderIsTheOneThatKafkaWrites) {
  EXPECT_TRUE(compressed(Codec::kLz4, "abc").starts_with(tests::unhex("04224d18604082")));
  std::string old;
  compress(Codec::kLz4, "abc", old, Lz4HeaderSum::kOldWrong);
  EXPECT_TRUE(old.starts_with(tests::unhex("04224d1860401a")));
}

TEST(Lz4Test, TheOldWrongHeaderSumIsTakenOnlyWhereItIsExpected) {
  std::string old;
  compress(Codec::kLz4, "abc", old, Lz4HeaderSum::kOldWrong);
  std::string buffer;
  EXPECT_EQ(decompress(Codec::kLz4, old, buffer, kLimit, Lz4HeaderSum::kOldWrong).value_or("?"),
            "abc");
  EXPECT_EQ(expanded(Codec::kLz4, old), "[corrupt]");
}

// Frames as the LZ4 library itself writes them.
std::string lz4_library_frame(std::string_view plain, const LZ4F_preferences_t& preferences) {
  std::string frame(LZ4F_compressFrameBound(plain.size(), &preferences), '\0');
  frame.resize(
      LZ4F_compressFrame(frame.data(), frame.size(), plain.data(), plain.size(), &preferences));
  return frame;
}

LZ4F_preferences_t lz4_preferences() {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;
  preferences.frameInfo.blockSizeID = LZ4F_max64KB;
  return preferences;
}

TEST(Lz4Test, FramesOfAnyBlockSizeAndWithAllOptionalFieldsAreRead) {
  std::mt19937_64 random(6);
  const std::string plain = text_of(6 << 20, random) + noise_of(100000, random);
  for (const auto block_size : {LZ4F_max64KB, LZ4F_max256KB, LZ4F_max1MB, LZ4F_max4MB}) {
    for (const bool optional : {false, true}) {
      LZ4F_preferences_t preferences = lz4_preferences();
      preferences.frameInfo.blockSizeID = block_size;
      preferences.frameInfo.contentSize = optional ? plain.size() : 0;
      preferences.frameInfo.blockChecksumFlag =
          optional ? LZ4F_blockChecksumEnabled : LZ4F_noBlockChecksum;
      preferences.frameInfo.contentChecksumFlag =
          optional ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum;
      EXPECT_TRUE(expanded(Codec::kLz4, lz4_library_frame(plain, preferences)) == plain)
          << block_size << optional;
    }
  }
}

TEST(Lz4Test, ABlocksChecksumIsVerifiedTheContentsIsNot) {
  const std::string plain = "0123456789";
  LZ4F_preferences_t preferences = lz4_preferences();
  preferences.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled;
  std::string frame = lz4_library_frame(plain, preferences);
  frame[frame.size() - 5] ^= 1;  // before the end mark
  EXPECT_EQ(expanded(Codec::kLz4, frame), "[corrupt]");

  preferences = lz4_preferences();
  preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  frame = lz4_library_frame(plain, preferences);
  frame.back() ^= 1;
  EXPECT_EQ(expanded(Codec::kLz4, frame), plain);
}

TEST(Lz4Test, TheLibraryReadsWhatWeWrite) {
  std::mt19937_64 random(7);
  const std::string plain = text_of(150000, random) + noise_of(70000, random);
  const std::string frame = compressed(Codec::kLz4, plain);
  LZ4F_dctx* context = nullptr;
  ASSERT_EQ(LZ4F_createDecompressionContext(&context, LZ4F_VERSION), 0U);
  std::string out(plain.size() + 1, '\0');
  std::size_t read = frame.size();
  std::size_t written = out.size();
  EXPECT_EQ(LZ4F_decompress(context, out.data(), &written, frame.data(), &read, nullptr), 0U);
  LZ4F_freeDecompressionContext(context);
  out.resize(written);
  EXPECT_TRUE(out == plain);
}

TEST(Lz4Test, WhatFollowsTheEndMarkIsNotLookedAtButTheMarkMustBeThere) {
  const std::string bytes = compressed(Codec::kLz4, "abc");
  EXPECT_EQ(expanded(Codec::kLz4, bytes + "garbage"), "abc");
  EXPECT_EQ(expanded(Codec::kLz4, bytes.substr(0, bytes.size() - 4)), "[corrupt]");
}

TEST(Lz4Test, DependentBlocksDictionariesAndOtherVersionsAreUnsupported) {
  std::mt19937_64 random(8);
  LZ4F_preferences_t preferences = lz4_preferences();
  preferences.frameInfo.blockMode = LZ4F_blockLinked;
  EXPECT_EQ(expanded(Codec::kLz4, lz4_library_frame(text_of(200000, random), preferences)),
            "[unsupported]");
  preferences = lz4_preferences();
  preferences.frameInfo.dictID = 7;
  EXPECT_EQ(expanded(Codec::kLz4, lz4_library_frame("abc", preferences)), "[unsupported]");
  std::string frame = compressed(Codec::kLz4, "abc");
  frame[4] = '\xa0';
  EXPECT_EQ(expanded(Codec::kLz4, frame), "[unsupported]");
}

TEST(Lz4Test, ABlockLargerThanTheFrameAllowsIsRefused) {
  std::string frame = compressed(Codec::kLz4, "");
  frame.resize(7);
  frame += tests::unhex("01000180") + std::string(65537, 'x') + std::string(4, '\0');
  EXPECT_EQ(expanded(Codec::kLz4, frame), "[corrupt]");
}

// --- zstd
// ------------------------------------------------------------------------------------------

TEST(ZstdTest, IsWrittenWithoutContentSizeAsKafkaDoes) {
  const std::string bytes = compressed(Codec::kZstd, "abc");
  EXPECT_EQ(ZSTD_getFrameContentSize(bytes.data(), bytes.size()), ZSTD_CONTENTSIZE_UNKNOWN);
}

TEST(ZstdTest, FramesMayFollowEachOtherAndMaySayTheirSize) {
  std::string sized(200, '\0');
  sized.resize(ZSTD_compress(sized.data(), sized.size(), "two", 3, 1));
  EXPECT_EQ(expanded(Codec::kZstd, compressed(Codec::kZstd, "one ") + sized), "one two");
  EXPECT_EQ(expanded(Codec::kZstd, sized + compressed(Codec::kZstd, " one")), "two one");
}

TEST(ZstdTest, AFrameThatClaimsAGigabyteAllocatesNoneOfIt) {
  // A single segment of 1 GiB by its header, and one raw block of one byte.
  const std::string lie = tests::unhex(
      "28b52ffd"
      "a0"
      "00000040"
      "090000"
      "61");
  std::string buffer;
  const auto plain = decompress(Codec::kZstd, lie, buffer, kLimit);
  ASSERT_FALSE(plain);
  EXPECT_LE(buffer.capacity(), 100000U);
}

TEST(ZstdTest, DictionariesAndHugeWindowsAreRefusedForWhatTheyAre) {
  // A frame header with dictionary id 7; one with a window of 2^38 bytes.
  EXPECT_EQ(expanded(Codec::kZstd, tests::unhex("28b52ffd01580708000061090000")), "[unsupported]");
  EXPECT_EQ(expanded(Codec::kZstd, tests::unhex("28b52ffd00e0090000"
                                                "61")),
            "[too large]");
}

TEST(ZstdTest, AFailureLeavesNothingBehindForTheNextBatch) {
  const std::string good = compressed(Codec::kZstd, "good");
  EXPECT_EQ(expanded(Codec::kZstd, good.substr(0, good.size() - 1)), "[corrupt]");
  EXPECT_EQ(expanded(Codec::kZstd, good), "good");
}

TEST(CodecNames, AreReadAsTheyAreWritten) {
  for (const auto codec : {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd})
    EXPECT_EQ(codec_named(codec_name(codec)), codec);
  for (const auto* name : {"", "xz", "GZIP", "unknown", "producer"})
    EXPECT_EQ(codec_named(name), std::nullopt) << name;
}

}  // namespace
}  // namespace offsetfs::storage
