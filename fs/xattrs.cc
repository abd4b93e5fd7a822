#include "fs/xattrs.h"

#include <algorithm>
#include <utility>

#include "fs/base64.h"
#include "fs/json_object.h"
#include "fs/utf8.h"
#include "storage/segment_files.h"

namespace offsetfs::fs {
namespace {

using storage::Bytes;
using storage::Record;
using storage::RecordHeaders;

// The kernel's own limits for a name, a value, and the list of all names.
constexpr std::size_t kMostNameBytes = 255;
constexpr std::size_t kMostValueBytes = 64 << 10;
constexpr std::size_t kMostListBytes = 64 << 10;

class Attributes {
 public:
  void add(std::string_view name, std::string value) {
    std::string full = "user.kafka." + std::string(name);
    if (full.size() > kMostNameBytes || value.size() > kMostValueBytes) return;
    if (list_bytes_ + full.size() + 1 > kMostListBytes) return;
    list_bytes_ += full.size() + 1;
    all_.push_back({std::move(full), std::move(value)});
  }
  void add(std::string_view name, std::int64_t value) { add(name, std::to_string(value)); }
  std::vector<Xattr> take() { return std::move(all_); }

 private:
  std::vector<Xattr> all_;
  std::size_t list_bytes_ = 0;
};

bool all_utf8(RecordHeaders headers) {
  while (!headers.empty()) {
    const storage::RecordHeader header = headers.pop_front();
    if (!is_utf8(header.key) || !is_utf8(header.value.value_or(Bytes{}))) return false;
  }
  return true;
}

std::string in_base64(Bytes bytes) {
  std::string text(base64_bytes(bytes.size()), '\0');
  write_base64(bytes, text.data());
  return text;
}

// As the record's JSON has them: name, value, name, value; all base64 if one of them is no text.
void add_headers(Attributes& attributes, RecordHeaders headers) {
  const bool is_text = all_utf8(headers);
  const auto string = [&](Bytes bytes) {
    return is_text ? json_string(bytes) : "\"" + in_base64(bytes) + "\"";
  };
  std::string list;
  while (!headers.empty()) {
    const storage::RecordHeader header = headers.pop_front();
    list += (list.empty() ? "[" : ",") + string(header.key) + ",";
    list += header.value ? string(*header.value) : "null";
  }
  attributes.add("headers", list + "]");
  if (!is_text) attributes.add("headers_encoding", "base64");
}

// The last header of each name, as Kafka's lastHeader(); a null value has no attribute.
void add_each_header(Attributes& attributes, RecordHeaders headers) {
  std::vector<storage::RecordHeader> last;
  while (!headers.empty()) {
    const storage::RecordHeader header = headers.pop_front();
    const auto same = std::find_if(last.begin(), last.end(),
                                   [&](const auto& other) { return other.key == header.key; });
    if (same == last.end()) {
      // More than fit into a list are not worth a search among all of them.
      if (last.size() * 2 < kMostListBytes / sizeof "user.kafka.header.") last.push_back(header);
    } else {
      *same = header;
    }
  }
  for (const storage::RecordHeader& header : last) {
    const bool is_name = is_utf8(header.key) && header.key.find('\0') == Bytes::npos;
    if (is_name && header.value)
      attributes.add("header." + std::string(header.key), std::string(*header.value));
  }
}

}  // namespace

std::vector<Xattr> record_xattrs(const storage::RecordLookup& lookup) {
  const Record& record = lookup.record;
  const storage::BatchHeader& header = lookup.place->header;
  Attributes attributes;
  attributes.add("offset", record.offset.value);
  if (record.timestamp_type != storage::TimestampType::kNone) {
    attributes.add("timestamp", record.timestamp.value);
    attributes.add("timestamp_type", record.timestamp_type == storage::TimestampType::kLogAppendTime
                                         ? "LogAppendTime"
                                         : "CreateTime");
  }
  if (record.key) attributes.add("key", std::string(*record.key));
  if (header.leader_epoch != storage::kNoLeaderEpoch)
    attributes.add("leader_epoch", header.leader_epoch.value);
  attributes.add("segment", storage::segment_base_name(lookup.place->segment_base_offset));
  attributes.add("position", lookup.place->position.value);
  attributes.add("codec", storage::codec_name(static_cast<storage::Codec>(header.codec_id())));
  if (header.has_producer()) attributes.add("producer_id", header.producer_id);
  if (!record.headers.empty()) {
    add_headers(attributes, record.headers);
    add_each_header(attributes, record.headers);
  }
  return attributes.take();
}

}  // namespace offsetfs::fs
