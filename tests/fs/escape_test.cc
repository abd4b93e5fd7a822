#include "fs/escape.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace offsetfs::fs {
namespace {

// A buffer of exactly the size that the contract asks for, so that a sanitizer sees one byte more.
std::string escaped(const Escaper& escaper, const std::string& bytes) {
  const std::size_t size = bytes.size() + escaper.scan(bytes).added_bytes;
  std::vector<char> out(size + kEscapeSlackBytes);
  const char* const end = escaper.write(bytes, out.data());
  EXPECT_EQ(static_cast<std::size_t>(end - out.data()), size);
  return {out.data(), size};
}

std::string json(const std::string& bytes) { return escaped(json_escaper(), bytes); }
std::string tsv(const std::string& bytes) { return escaped(tsv_escaper(), bytes); }

TEST(JsonEscape, EveryByteIsWrittenAsYajlWritesIt) {
  // What yajl_gen_string() of YAJL 2.1.0 gives.
  const char* const controls[] = {
      "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007",
      "\\b",     "\\t",     "\\n",     "\\u000B", "\\f",     "\\r",     "\\u000E", "\\u000F",
      "\\u0010", "\\u0011", "\\u0012", "\\u0013", "\\u0014", "\\u0015", "\\u0016", "\\u0017",
      "\\u0018", "\\u0019", "\\u001A", "\\u001B", "\\u001C", "\\u001D", "\\u001E", "\\u001F"};
  for (int c = 0; c < 256; ++c) {
    const std::string byte(1, static_cast<char>(c));
    const std::string expected = c < 0x20    ? controls[c]
                                 : c == '"'  ? "\\\""
                                 : c == '\\' ? "\\\\"
                                             : byte;
    EXPECT_EQ(json(byte), expected) << c;
    // Where it stands in a block must make no difference.
    for (const std::size_t before : {1U, 7U, 8U, 15U, 16U, 31U, 32U, 33U, 63U, 100U}) {
      const std::string left(before, '.');
      EXPECT_EQ(json(left + byte + "tail"), left + expected + "tail") << c << " at " << before;
    }
  }
}

TEST(TsvEscape, OnlyWhatCopyNeedsIsEscaped) {
  EXPECT_EQ(tsv("a\tb\nc\rd\\e"), "a\\tb\\nc\\rd\\\\e");
  EXPECT_EQ(tsv("\\N"), "\\\\N");
  for (int c = 0; c < 256; ++c) {
    if (c == '\t' || c == '\n' || c == '\r' || c == '\\') continue;
    const std::string byte(1, static_cast<char>(c));
    EXPECT_EQ(tsv(byte), byte) << c;
    EXPECT_EQ(tsv(std::string(40, '\t') + byte).back(), byte[0]) << c;
  }
}

TEST(Escape, AsciiIsToldFromTheRest) {
  EXPECT_TRUE(json_escaper().scan("").is_ascii);
  for (std::size_t size = 1; size < 200; ++size) {
    std::string bytes(size, '\x7f');
    EXPECT_TRUE(json_escaper().scan(bytes).is_ascii);
    EXPECT_TRUE(portable_json_escaper().scan(bytes).is_ascii);
    for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
      bytes[at] = '\x80';
      EXPECT_FALSE(json_escaper().scan(bytes).is_ascii) << size << " " << at;
      EXPECT_FALSE(tsv_escaper().scan(bytes).is_ascii) << size << " " << at;
      EXPECT_FALSE(portable_tsv_escaper().scan(bytes).is_ascii) << size << " " << at;
      bytes[at] = '\x7f';
    }
  }
}

TEST(Escape, NothingIsEscapedToNothing) {
  EXPECT_EQ(json(""), "");
  EXPECT_EQ(tsv(""), "");
  EXPECT_EQ(json_escaper().scan(storage::Bytes{}).added_bytes, 0U);
}

TEST(Escape, CountsDoNotOverflowOnLongFields) {
  for (const std::size_t size : {255U * 32, 256U * 32, 257U * 32 + 5, 1'000'003U}) {
    EXPECT_EQ(json_escaper().scan(std::string(size, '\x01')).added_bytes, 5 * size) << size;
    EXPECT_EQ(json_escaper().scan(std::string(size, '"')).added_bytes, size) << size;
    EXPECT_EQ(tsv_escaper().scan(std::string(size, '\t')).added_bytes, size) << size;
    EXPECT_EQ(json_escaper().scan(std::string(size, 'x')).added_bytes, 0U) << size;
  }
}

std::string random_bytes(std::mt19937_64& random) {
  static const std::string kSpecial = std::string("\"\\\t\n\r\b\f\0\x01\x0b\x1f\x7f\x80\xff", 14);
  const std::size_t density = random() % 4;  // none, few, many, all special
  std::string bytes(random() % 300, ' ');
  for (char& c : bytes) {
    const bool special = density == 3 || (density > 0 && random() % (density == 1 ? 40 : 4) == 0);
    c = special ? kSpecial[random() % kSpecial.size()] : static_cast<char>('a' + random() % 26);
  }
  return bytes;
}

TEST(EscapeProperty, TheFastPathAgreesWithThePlainLoops) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    const std::string bytes = random_bytes(random);
    ASSERT_EQ(json(bytes), escaped(portable_json_escaper(), bytes));
    ASSERT_EQ(tsv(bytes), escaped(portable_tsv_escaper(), bytes));
  }
}

}  // namespace
}  // namespace offsetfs::fs
