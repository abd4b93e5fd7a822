#include "fs/json_object.h"

#include <string>

#include <gtest/gtest.h>

namespace offsetfs::fs {
namespace {

TEST(JsonObject, FieldsStandInTheOrderTheyWereAdded) {
  EXPECT_EQ(JsonObject()
                .number("n", -7)
                .text("t", "a\"b\n")
                .boolean("b", true)
                .null("z")
                .raw("r", "[1,2]")
                .take(),
            R"({"n":-7,"t":"a\"b\n","b":true,"z":null,"r":[1,2]})");
  EXPECT_EQ(JsonObject().take(), "{}");
}

TEST(JsonObject, AnObjectEndsWhenItIsTaken) {
  JsonObject object;
  object.number("a", 1);
  EXPECT_EQ(object.take(), R"({"a":1})");
  object.number("b", 2);
  EXPECT_EQ(object.take(), R"({"b":2})");
}

TEST(JsonString, IsQuotedEscapedAndUtf8) {
  EXPECT_EQ(json_string(""), R"("")");
  EXPECT_EQ(json_string("\x1b[31m\t"), R"("\u001B[31m\t")");
  EXPECT_EQ(json_string("é\xff"), "\"é\xef\xbf\xbd\"");
  EXPECT_EQ(json_string(std::string(1000, '"')).size(), 2002U);
}

}  // namespace
}  // namespace offsetfs::fs
