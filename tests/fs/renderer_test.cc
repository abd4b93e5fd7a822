#include "fs/renderer.h"

#include <random>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fs/utf8.h"
#include "tests/support/record_fields.h"

namespace offsetfs::fs {
namespace {

using nlohmann::json;
using storage::TimestampType;
using tests::HeaderList;
using tests::RecordFields;
using tests::RecordView;

const RenderContext kContext{"shapes", 0, 1};

std::string line(Form form, RecordFields fields, const RenderContext& context = kContext) {
  const RecordView record(std::move(fields));
  const auto renderer = make_renderer(form, context);
  std::string out = "before";
  renderer->append(*record, out);
  EXPECT_EQ(out.substr(0, 6), "before");
  out.erase(0, 6);
  EXPECT_EQ(renderer->size(*record), out.size());
  return out;
}

RecordFields record(std::optional<std::string> key, std::optional<std::string> value,
                    HeaderList headers = {}) {
  RecordFields fields;
  fields.key = std::move(key);
  fields.value = std::move(value);
  fields.headers = std::move(headers);
  return fields;
}

std::string jsonl(std::optional<std::string> key, std::optional<std::string> value,
                  HeaderList headers = {}) {
  return line(Form::kJsonl, record(std::move(key), std::move(value), std::move(headers)));
}

// The front that all records of this file share.
const std::string kFront =
    R"({"topic":"shapes","partition":0,"offset":0,"tstype":"create","ts":1793247836476,"broker":1)";

// Lines that kcat 1.7.1 printed of records of these shapes.
TEST(JsonLine, NullAndEmptyAreToldApart) {
  EXPECT_EQ(jsonl({}, "null key"), kFront + R"(,"key":null,"payload":"null key"})"
                                            "\n");
  EXPECT_EQ(jsonl("", "empty key"), kFront + R"(,"key":"","payload":"empty key"})"
                                             "\n");
  EXPECT_EQ(jsonl("tombstone", {}), kFront + R"(,"key":"tombstone","payload":null})"
                                             "\n");
  EXPECT_EQ(jsonl("empty value", ""), kFront + R"(,"key":"empty value","payload":""})"
                                               "\n");
  EXPECT_EQ(jsonl({}, {}), kFront + R"(,"key":null,"payload":null})"
                                    "\n");
}

TEST(JsonLine, ControlsAndQuotesAreEscapedAsKcatDoes) {
  EXPECT_EQ(
      jsonl("newline", std::string("line one\nline two\n\ttabbed \"quoted\" \\ back\0nul", 45)),
      kFront +
          R"(,"key":"newline","payload":"line one\nline two\n\ttabbed \"quoted\" \\ back\u0000nul"})"
          "\n");
  EXPECT_EQ(jsonl("json", R"({"id": 7, "name": "x"})"),
            kFront + R"(,"key":"json","payload":"{\"id\": 7, \"name\": \"x\"}"})"
                     "\n");
  EXPECT_EQ(jsonl("a/b", "\x7f\x1f"), kFront + ",\"key\":\"a/b\",\"payload\":\"\x7f\\u001F\"}\n");
  EXPECT_EQ(
      jsonl("emoji", "日本語 한국어 🙂 \xe2\x80\xa8 end"),
      kFront + ",\"key\":\"emoji\",\"payload\":\"日本語 한국어 🙂 \xe2\x80\xa8 end\"}\n");
}

TEST(JsonLine, HeadersAreAListOfNamesAndValuesBeforeTheKey) {
  EXPECT_EQ(jsonl("h", "headers",
                  {{"a", "1"}, {"a", "2"}, {"empty", ""}, {"null", {}}, {"üñí", "ключ\n"}}),
            kFront + R"(,"headers":["a","1","a","2","empty","","null",null,"üñí","ключ\n"])"
                     R"(,"key":"h","payload":"headers"})"
                     "\n");
}

TEST(JsonLine, WhatIsNotUtf8IsBase64AndSaysSo) {
  EXPECT_EQ(jsonl("\xff", "v"), kFront + R"(,"key":"/w==","key_encoding":"base64","payload":"v"})"
                                         "\n");
  EXPECT_EQ(jsonl("bad utf8", "\xff\xfe\x61\xc3\xc3"),
            kFront + R"(,"key":"bad utf8","payload":"//5hw8M=","payload_encoding":"base64"})"
                     "\n");
  EXPECT_EQ(jsonl({}, {}, {{"a", "\xff"}, {"b", {}}, {"", ""}}),
            kFront + R"(,"headers":["YQ==","/w==","Yg==",null,"",""],"headers_encoding":"base64")"
                     R"(,"key":null,"payload":null})"
                     "\n");
  EXPECT_EQ(jsonl({}, {}, {{"\xc0\x80", "1"}}),
            kFront + R"(,"headers":["wIA=","MQ=="],"headers_encoding":"base64")"
                     R"(,"key":null,"payload":null})"
                     "\n");
}

TEST(JsonLine, ATimeIsShownAsFarAsThereIsOne) {
  RecordFields fields = record("k", "v");
  fields.timestamp_type = TimestampType::kLogAppendTime;
  EXPECT_EQ(
      line(Form::kJsonl, fields),
      R"({"topic":"shapes","partition":0,"offset":0,"tstype":"logappend","ts":1793247836476,"broker":1,"key":"k","payload":"v"})"
      "\n");
  fields.timestamp_type = TimestampType::kCreateTime;
  fields.timestamp = -1;
  EXPECT_EQ(
      line(Form::kJsonl, fields),
      R"({"topic":"shapes","partition":0,"offset":0,"tstype":"create","ts":-1,"broker":1,"key":"k","payload":"v"})"
      "\n");
  fields.timestamp_type = TimestampType::kNone;
  EXPECT_EQ(line(Form::kJsonl, fields),
            R"({"topic":"shapes","partition":0,"offset":0,"broker":1,"key":"k","payload":"v"})"
            "\n");
}

TEST(JsonLine, TheBrokerIsLeftOutWhereItIsUnknown) {
  RecordFields fields = record("k", "v");
  fields.offset = INT64_MAX;
  EXPECT_EQ(
      line(Form::kJsonl, fields, {"we.ird-name_9", 7, {}}),
      R"({"topic":"we.ird-name_9","partition":7,"offset":9223372036854775807,"tstype":"create","ts":1793247836476,"key":"k","payload":"v"})"
      "\n");
}

TEST(JsonLine, ATopicThatIsNoNameOfKafkasStaysJson) {
  const std::string text = line(Form::kJsonl, record({}, {}), {"a\"b\xff", 0, {}});
  EXPECT_EQ(json::parse(text)["topic"], "a\"b\xef\xbf\xbd");
}

TEST(RawLine, AFieldIsItsBytesAndANewline) {
  EXPECT_EQ(line(Form::kValues, record("k", "a\"\n\xff")), "a\"\n\xff\n");
  EXPECT_EQ(line(Form::kKeys, record("k\t", "v")), "k\t\n");
  EXPECT_EQ(line(Form::kValues, record("k", {})), "\n");
  EXPECT_EQ(line(Form::kValues, record("k", "")), "\n");
  EXPECT_EQ(line(Form::kKeys, record({}, "v")), "\n");
}

TEST(TsvLine, FieldsAreEscapedForCopyAndNullIsMarked) {
  EXPECT_EQ(line(Form::kTsv, record("k", "v")), "0\t1793247836476\tk\tv\n");
  EXPECT_EQ(line(Form::kTsv, record({}, {})), "0\t1793247836476\t\\N\t\\N\n");
  EXPECT_EQ(line(Form::kTsv, record("", "")), "0\t1793247836476\t\t\n");
  EXPECT_EQ(line(Form::kTsv, record("a\tb", "c\nd\re\\f\"g\x01")),
            "0\t1793247836476\ta\\tb\tc\\nd\\re\\\\f\"g\x01\n");
  EXPECT_EQ(line(Form::kTsv, record("\\N", "\\.")), "0\t1793247836476\t\\\\N\t\\\\.\n");
}

TEST(TsvLine, BytesThatAreNotUtf8AreHexadecimalAndTheRestStays) {
  EXPECT_EQ(line(Form::kTsv, record("ключ", "a\xff\tb\xc3\xa9\xc3")),
            "0\t1793247836476\tключ\ta\\xff\\tb\xc3\xa9\\xc3\n");
}

TEST(TsvLine, NoTimeIsNull) {
  RecordFields fields = record("k", "v");
  fields.timestamp = -1;
  EXPECT_EQ(line(Form::kTsv, fields), "0\t\\N\tk\tv\n");
}

TEST(Renderer, OnlyATableHasAHeaderLine) {
  EXPECT_EQ(make_renderer(Form::kTsv, kContext)->header(), "offset\ttimestamp\tkey\tvalue\n");
  for (const Form form : {Form::kJsonl, Form::kValues, Form::kKeys}) {
    EXPECT_EQ(make_renderer(form, kContext)->header(), "");
  }
}

TEST(RendererDeathTest, AFormThatIsNoStreamIsAFault) {
  EXPECT_DEATH(make_renderer(Form::kKey, kContext), "not the form of a stream");
}

std::string unquote_base64(const std::string& text) {
  static const std::string kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<std::uint32_t>(kAlphabet.find(c));
    have += 6;
    if (have >= 8) bytes += static_cast<char>(bits >> (have -= 8));
  }
  return bytes;
}

class RandomRecords {
 public:
  explicit RandomRecords(std::uint64_t seed) : random_(seed) {}

  RecordFields next() {
    RecordFields fields;
    fields.offset = static_cast<std::int64_t>(random_() >> 1 >> random_() % 63);
    fields.timestamp = static_cast<std::int64_t>(random_() >> 1 >> random_() % 63) - 1;
    fields.timestamp_type = static_cast<TimestampType>(random_() % 3);
    fields.key = field();
    fields.value = field();
    for (std::size_t count = random_() % 4 == 0 ? random_() % 6 : 0; count > 0; --count) {
      fields.headers.emplace_back(field().value_or("name"), field());
    }
    return fields;
  }

 private:
  std::optional<std::string> field() {
    static const std::vector<std::string> kPieces{
        "a",    "word ", "\"", "\\",     "\n",   "\t",       std::string(1, '\0'),
        "\x1f", "\x7f",  "é",  "日本語", "🙂", "{\"id\":", std::string(33, '.')};
    static const std::vector<std::string> kBroken{"\xff", "\xc3", "\xe2\x80", "\xed\xa0\x80",
                                                  "\xc0\x80"};
    if (random_() % 10 == 0) return std::nullopt;
    std::string text;
    const bool broken = random_() % 5 == 0;
    for (std::size_t count = random_() % 30; count > 0; --count) {
      text += broken && random_() % 4 == 0 ? kBroken[random_() % kBroken.size()]
                                           : kPieces[random_() % kPieces.size()];
    }
    return text;
  }

  std::mt19937_64 random_;
};

// What a reader of the JSON has in hand again.
std::optional<std::string> decoded(const json& value, bool is_base64) {
  if (value.is_null()) return std::nullopt;
  return is_base64 ? unquote_base64(value.get<std::string>()) : value.get<std::string>();
}

TEST(RendererProperty, AJsonLineGivesTheRecordBack) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomRecords random(seed);
  for (int i = 0; i < 5'000; ++i) {
    const RecordFields fields = random.next();
    const std::string text = line(Form::kJsonl, fields);
    ASSERT_EQ(text.find('\n'), text.size() - 1);
    ASSERT_TRUE(is_utf8(text));
    const json object = json::parse(text);
    EXPECT_EQ(object["offset"], fields.offset);
    EXPECT_EQ(decoded(object["key"], object.contains("key_encoding")), fields.key);
    EXPECT_EQ(decoded(object["payload"], object.contains("payload_encoding")), fields.value);
    ASSERT_EQ(object.contains("headers"), !fields.headers.empty());
    for (std::size_t h = 0; h < fields.headers.size(); ++h) {
      const bool is_base64 = object.contains("headers_encoding");
      EXPECT_EQ(decoded(object["headers"][2 * h], is_base64), fields.headers[h].first);
      EXPECT_EQ(decoded(object["headers"][2 * h + 1], is_base64), fields.headers[h].second);
    }
  }
}

TEST(RendererProperty, ASizeIsExactlyWhatIsAppended) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomRecords random(seed);
  for (const Form form : {Form::kJsonl, Form::kValues, Form::kKeys, Form::kTsv}) {
    const auto renderer = make_renderer(form, kContext);
    std::string out;
    for (int i = 0; i < 5'000; ++i) {
      const RecordView record(random.next());
      const std::size_t before = out.size();
      renderer->append(*record, out);
      ASSERT_EQ(out.size() - before, renderer->size(*record));
    }
  }
}

}  // namespace
}  // namespace offsetfs::fs
