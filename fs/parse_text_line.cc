#include <utility>

#include "fs/line_parser.h"
#include "storage/check.h"

namespace offsetfs::fs {
namespace {

using storage::Bytes;
using storage::Errc;
using storage::Result;

class TextLineParser final : public LineParser {
 public:
  explicit TextLineParser(std::string key_separator) : key_separator_(std::move(key_separator)) {}

  Result<std::optional<NewRecord>> parse(Bytes line) override {
    NewRecord record;
    record.value = line;
    if (key_separator_.empty()) return record;
    const auto end = line.find(key_separator_);
    if (end == Bytes::npos)
      return storage::fail(Errc::kInvalid, "no key separator '" + key_separator_ +
                                               "' in it, so no telling the key from the value");
    record.key = line.substr(0, end);
    record.value = line.substr(end + key_separator_.size());
    return record;
  }

 private:
  const std::string key_separator_;
};

}  // namespace

std::unique_ptr<LineParser> make_text_line_parser(std::string key_separator) {
  return std::make_unique<TextLineParser>(std::move(key_separator));
}

std::unique_ptr<LineParser> make_line_parser(Form form, std::string key_separator) {
  CHECK(form == Form::kRaw || form == Form::kJsonl);
  return form == Form::kJsonl ? make_json_line_parser()
                              : make_text_line_parser(std::move(key_separator));
}

}  // namespace offsetfs::fs
