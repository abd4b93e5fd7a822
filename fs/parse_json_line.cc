#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "fs/base64.h"
#include "fs/line_parser.h"
#include "fs/utf8.h"

// The inverse of render_json.cc and render_record_json.cc. Every byte of a line is checked, those
// of what is passed over too: a line with a typing mistake is no record with something missing.

namespace offsetfs::fs {
namespace {

namespace ondemand = simdjson::ondemand;
using storage::Bytes;
using storage::Errc;
using storage::Result;

enum class Field : std::uint8_t {
  kKey,
  kPayload,
  kHeaders,
  kTimestamp,
  kKeyEncoding,
  kPayloadEncoding,
  kHeadersEncoding,
  kAssigned,  // by the log that the record comes into
  kControl,
};

struct FieldName {
  std::string_view name;
  Field field;
};
constexpr FieldName kFields[] = {
    {"topic", Field::kAssigned},
    {"partition", Field::kAssigned},
    {"offset", Field::kAssigned},
    {"tstype", Field::kAssigned},
    {"ts", Field::kTimestamp},
    {"broker", Field::kAssigned},
    {"headers", Field::kHeaders},
    {"headers_encoding", Field::kHeadersEncoding},
    {"key", Field::kKey},
    {"key_encoding", Field::kKeyEncoding},
    {"payload", Field::kPayload},
    {"payload_encoding", Field::kPayloadEncoding},
    {"leader_epoch", Field::kAssigned},
    {"producer_id", Field::kAssigned},
    {"producer_epoch", Field::kAssigned},
    {"sequence", Field::kAssigned},
    {"transactional", Field::kAssigned},
    {"codec", Field::kAssigned},
    {"segment", Field::kAssigned},
    {"position", Field::kAssigned},
    {"batch_base_offset", Field::kAssigned},
    {"batch_last_offset", Field::kAssigned},
    {"crc_valid", Field::kAssigned},
    {"control", Field::kControl},
};
static_assert(std::size(kFields) <= 32);  // bits of JsonLineParser::seen_

const char* name_of(ondemand::json_type type) {
  switch (type) {
    case ondemand::json_type::array: return "an array";
    case ondemand::json_type::object: return "an object";
    case ondemand::json_type::number: return "a number";
    case ondemand::json_type::string: return "a string";
    case ondemand::json_type::boolean: return "true or false";
    case ondemand::json_type::null: return "null";
  }
  return "something else";
}

class JsonLineParser final : public LineParser {
 public:
  Result<std::optional<NewRecord>> parse(Bytes line) override {
    if (line.find_first_not_of(" \t\r") == Bytes::npos) return std::nullopt;
    start(line);
    ondemand::document document;
    if (const auto error = parser_.iterate(text_.data(), size_, text_.size()).get(document))
      return no_json(error);
    document_ = &document;
    RETURN_IF_ERROR(read_object());
    return finish();
  }

 private:
  // A value and where it stands in the line.
  struct Text {
    std::optional<Bytes> bytes;
    const char* place = nullptr;
  };

  void start(Bytes line) {
    size_ = line.size();
    text_.resize(size_ + simdjson::SIMDJSON_PADDING);
    std::copy(line.begin(), line.end(), text_.begin());
    decoded_.clear();
    decoded_.reserve(size_);  // what is decoded is shorter: nothing moves
    header_texts_.clear();
    headers_.clear();
    record_ = {};
    seen_ = 0;
    key_is_base64_ = payload_is_base64_ = headers_are_base64_ = false;
    document_ = nullptr;
  }

  tl::unexpected<storage::Error> refuse(const char* place, const std::string& what) const {
    const auto column = std::min(static_cast<std::size_t>(place - text_.data()), size_) + 1;
    return storage::fail(Errc::kInvalid, "column " + std::to_string(column) + ": " + what);
  }
  tl::unexpected<storage::Error> no_json(simdjson::error_code error) const {
    const std::string what = std::string("no JSON: ") + simdjson::error_message(error);
    if (error == simdjson::UTF8_ERROR) return refuse(first_that_is_no_utf8(), what);
    const bool is_cut = error == simdjson::INCOMPLETE_ARRAY_OR_OBJECT;
    return refuse(document_ == nullptr || is_cut ? end() : current_place(), what);
  }
  const char* end() const { return text_.data() + size_; }
  // Where the parser stands.
  const char* current_place() const {
    const char* place = nullptr;
    return document_->current_location().get(place) ? end() : place;
  }
  const char* first_that_is_no_utf8() const {
    Bytes rest(text_.data(), size_);
    while (!rest.empty() && utf8_sequence_bytes(rest) != 0)
      rest.remove_prefix(utf8_sequence_bytes(rest));
    return rest.data();
  }
  tl::unexpected<storage::Error> of_other_type(std::string_view name, const char* expected,
                                               ondemand::value& value) const {
    const char* place = place_of(value);
    ondemand::json_type found{};
    if (const auto error = value.type().get(found)) return no_json(error);
    return refuse(place, quoted(name) + ": expected " + expected + ", found " + name_of(found));
  }
  static std::string quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }
  static const char* place_of(ondemand::value& value) { return value.raw_json_token().data(); }

  Result<void> read_object() {
    ondemand::object object;
    if (const auto error = document_->get_object().get(object)) {
      if (error != simdjson::INCORRECT_TYPE) return no_json(error);
      return refuse(text_.data() + text_.find_first_not_of(" \t\r"), "expected an object");
    }
    for (auto next : object) {
      ondemand::field field;
      std::string_view name;
      if (const auto error = std::move(next).get(field)) return no_json(error);
      const char* place = field.key().raw() - 1;
      if (const auto error = field.unescaped_key().get(name)) return no_json(error);
      RETURN_IF_ERROR(read_field(name, place, field.value()));
    }
    const char* place = nullptr;
    if (document_->current_location().get(place)) return {};  // at its end
    return refuse(place, "expected the line's end behind the object");
  }

  Result<void> read_field(std::string_view name, const char* place, ondemand::value& value) {
    const auto* const row = std::ranges::find(kFields, name, &FieldName::name);
    if (row == std::end(kFields))
      return refuse(
          place, "unknown field " + quoted(name) + "; a record has key, payload, headers and ts");
    const std::uint32_t bit = 1U << (row - kFields);
    if ((seen_ & bit) != 0) return refuse(place, "a second " + quoted(name));
    seen_ |= bit;
    switch (row->field) {
      case Field::kKey: return read_text(name, value, key_);
      case Field::kPayload: return read_text(name, value, payload_);
      case Field::kHeaders: return read_headers(value);
      case Field::kTimestamp: return read_timestamp(value);
      case Field::kKeyEncoding: return read_encoding(name, value, key_is_base64_);
      case Field::kPayloadEncoding: return read_encoding(name, value, payload_is_base64_);
      case Field::kHeadersEncoding: return read_encoding(name, value, headers_are_base64_);
      case Field::kAssigned: return pass_over(name, value);
      case Field::kControl:
        return refuse(place, "a control record is the broker's to write, and no record");
    }
    return {};
  }

  bool has(std::string_view name) const {
    return (seen_ & 1U << (std::ranges::find(kFields, name, &FieldName::name) - kFields)) != 0;
  }

  Result<void> read_text(std::string_view name, ondemand::value& value, Text& text) {
    text.place = place_of(value);
    std::string_view found;
    const auto error = value.get_string().get(found);
    if (!error) return text.bytes = found, Result<void>{};
    if (error != simdjson::INCORRECT_TYPE) return no_json(error);
    text.bytes.reset();
    return expect_null(name, "a string or null", value);
  }

  Result<void> expect_null(std::string_view name, const char* expected, ondemand::value& value) {
    bool is_null = false;
    if (const auto error = value.is_null().get(is_null)) {
      if (error != simdjson::INCORRECT_TYPE) return no_json(error);
    }
    if (is_null) return {};
    return of_other_type(name, expected, value);
  }

  Result<void> read_timestamp(ondemand::value& value) {
    const char* place = place_of(value);
    std::int64_t number = 0;
    if (value.get_int64().get(number)) {
      ondemand::json_type type{};
      if (const auto error = value.type().get(type)) return no_json(error);
      if (type != ondemand::json_type::number)
        return of_other_type("ts", "milliseconds since 1970", value);
      return refuse(place, "\"ts\": expected whole milliseconds since 1970");
    }
    if (number < -1)
      return refuse(place, "\"ts\": expected -1 (none) or more, found " + std::to_string(number));
    record_.timestamp = storage::TimestampMs{number};
    return {};
  }

  Result<void> read_encoding(std::string_view name, ondemand::value& value, bool& is_base64) {
    const char* place = place_of(value);
    std::string_view found;
    if (const auto error = value.get_string().get(found)) {
      if (error != simdjson::INCORRECT_TYPE) return no_json(error);
      return of_other_type(name, "\"base64\"", value);
    }
    if (found != "base64")
      return refuse(place,
                    quoted(name) + ": expected \"base64\", found \"" + std::string(found) + "\"");
    is_base64 = true;
    return {};
  }

  Result<void> read_headers(ondemand::value& value) {
    const char* place = place_of(value);
    ondemand::array array;
    if (const auto error = value.get_array().get(array)) {
      if (error != simdjson::INCORRECT_TYPE) return no_json(error);
      return of_other_type("headers", "an array of names and values", value);
    }
    for (auto next : array) {
      ondemand::value element;
      if (const auto error = next.get(element)) return no_json(error);
      const bool is_name = header_texts_.size() % 2 == 0;
      Text text;
      RETURN_IF_ERROR(read_text("headers", element, text));
      if (is_name && !text.bytes)
        return refuse(text.place, "\"headers\": expected a name, found null");
      header_texts_.push_back(text);
    }
    if (header_texts_.size() % 2 != 0)
      return refuse(place, "\"headers\": expected names and values in turn, found " +
                               std::to_string(header_texts_.size()) + " strings");
    return {};
  }

  // A value that is not looked at further, but has to be one.
  Result<void> pass_over(std::string_view name, ondemand::value& value) {
    ondemand::json_type type{};
    if (const auto error = value.type().get(type)) return no_json(error);
    simdjson::error_code error = simdjson::SUCCESS;
    switch (type) {
      case ondemand::json_type::string: error = value.get_string().error(); break;
      case ondemand::json_type::number: error = value.get_double().error(); break;
      case ondemand::json_type::boolean: error = value.get_bool().error(); break;
      case ondemand::json_type::null: error = value.is_null().error(); break;
      case ondemand::json_type::array:
      case ondemand::json_type::object: return of_other_type(name, "one value", value);
    }
    if (error) return no_json(error);
    return {};
  }

  // Encodings may stand before or behind what they speak of.
  Result<std::optional<NewRecord>> finish() {
    if (!has("payload"))
      return refuse(end(), "no \"payload\" in it; of a tombstone it is \"payload\":null");
    if (has("key")) RETURN_IF_ERROR(decode("key", key_is_base64_, key_));
    RETURN_IF_ERROR(decode("payload", payload_is_base64_, payload_));
    for (Text& text : header_texts_) RETURN_IF_ERROR(decode("headers", headers_are_base64_, text));
    if (has("key")) record_.key = key_.bytes;
    record_.value = payload_.bytes;
    for (std::size_t i = 0; i < header_texts_.size(); i += 2)
      headers_.push_back({*header_texts_[i].bytes, header_texts_[i + 1].bytes});
    record_.headers = headers_;
    return record_;
  }

  Result<void> decode(std::string_view name, bool is_base64, Text& text) {
    if (!is_base64 || !text.bytes) return {};
    const std::size_t begin = decoded_.size();
    if (!read_base64(*text.bytes, decoded_))
      return refuse(text.place, quoted(name) + ": no base64 (RFC 4648, padded)");
    text.bytes = Bytes(decoded_).substr(begin);
    return {};
  }

  ondemand::parser parser_;
  std::string text_;  // the line, and room behind it that the parser may look at
  std::size_t size_ = 0;
  std::string decoded_;
  ondemand::document* document_ = nullptr;
  std::uint32_t seen_ = 0;  // a bit a row of kFields
  Text key_;
  Text payload_;
  bool key_is_base64_ = false;
  bool payload_is_base64_ = false;
  bool headers_are_base64_ = false;
  std::vector<Text> header_texts_;
  std::vector<storage::RecordHeader> headers_;
  NewRecord record_;
};

}  // namespace

std::unique_ptr<LineParser> make_json_line_parser() { return std::make_unique<JsonLineParser>(); }

}  // namespace offsetfs::fs
