#include "tests/support/record_fields.h"

#include "storage/varint.h"

namespace offsetfs::tests {

std::string encode_headers(const HeaderList& headers) {
  std::string encoded;
  for (const auto& [key, value] : headers) {
    storage::append_varint(encoded, static_cast<std::int32_t>(key.size()));
    encoded += key;
    storage::append_varint(encoded, value ? static_cast<std::int32_t>(value->size()) : -1);
    encoded += value.value_or("");
  }
  return encoded;
}

RecordView::RecordView(RecordFields fields)
    : fields_(std::move(fields)), encoded_headers_(encode_headers(fields_.headers)) {
  record_.offset = storage::Offset{fields_.offset};
  record_.timestamp = storage::TimestampMs{fields_.timestamp};
  record_.timestamp_type = fields_.timestamp_type;
  if (fields_.key) record_.key = *fields_.key;
  if (fields_.value) record_.value = *fields_.value;
  record_.headers =
      storage::RecordHeaders(static_cast<std::int32_t>(fields_.headers.size()), encoded_headers_);
}

}  // namespace offsetfs::tests
