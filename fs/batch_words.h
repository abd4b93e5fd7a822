#pragma once

#include <cstdint>
#include <string>

#include "storage/batch_header.h"

namespace offsetfs::fs {

// How batches are spoken of in text, everywhere the same.

// "none", "gzip", "snappy", "lz4", "zstd"; "5" to "7" for ids that no Kafka has.
std::string codec_word(const storage::BatchHeader& header);
// Kafka's names: "CreateTime", "LogAppendTime", "NoTimestampType".
const char* timestamp_type_word(storage::TimestampType type);
// Of the batch's last record: sequences wrap from 2147483647 to 0. -1 where there are none.
std::int32_t last_sequence(const storage::BatchHeader& header);

}  // namespace offsetfs::fs
