#include "fs/line_parser.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fs/renderer.h"
#include "tests/support/record_fields.h"

namespace offsetfs::fs {
namespace {

using storage::Bytes;
using storage::TimestampMs;

class JsonLineTest : public testing::Test {
 protected:
  NewRecord record(const std::string& line) {
    line_ = line;
    const auto parsed = parser_->parse(line_);
    EXPECT_TRUE(parsed) << line << ": " << (parsed ? "" : parsed.error().what);
    EXPECT_TRUE(!parsed || *parsed) << line << ": taken for blank";
    return parsed && *parsed ? **parsed : NewRecord{};
  }
  std::string refusal(const std::string& line) {
    line_ = line;
    const auto parsed = parser_->parse(line_);
    EXPECT_FALSE(parsed) << line << " was taken";
    return parsed ? "" : parsed.error().what;
  }

  std::string line_;
  const std::unique_ptr<LineParser> parser_ = make_json_line_parser();
};

TEST_F(JsonLineTest, KeyPayloadHeadersAndTimeAreTaken) {
  const NewRecord read =
      record(R"({"key":"k","ts":1793247836476,"headers":["a","1","b",null],"payload":"v"})");
  EXPECT_EQ(read.key, "k");
  EXPECT_EQ(read.value, "v");
  EXPECT_EQ(read.timestamp, TimestampMs{1793247836476});
  ASSERT_EQ(read.headers.size(), 2U);
  EXPECT_EQ(read.headers[0].key, "a");
  EXPECT_EQ(read.headers[0].value, "1");
  EXPECT_EQ(read.headers[1].key, "b");
  EXPECT_EQ(read.headers[1].value, std::nullopt);
}

TEST_F(JsonLineTest, WhatIsLeftOutIsNullAndTimeIsTheClocks) {
  const NewRecord read = record(R"({"payload":null})");
  EXPECT_EQ(read.key, std::nullopt);
  EXPECT_EQ(read.value, std::nullopt);
  EXPECT_EQ(read.timestamp, std::nullopt);
  EXPECT_TRUE(read.headers.empty());
}

TEST_F(JsonLineTest, NothingIsKeptFromTheLineBefore) {
  record(R"({"key":"k","ts":5,"headers":["a","1"],"payload":"dg==","payload_encoding":"base64"})");
  const NewRecord read = record(R"({"payload":"w"})");
  EXPECT_EQ(read.key, std::nullopt);
  EXPECT_EQ(read.value, "w");
  EXPECT_EQ(read.timestamp, std::nullopt);
  EXPECT_TRUE(read.headers.empty());
}

TEST_F(JsonLineTest, EscapesStandForTheirCharacters) {
  EXPECT_EQ(record(R"({"payload":"\"\\\/\b\f\n\r\t\u0041\u00e4\ud83d\ude00"})").value,
            "\"\\/\b\f\n\r\tA\u00e4\U0001F600");
  EXPECT_EQ(record(R"({"payload":"a\u0000b"})").value, std::string("a\0b", 3));
}

TEST_F(JsonLineTest, EncodingsMayStandBeforeOrBehindWhatTheySpeakOf) {
  EXPECT_EQ(record(R"({"payload":"/w==","payload_encoding":"base64"})").value, "\xff");
  EXPECT_EQ(record(R"({"payload_encoding":"base64","payload":"/w=="})").value, "\xff");
  const NewRecord read = record(
      R"({"headers":["/w==","gA==","YQ==",null],"headers_encoding":"base64","payload":"/w==",)"
      R"("key":"gIA=","key_encoding":"base64"})");
  EXPECT_EQ(read.value, "/w==");
  EXPECT_EQ(read.key, "\x80\x80");
  EXPECT_EQ(read.headers[0].key, "\xff");
  EXPECT_EQ(read.headers[0].value, "\x80");
  EXPECT_EQ(read.headers[1].key, "a");
  EXPECT_EQ(read.headers[1].value, std::nullopt);
}

TEST_F(JsonLineTest, WhatTheLogAssignsIsPassedOver) {
  const NewRecord read = record(
      R"({"topic":"other","partition":9,"offset":77,"tstype":"logappend","ts":-1,"broker":1,)"
      R"("key":null,"payload":"v","leader_epoch":0,"producer_id":-1,"producer_epoch":-1,)"
      R"("sequence":-1,"transactional":false,"codec":"zstd","segment":"00000000000000000000",)"
      R"("position":0,"batch_base_offset":0,"batch_last_offset":1,"crc_valid":true})");
  EXPECT_EQ(read.value, "v");
  EXPECT_EQ(read.timestamp, storage::kNoTimestamp);
}

TEST_F(JsonLineTest, BlankLinesAreNoRecords) {
  for (const char* line : {"", " ", "\t \r"}) {
    const auto parsed = parser_->parse(line);
    ASSERT_TRUE(parsed) << '[' << line << ']';
    EXPECT_FALSE(*parsed) << '[' << line << ']';
  }
}

TEST_F(JsonLineTest, ARefusalSaysWhereAndWhatWasExpected) {
  const std::pair<const char*, const char*> refusals[] = {
      {R"([1])", R"(column 1: expected an object)"},
      {R"(  "a")", R"(column 3: expected an object)"},
      {R"({"payload":5})", R"(column 12: "payload": expected a string or null, found a number)"},
      {R"({"payload":{"a":1}})",
       R"(column 12: "payload": expected a string or null, found an object)"},
      {R"({"value":"v"})",
       R"(column 2: unknown field "value"; a record has key, payload, headers and ts)"},
      {R"({"key":"k"})", R"(column 12: no "payload" in it; of a tombstone it is "payload":null)"},
      {R"({"payload":"a","payload":"b"})", R"(column 16: a second "payload")"},
      {R"({"ts":"5","payload":""})",
       R"(column 7: "ts": expected milliseconds since 1970, found a string)"},
      {R"({"ts":1.5,"payload":""})", R"(column 7: "ts": expected whole milliseconds since 1970)"},
      {R"({"ts":-2,"payload":""})", R"(column 7: "ts": expected -1 (none) or more, found -2)"},
      {R"({"ts":99999999999999999999,"payload":""})",
       R"(column 7: "ts": expected whole milliseconds since 1970)"},
      {R"({"headers":["a"],"payload":""})",
       R"(column 12: "headers": expected names and values in turn, found 1 strings)"},
      {R"({"headers":[null,"a"],"payload":""})",
       R"(column 13: "headers": expected a name, found null)"},
      {R"({"headers":{"a":"b"},"payload":""})",
       R"(column 12: "headers": expected an array of names and values, found an object)"},
      {R"({"payload":"_","payload_encoding":"base64"})",
       R"(column 12: "payload": no base64 (RFC 4648, padded))"},
      {R"({"payload":"","payload_encoding":"hex"})",
       R"(column 34: "payload_encoding": expected "base64", found "hex")"},
      {R"({"payload":"","control":{"type":"COMMIT"}})",
       R"(column 15: a control record is the broker's to write, and no record)"},
      {R"({"payload":""} {"payload":""})",
       R"(column 16: expected the line's end behind the object)"},
      {R"({"topic":["t"],"payload":""})",
       R"(column 10: "topic": expected one value, found an array)"},
  };
  for (const auto& [line, what] : refusals) EXPECT_EQ(refusal(line), what) << line;
}

TEST_F(JsonLineTest, BytesThatAreNoUtf8AreNamedByTheirPlace) {
  EXPECT_EQ(refusal("{\"payload\":\"abc\xff\"}").substr(0, 18), "column 16: no JSON");
}

// What a strict parser takes, and nothing else; never a crash.
TEST_F(JsonLineTest, LinesWithOneByteChangedAreTakenOrRefusedAsByAStrictParser) {
  const std::string good =
      R"({"topic":"t","partition":0,"offset":12,"ts":-1,"headers":["a\u00e4","b","","c"],)"
      R"("key":null,"payload":"\ud83d\ude00xyz","crc_valid":true})";
  ASSERT_TRUE(*parser_->parse(good));
  const std::string alphabet = "\"\\{}[]:,0-1.eutfnl \t\x01\x80\xc3";
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 20000; ++i) {
    std::string line = good;
    for (unsigned changes = 1 + random() % 2; changes > 0; --changes) {
      const std::size_t at = random() % line.size();
      switch (random() % 3) {
        case 0: line[at] = alphabet[random() % alphabet.size()]; break;
        case 1: line.erase(at, 1); break;
        default: line.insert(at, 1, alphabet[random() % alphabet.size()]);
      }
    }
    const bool is_json = nlohmann::json::accept(line);
    const auto parsed = parser_->parse(line);
    EXPECT_TRUE(is_json || !parsed) << line;
    EXPECT_TRUE(parsed || parsed.error().code == storage::Errc::kInvalid) << line;
  }
}

TEST(TextLine, IsTheValueUpToItsNewline) {
  const auto parser = make_text_line_parser("");
  EXPECT_EQ((*parser->parse("a\tb\r"))->value, "a\tb\r");
  EXPECT_EQ((*parser->parse(""))->value, "");
  EXPECT_EQ((*parser->parse(""))->key, std::nullopt);
}

TEST(TextLine, IsSplitAtTheFirstSeparator) {
  const auto parser = make_text_line_parser("::");
  const auto record = parser->parse("k:1::v::w");
  EXPECT_EQ((*record)->key, "k:1");
  EXPECT_EQ((*record)->value, "v::w");
  EXPECT_EQ((*parser->parse("::"))->key, "");
  EXPECT_EQ((*parser->parse("::"))->value, "");
  const auto refused = parser->parse("no key");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what,
            "no key separator '::' in it, so no telling the key from the value");
}

// Whatever bytes a record has, its line says them all.
TEST(JsonLineRoundTrip, ARecordsLineMakesTheSameRecord) {
  const auto parser = make_json_line_parser();
  const auto renderer = make_renderer(Form::kJsonl, {"orders", 3, 1});
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto bytes = [&]() -> std::optional<std::string> {
    if (random() % 5 == 0) return std::nullopt;
    const bool is_text = random() % 2 == 0;
    std::string made(random() % 40, '\0');
    for (char& c : made) c = static_cast<char>(random() % (is_text ? 128 : 256));
    return made;
  };
  for (int i = 0; i < 3000; ++i) {
    const auto key = bytes();
    const auto value = bytes();
    tests::HeaderList headers(random() % 4);
    for (auto& [name, content] : headers) {
      name = bytes().value_or("");
      content = bytes();
    }
    tests::RecordFields fields;
    fields.timestamp = static_cast<std::int64_t>(random()) - 1;
    fields.key = key;
    fields.value = value;
    fields.headers = headers;
    const tests::RecordView record(fields);
    std::string line;
    renderer->append(*record, line);
    line.pop_back();
    const auto parsed = parser->parse(line);
    ASSERT_TRUE(parsed) << line << ": " << parsed.error().what;
    ASSERT_TRUE(*parsed);
    EXPECT_EQ((*parsed)->key, (*record).key) << line;
    EXPECT_EQ((*parsed)->value, (*record).value) << line;
    EXPECT_EQ((*parsed)->timestamp, (*record).timestamp) << line;
    ASSERT_EQ((*parsed)->headers.size(), headers.size()) << line;
    for (std::size_t h = 0; h < headers.size(); ++h) {
      EXPECT_EQ((*parsed)->headers[h].key, headers[h].first) << line;
      EXPECT_EQ((*parsed)->headers[h].value.has_value(), headers[h].second.has_value()) << line;
      EXPECT_EQ((*parsed)->headers[h].value.value_or("-"), headers[h].second.value_or("-")) << line;
    }
  }
}

}  // namespace
}  // namespace offsetfs::fs
