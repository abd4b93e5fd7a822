#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "fs/node.h"
#include "storage/record.h"
#include "storage/result.h"
#include "storage/units.h"

namespace offsetfs::fs {

// What a line says of the record that is to be made of it. The offset is the log's to give.
struct NewRecord {
  std::optional<storage::TimestampMs> timestamp;  // nothing: the time when it came
  std::optional<storage::Bytes> key;
  std::optional<storage::Bytes> value;  // null: a tombstone
  std::span<const storage::RecordHeader> headers;
};

// One line, without its newline -> one record. Keeps its buffers between lines; one thread.
//
//   plain lines (parse_text_line.cc)   the value, all bytes but the newline; with a separator KEY,
//                                      separator, VALUE, split at the first one
//   objects (parse_json_line.cc)       what `.jsonl` and `.json` show of a record: key, payload,
//                                      headers and ts are taken, the rest is passed over, since it
//                                      is assigned; what is no name of theirs is refused
class LineParser {
 public:
  virtual ~LineParser() = default;

  // Views into the line, or into buffers of this: valid until the next line. Nothing for a blank
  // line among objects. kInvalid: "column 17: expected ..., found ...", columns are bytes from 1.
  virtual storage::Result<std::optional<NewRecord>> parse(storage::Bytes line) = 0;
};

// kRaw or kJsonl; the separator is of plain lines, empty for none.
std::unique_ptr<LineParser> make_line_parser(Form form, std::string key_separator);
std::unique_ptr<LineParser> make_text_line_parser(std::string key_separator);
std::unique_ptr<LineParser> make_json_line_parser();

}  // namespace offsetfs::fs
