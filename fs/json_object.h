#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/units.h"

namespace offsetfs::fs {

// `text` in quotes, escaped as in a record's line; what is not UTF-8 becomes U+FFFD.
std::string json_string(storage::Bytes text);

// One object on one line, field by field in the order given.
class JsonObject {
 public:
  JsonObject& number(std::string_view name, std::int64_t value);
  JsonObject& boolean(std::string_view name, bool value);
  JsonObject& text(std::string_view name, storage::Bytes value);
  JsonObject& null(std::string_view name);
  // `json` is JSON already: an array, another object.
  JsonObject& raw(std::string_view name, std::string_view json);

  // "{...}", without a newline. Ends the object.
  std::string take();
  // What lies between the braces: to go on with an object that stands in text.
  const std::string& fields() const { return fields_; }

 private:
  void name(std::string_view name);

  std::string fields_;
};

}  // namespace offsetfs::fs
