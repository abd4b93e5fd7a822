#include "fs/batch_words.h"

namespace offsetfs::fs {

std::string codec_word(const storage::BatchHeader& header) {
  constexpr int kMost = static_cast<int>(storage::Codec::kZstd);
  if (header.codec_id() > kMost) return std::to_string(header.codec_id());
  return storage::codec_name(static_cast<storage::Codec>(header.codec_id()));
}

const char* timestamp_type_word(storage::TimestampType type) {
  switch (type) {
    case storage::TimestampType::kNone: return "NoTimestampType";
    case storage::TimestampType::kCreateTime: return "CreateTime";
    case storage::TimestampType::kLogAppendTime: return "LogAppendTime";
  }
  return "";
}

std::int32_t last_sequence(const storage::BatchHeader& header) {
  if (header.base_sequence < 0) return -1;
  const std::int64_t sequence = header.base_sequence + (header.last_offset - header.base_offset);
  return static_cast<std::int32_t>(sequence & INT32_MAX);
}

}  // namespace offsetfs::fs
