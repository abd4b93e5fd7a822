#include "fs/json_object.h"

#include <utility>

#include "fs/decimal.h"
#include "fs/escape.h"
#include "fs/utf8.h"

namespace offsetfs::fs {

std::string json_string(storage::Bytes text) {
  const std::string replaced = is_utf8(text) ? std::string() : to_utf8(text);
  if (!replaced.empty()) text = replaced;
  const Escaper& escaper = json_escaper();
  const std::size_t bytes = text.size() + escaper.scan(text).added_bytes;
  std::string out(1 + bytes + kEscapeSlackBytes, '"');
  escaper.write(text, out.data() + 1);
  out[1 + bytes] = '"';
  out.resize(2 + bytes);
  return out;
}

void JsonObject::name(std::string_view name) {
  if (!fields_.empty()) fields_ += ',';
  fields_.append("\"").append(name).append("\":");
}

JsonObject& JsonObject::number(std::string_view name, std::int64_t value) {
  this->name(name);
  const std::size_t before = fields_.size();
  const std::size_t bytes = decimal_bytes(value);
  fields_.resize(before + bytes);
  write_decimal(value, bytes, fields_.data() + before);
  return *this;
}

JsonObject& JsonObject::boolean(std::string_view name, bool value) {
  return raw(name, value ? "true" : "false");
}

JsonObject& JsonObject::text(std::string_view name, storage::Bytes value) {
  return raw(name, json_string(value));
}

JsonObject& JsonObject::null(std::string_view name) { return raw(name, "null"); }

JsonObject& JsonObject::raw(std::string_view name, std::string_view json) {
  this->name(name);
  fields_ += json;
  return *this;
}

std::string JsonObject::take() {
  std::string object;
  object.reserve(fields_.size() + 2);
  object.append("{").append(fields_).append("}");
  fields_.clear();
  return object;
}

}  // namespace offsetfs::fs
