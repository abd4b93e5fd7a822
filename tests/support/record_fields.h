#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/record.h"

namespace offsetfs::tests {

using HeaderList = std::vector<std::pair<std::string, std::optional<std::string>>>;

// A record that owns its bytes, for tests that need no batch around it.
struct RecordFields {
  std::int64_t offset = 0;
  std::int64_t timestamp = 1'793'247'836'476;
  storage::TimestampType timestamp_type = storage::TimestampType::kCreateTime;
  std::optional<std::string> key;
  std::optional<std::string> value;
  HeaderList headers;
};

// As record v2 encodes them behind their count.
std::string encode_headers(const HeaderList& headers);

// `fields` as the view that a batch would give; valid as long as this lives.
class RecordView {
 public:
  explicit RecordView(RecordFields fields);
  RecordView(const RecordView&) = delete;
  RecordView& operator=(const RecordView&) = delete;

  const storage::Record& operator*() const { return record_; }

 private:
  const RecordFields fields_;
  const std::string encoded_headers_;
  storage::Record record_;
};

}  // namespace offsetfs::tests
