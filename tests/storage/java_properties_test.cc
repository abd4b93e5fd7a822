#include "storage/java_properties.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

using testing::HasSubstr;

TEST(JavaPropertiesTest, EachRuleOfTheFormat) {
  struct Row {
    std::string text;
    JavaProperties expected;
  };
  for (const auto& [text, expected] : std::initializer_list<Row>{
           {"", {}},
           {"a=1", {{"a", "1"}}},
           {"a=1\nb=2\r\nc=3\rd=4", {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}}},
           {"# a=1\n  ! b=2\n\n \t\f\nc=3", {{"c", "3"}}},
           {"a = 1\nb : 2\nc 3\nd\t4", {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}}},
           {"   a=1", {{"a", "1"}}},
           {"a=1  ", {{"a", "1  "}}},
           {"a==1\nb = = 2\nc: :3", {{"a", "=1"}, {"b", "= 2"}, {"c", ":3"}}},
           {"a=b=c", {{"a", "b=c"}}},
           {"a\nb=\nc:", {{"a", ""}, {"b", ""}, {"c", ""}}},
           {"=1", {{"", "1"}}},
           {"a\\=b=1\nc\\:d=2\ne\\ f=3", {{"a=b", "1"}, {"c:d", "2"}, {"e f", "3"}}},
           {"a=\\t\\n\\r\\f\\\\\\q\\=", {{"a", "\t\n\r\f\\q="}}},
           {"a=\\u0041\\u00e4\\u20ac", {{"a", "A\xc3\xa4\xe2\x82\xac"}}},
           {"\\u0061=1", {{"a", "1"}}},
           {"a=\\ud83d\\ude00!", {{"a", "\xf0\x9f\x98\x80!"}}},
           {"a=\\ud83d!\nb=\\ude00", {{"a", "\xef\xbf\xbd!"}, {"b", "\xef\xbf\xbd"}}},
           {"a=one\\\n   two\\\r\n\tthree", {{"a", "onetwothree"}}},
           {"a=one\\\\\nb=2", {{"a", "one\\"}, {"b", "2"}}},
           {"a=one\\\\\\\n two", {{"a", "one\\two"}}},
           {"a=one\\\n# no comment", {{"a", "one# no comment"}}},
           {"a=one\\\n\nb=2", {{"a", "one"}, {"b", "2"}}},
           {"# a comment ends with its line \\\nb=2", {{"b", "2"}}},
           {"a=one\\", {{"a", "one"}}},
           {"\\\na=1", {{"a", "1"}}},
           {"a=1\na=2", {{"a", "2"}}},
           {"a=\xc3\xa4", {{"a", "\xc3\xa4"}}},
       }) {
    const auto parsed = parse_java_properties(text, "f");
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().what;
    EXPECT_EQ(*parsed, expected) << text;
  }
}

TEST(JavaPropertiesTest, AMalformedEscapeIsToldWithItsLine) {
  for (const char* value : {"\\u", "\\u12", "\\u12g4", "\\uuuuu", "\\ud83d\\u12"}) {
    const auto parsed = parse_java_properties("# one\na=" + std::string(value) + "\n", "f");
    ASSERT_FALSE(parsed) << value;
    EXPECT_EQ(parsed.error().code, Errc::kCorrupt);
    EXPECT_THAT(parsed.error().what, HasSubstr("f:2"));
  }
}

// A path of log.dirs: Java reads bytes, not UTF-8.
TEST(JavaPropertiesTest, WhatIsBeyondAsciiIsWrittenInEscapes) {
  const JavaProperties properties = {{"log.dirs", "/srv/M\xc3\xbcll/\xe2\x82\xac/\xf0\x9f\x98\x80"},
                                     {"no.utf8", "a\xff\xed\xa0\x80\xc0\xaf\xe2\x82"}};
  const std::string text = render_java_properties(properties);
  EXPECT_THAT(text, HasSubstr("log.dirs=/srv/M\\u00fcll/\\u20ac/\\ud83d\\ude00\n"));
  EXPECT_EQ(*parse_java_properties(text, "f"), properties);
}

TEST(JavaPropertiesTest, GarbageIsReadOrRefused) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  constexpr std::string_view kAlphabet = "a=: \t\\u0d8#!\n\r\f";
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 40, '\0');
    for (auto& c : text) c = kAlphabet[random() % kAlphabet.size()];
    const auto parsed = parse_java_properties(text, "f");
    if (!parsed) {
      EXPECT_EQ(parsed.error().code, Errc::kCorrupt);
    }
  }
}

}  // namespace
}  // namespace offsetfs::storage
