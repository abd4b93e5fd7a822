#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "fs/base64.h"
#include "fs/decimal.h"
#include "fs/escape.h"
#include "fs/json_object.h"
#include "fs/record_renderers.h"
#include "fs/utf8.h"
#include "storage/check.h"

// `.jsonl`: byte for byte what `kcat -C -J` prints.
//
//   line := {"topic":T,"partition":P,"offset":N[,"tstype":TYPE,"ts":MS][,"broker":B]
//            [,"headers":[NAME,VALUE,...]],"key":K,"payload":V} LF             (all on one line)
//   TYPE := "create" | "logappend"; neither for messages of magic 0, which have no time
//
// A null key, payload or header value is null. kcat copies bytes that are not UTF-8 as they are,
// which is no JSON; here they are base64, and `key_encoding`, `payload_encoding` or
// `headers_encoding` (names and values alike) follows the field and says so. One more thing
// differs: kcat cuts a header's name at a zero byte, here it stays whole.
//
// Source: kcat's json.c, YAJL's yajl_encode.c.

namespace offsetfs::fs {
namespace {

using storage::Bytes;
using storage::Record;
using storage::RecordHeader;
using storage::RecordHeaders;
using Field = std::optional<Bytes>;

// How a string is to be written, and how long that is, its quotes included.
struct Plan {
  enum class Form : std::uint8_t { kNull, kPlain, kEscaped, kBase64 };
  Form form = Form::kNull;
  std::size_t bytes = 4;
};

struct HeadersPlan {
  bool is_base64 = false;
  std::size_t bytes = 0;
};

constexpr char kCreate[] = ",\"tstype\":\"create\",\"ts\":";
constexpr char kLogAppend[] = ",\"tstype\":\"logappend\",\"ts\":";
constexpr char kHeaders[] = ",\"headers\":[";
constexpr char kHeadersEncoding[] = ",\"headers_encoding\":\"base64\"";
constexpr char kKey[] = ",\"key\":";
constexpr char kKeyEncoding[] = ",\"key_encoding\":\"base64\"";
constexpr char kPayload[] = ",\"payload\":";
constexpr char kPayloadEncoding[] = ",\"payload_encoding\":\"base64\"";
constexpr char kEnd[] = "}\n";

template <std::size_t N>
constexpr std::size_t length(const char (&/*literal*/)[N]) {
  return N - 1;
}

template <std::size_t N>
char* put(const char (&literal)[N], char* out) {
  std::memcpy(out, literal, N - 1);  // a constant length: moves, not a call
  return out + N - 1;
}

char* put(Bytes bytes, char* out) { return std::copy(bytes.begin(), bytes.end(), out); }

class JsonRenderer final : public RecordRenderer {
 public:
  explicit JsonRenderer(const RenderContext& context)
      : front_("{\"topic\":" + json_string(context.topic) +
               ",\"partition\":" + std::to_string(context.partition) + ",\"offset\":"),
        broker_(context.broker ? ",\"broker\":" + std::to_string(*context.broker) : "") {}

  std::size_t size(const Record& record) const override {
    return line_bytes(record, plan(record.headers), plan(record.key), plan(record.value));
  }

  void append(const Record& record, std::string& out) const override {
    const HeadersPlan headers = plan(record.headers);
    const Plan key = plan(record.key);
    const Plan value = plan(record.value);
    const std::size_t bytes = line_bytes(record, headers, key, value);
    const std::size_t before = out.size();
    out.resize(before + bytes + kEscapeSlackBytes);
    char* at = out.data() + before;
    at = put(front_, at);
    at = write_decimal(record.offset.value, decimal_bytes(record.offset.value), at);
    at = write_timestamp(record, at);
    at = put(broker_, at);
    if (!record.headers.empty()) at = write_headers(record.headers, headers.is_base64, at);
    at = put(kKey, at);
    at = write(record.key, key.form, at);
    if (key.form == Plan::Form::kBase64) at = put(kKeyEncoding, at);
    at = put(kPayload, at);
    at = write(record.value, value.form, at);
    if (value.form == Plan::Form::kBase64) at = put(kPayloadEncoding, at);
    at = put(kEnd, at);
    CHECK(at == out.data() + before + bytes);
    out.resize(before + bytes);
  }

 private:
  std::size_t line_bytes(const Record& record, const HeadersPlan& headers, const Plan& key,
                         const Plan& value) const {
    std::size_t bytes = front_.size() + decimal_bytes(record.offset.value) +
                        timestamp_bytes(record) + broker_.size() + headers.bytes + length(kKey) +
                        key.bytes + length(kPayload) + value.bytes + length(kEnd);
    if (key.form == Plan::Form::kBase64) bytes += length(kKeyEncoding);
    if (value.form == Plan::Form::kBase64) bytes += length(kPayloadEncoding);
    return bytes;
  }

  static std::size_t timestamp_bytes(const Record& record) {
    switch (record.timestamp_type) {
      case storage::TimestampType::kNone: return 0;
      case storage::TimestampType::kCreateTime:
        return length(kCreate) + decimal_bytes(record.timestamp.value);
      case storage::TimestampType::kLogAppendTime:
        return length(kLogAppend) + decimal_bytes(record.timestamp.value);
    }
    return 0;
  }
  static char* write_timestamp(const Record& record, char* out) {
    switch (record.timestamp_type) {
      case storage::TimestampType::kNone: return out;
      case storage::TimestampType::kCreateTime: out = put(kCreate, out); break;
      case storage::TimestampType::kLogAppendTime: out = put(kLogAppend, out); break;
    }
    return write_decimal(record.timestamp.value, decimal_bytes(record.timestamp.value), out);
  }

  Plan plan(const Field& field) const {
    if (!field) return {};
    const EscapeScan scan = escaper_.scan(*field);
    if (!scan.is_ascii && !is_utf8(*field)) return plan_base64(*field);
    return plan_utf8(*field, scan);
  }
  static Plan plan_utf8(Bytes bytes, const EscapeScan& scan) {
    return {scan.added_bytes == 0 ? Plan::Form::kPlain : Plan::Form::kEscaped,
            bytes.size() + scan.added_bytes + 2};
  }
  static Plan plan_base64(Bytes bytes) {
    return {Plan::Form::kBase64, base64_bytes(bytes.size()) + 2};
  }

  HeadersPlan plan(RecordHeaders headers) const {
    if (headers.empty()) return {};
    const std::size_t around = length(kHeaders) + static_cast<std::size_t>(headers.count()) * 2;
    std::size_t utf8_bytes = 0;
    std::size_t base64_bytes = 0;
    bool is_base64 = false;
    const auto add = [&](const Field& field) {
      const Plan plan = this->plan(field);
      is_base64 |= plan.form == Plan::Form::kBase64;
      utf8_bytes += plan.bytes;
      base64_bytes += field ? plan_base64(*field).bytes : plan.bytes;
    };
    while (!headers.empty()) {
      const RecordHeader header = headers.pop_front();
      add(header.key);
      add(header.value);
    }
    if (is_base64) return {true, around + base64_bytes + length(kHeadersEncoding)};
    return {false, around + utf8_bytes};
  }

  char* write_headers(RecordHeaders headers, bool is_base64, char* out) const {
    const Plan::Form form = is_base64 ? Plan::Form::kBase64 : Plan::Form::kEscaped;
    out = put(kHeaders, out);
    while (!headers.empty()) {
      const RecordHeader header = headers.pop_front();
      out = write(header.key, form, out);
      *out++ = ',';
      out = write(header.value, header.value ? form : Plan::Form::kNull, out);
      *out++ = headers.empty() ? ']' : ',';
    }
    return is_base64 ? put(kHeadersEncoding, out) : out;
  }

  char* write(const Field& field, Plan::Form form, char* out) const {
    if (form == Plan::Form::kNull) return put("null", out);
    *out++ = '"';
    switch (form) {
      case Plan::Form::kNull: break;
      case Plan::Form::kPlain: out = put(*field, out); break;
      case Plan::Form::kEscaped: out = escaper_.write(*field, out); break;
      case Plan::Form::kBase64: out = write_base64(*field, out); break;
    }
    *out++ = '"';
    return out;
  }

  const std::string front_;   // up to the offset
  const std::string broker_;  // empty where unknown
  const Escaper& escaper_ = json_escaper();
};

}  // namespace

std::unique_ptr<const RecordRenderer> make_json_renderer(const RenderContext& context) {
  return std::make_unique<JsonRenderer>(context);
}

}  // namespace offsetfs::fs
