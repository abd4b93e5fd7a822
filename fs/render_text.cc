#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "fs/decimal.h"
#include "fs/escape.h"
#include "fs/escape_rules.h"
#include "fs/record_renderers.h"
#include "fs/utf8.h"
#include "storage/check.h"

// `.tsv`, as PostgreSQL's COPY ... FROM (FORMAT text) takes it:
//
//   line  := offset TAB timestamp TAB key TAB value LF
//   field := \N (null) | bytes with \t \n \r \\ escaped; a byte that is no UTF-8 as \xHH
//
// timestamp: milliseconds, \N for none.

namespace offsetfs::fs {
namespace {

using storage::Bytes;
using Field = std::optional<Bytes>;

// How a field is to be written, and how long that is.
struct Plan {
  enum class Form : std::uint8_t { kNull, kPlain, kEscaped, kNotUtf8 };
  Form form = Form::kNull;
  std::size_t bytes = 2;
};

// Calls `good` for each piece of UTF-8 and `bad` for each byte that belongs to none.
template <class Good, class Bad>
void split_utf8(Bytes bytes, const Good& good, const Bad& bad) {
  std::size_t from = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    if (const std::size_t sequence = utf8_sequence_bytes(bytes.substr(at)); sequence != 0) {
      at += sequence;
      continue;
    }
    good(bytes.substr(from, at - from));
    bad(static_cast<std::uint8_t>(bytes[at]));
    from = ++at;
  }
  good(bytes.substr(from));
}

class TsvRenderer final : public RecordRenderer {
 public:
  std::size_t size(const storage::Record& record) const override {
    return line_bytes(record, plan(record.key), plan(record.value));
  }

  void append(const storage::Record& record, std::string& out) const override {
    const Plan key = plan(record.key);
    const Plan value = plan(record.value);
    const std::size_t bytes = line_bytes(record, key, value);
    const std::size_t before = out.size();
    out.resize(before + bytes + kEscapeSlackBytes);
    char* at = out.data() + before;
    at = write_decimal(record.offset.value, decimal_bytes(record.offset.value), at);
    *at++ = '\t';
    at = write_timestamp(record.timestamp, at);
    *at++ = '\t';
    at = write(record.key, key, at);
    *at++ = '\t';
    at = write(record.value, value, at);
    *at++ = '\n';
    CHECK(at == out.data() + before + bytes);
    out.resize(before + bytes);
  }

  std::string header() const override { return "offset\ttimestamp\tkey\tvalue\n"; }

 private:
  static std::size_t timestamp_bytes(storage::TimestampMs timestamp) {
    return timestamp == storage::kNoTimestamp ? 2 : decimal_bytes(timestamp.value);
  }
  static char* write_timestamp(storage::TimestampMs timestamp, char* out) {
    if (timestamp == storage::kNoTimestamp) return write_null(out);
    return write_decimal(timestamp.value, decimal_bytes(timestamp.value), out);
  }
  static char* write_null(char* out) {
    std::memcpy(out, "\\N", 2);  // NOLINT(bugprone-not-null-terminated-result): no C string
    return out + 2;
  }

  static std::size_t line_bytes(const storage::Record& record, const Plan& key, const Plan& value) {
    return decimal_bytes(record.offset.value) + timestamp_bytes(record.timestamp) + key.bytes +
           value.bytes + 4;
  }

  Plan plan(const Field& field) const {
    if (!field) return {};
    const EscapeScan scan = escaper_.scan(*field);
    const std::size_t bytes = field->size() + scan.added_bytes;
    if (!scan.is_ascii && !is_utf8(*field)) return {Plan::Form::kNotUtf8, bytes + bad(*field) * 3};
    return {scan.added_bytes == 0 ? Plan::Form::kPlain : Plan::Form::kEscaped, bytes};
  }

  static std::size_t bad(Bytes bytes) {
    std::size_t count = 0;
    split_utf8(
        bytes, [](Bytes) {}, [&](std::uint8_t) { ++count; });
    return count;
  }

  char* write(const Field& field, const Plan& plan, char* out) const {
    switch (plan.form) {
      case Plan::Form::kNull: return write_null(out);
      case Plan::Form::kPlain: return std::copy(field->begin(), field->end(), out);
      case Plan::Form::kEscaped: return escaper_.write(*field, out);
      case Plan::Form::kNotUtf8: return write_not_utf8(*field, out);
    }
    return out;
  }

  char* write_not_utf8(Bytes bytes, char* out) const {
    constexpr char kHex[] = "0123456789abcdef";
    split_utf8(
        // Pieces of a few bytes: the plain loop is the faster one.
        bytes,
        [&](Bytes good) {
          out = write_escaped(kTsvRules, good.data(), good.data() + good.size(), out);
        },
        [&](std::uint8_t byte) {
          const char escaped[] = {'\\', 'x', kHex[byte >> 4], kHex[byte & 0xf]};
          std::memcpy(out, escaped, sizeof escaped);
          out += sizeof escaped;
        });
    return out;
  }

  const Escaper& escaper_ = tsv_escaper();
};

}  // namespace

std::unique_ptr<const RecordRenderer> make_tsv_renderer() {
  return std::make_unique<TsvRenderer>();
}

}  // namespace offsetfs::fs
