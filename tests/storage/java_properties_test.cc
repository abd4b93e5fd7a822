#include "storage/java_properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(JavaProperties, KeysEndAtAnEqualsSignAColonOrABlank) {
  EXPECT_THAT(parse_java_properties("a=1\nb:2\nc 3\n  d =  4 5 \ne\n"),
              ElementsAre(Pair("a", "1"), Pair("b", "2"), Pair("c", "3"), Pair("d", "4 5 "),
                          Pair("e", "")));
}

TEST(JavaProperties, ValuesKeepTheirOwnEqualsSigns) {
  EXPECT_THAT(parse_java_properties("k=a=b:c\n"), ElementsAre(Pair("k", "a=b:c")));
}

TEST(JavaProperties, CommentsAndEmptyLinesSayNothing) {
  EXPECT_THAT(parse_java_properties("#a=1\n  ! b=2\n\n \t\r\n#c \\\nd=4\n"),
              ElementsAre(Pair("d", "4")));
}

TEST(JavaProperties, ABackslashAtTheEndGoesOnInTheNextLine) {
  EXPECT_THAT(parse_java_properties("log.dirs=/a,\\\n   /b,\\\n\t/c\nx=1"),
              ElementsAre(Pair("log.dirs", "/a,/b,/c"), Pair("x", "1")));
}

TEST(JavaProperties, TwoBackslashesAtTheEndAreOneBackslash) {
  EXPECT_THAT(parse_java_properties("a=1\\\\\nb=2"), ElementsAre(Pair("a", "1\\"), Pair("b", "2")));
}

TEST(JavaProperties, EscapesAreRead) {
  EXPECT_THAT(parse_java_properties("a\\=b=\\u00e4\\t\\q\\u20ac\\u12\nc=C:\\\\data"),
              ElementsAre(Pair("a=b", "\u00e4\tq\u20acu12"), Pair("c", "C:\\data")));
}

TEST(JavaProperties, TheLastOfTwoHolds) {
  EXPECT_THAT(parse_java_properties("a=1\na=2"), ElementsAre(Pair("a", "2")));
}

TEST(JavaProperties, LinesMayEndAsOnWindowsOrOnOldMacs) {
  EXPECT_THAT(parse_java_properties("a=1\r\nb=2\rc=3"),
              ElementsAre(Pair("a", "1"), Pair("b", "2"), Pair("c", "3")));
}

TEST(JavaProperties, ABackslashAtTheVeryEndIsDropped) {
  EXPECT_THAT(parse_java_properties("a=1\\"), ElementsAre(Pair("a", "1")));
  EXPECT_THAT(parse_java_properties("\\"), IsEmpty());
}

}  // namespace
}  // namespace offsetfs::storage
