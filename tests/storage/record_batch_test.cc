#include "storage/record_batch.h"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/byte_reader.h"
#include "tests/support/golden_batches.h"

namespace offsetfs::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::nullopt_t kNull = std::nullopt;

// A record that owns its bytes, in a form that prints well when it differs.
struct Seen {
  std::int64_t offset = 0;
  std::int64_t timestamp = 0;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::string> headers;  // "key=value", "key" alone for a null value
  friend bool operator==(const Seen&, const Seen&) = default;
  friend void PrintTo(const Seen& seen, std::ostream* out) {
    *out << seen.offset << "@" << seen.timestamp << " " << seen.key.value_or("(null)") << "="
         << seen.value.value_or("(null)") << ::testing::PrintToString(seen.headers);
  }
};

Seen seen(const Record& record) {
  Seen copy{record.offset.value, record.timestamp.value, {}, {}, {}};
  if (record.key) copy.key = std::string(*record.key);
  if (record.value) copy.value = std::string(*record.value);
  for (RecordHeaders headers = record.headers; !headers.empty();) {
    const RecordHeader header = headers.pop_front();
    std::string& text = copy.headers.emplace_back(header.key);
    if (header.value) text.append("=").append(*header.value);
  }
  return copy;
}

std::shared_ptr<const DecodedBatch> decoded(const std::string& entry) {
  auto batch = DecodedBatch::decode(entry);
  if (!batch) {
    ADD_FAILURE() << batch.error().what;
    return nullptr;
  }
  return *batch;
}

std::vector<Seen> records_of(const std::string& entry) {
  const auto batch = decoded(entry);
  std::vector<Seen> records;
  if (batch == nullptr) return records;
  RecordReader reader = batch->records();
  Record record;
  RecordReader::Step step = reader.next(record);
  for (; step == RecordReader::Step::kRecord; step = reader.next(record))
    records.push_back(seen(record));
  EXPECT_EQ(step, RecordReader::Step::kEnd) << reader.why();
  EXPECT_EQ(static_cast<std::int32_t>(records.size()), reader.records_count());
  if (!records.empty()) {
    EXPECT_EQ(records[0].offset, reader.first_offset().value);
  }
  return records;
}

TEST(RecordBatchTest, AProducersRecordsComeBackWithHeadersNullsAndEmpties) {
  EXPECT_THAT(records_of(tests::golden_two_records()),
              ElementsAre(Seen{0, 1700000000000, "k", "v", {"h=x"}},
                          Seen{1, 1700000000005, kNull, "", {}}));
}

TEST(RecordBatchTest, AMarkerIsARecordWhoseKeySaysCommit) {
  EXPECT_THAT(
      records_of(tests::golden_commit_marker()),
      ElementsAre(
          Seen{42, 1700000000100, std::string("\0\0\0\1", 4), std::string("\0\0\0\0\0\7", 6), {}}));
}

TEST(RecordBatchTest, ADeleteHorizonDoesNotMoveTheTimesOfRecords) {
  EXPECT_THAT(records_of(tests::golden_tombstone()),
              ElementsAre(Seen{50, 5000, "a", "x", {}}, Seen{51, 5001, "b", kNull, {}}));
}

TEST(RecordBatchTest, AnEmptiedBatchHasNoRecords) {
  EXPECT_THAT(records_of(tests::golden_empty_batch()), ElementsAre());
  EXPECT_EQ(decoded(tests::golden_empty_batch())->records().first_offset(), Offset{60});
}

TEST(RecordBatchTest, AMessageOfMagic1IsABatchOfOne) {
  EXPECT_THAT(records_of(tests::golden_v1_tombstone()),
              ElementsAre(Seen{7, 1700000000000, "k", kNull, {}}));
}

TEST(RecordBatchTest, CompressedBatchesOpenLikePlainOnes) {
  EXPECT_THAT(records_of(tests::golden_snappy()), ElementsAre(Seen{0, 100, "k", "v", {}}));
  EXPECT_THAT(records_of(tests::golden_zstd()), ElementsAre(Seen{0, 100, "k", "v", {}}));
  EXPECT_THAT(records_of(tests::golden_lz4()),
              ElementsAre(Seen{200, 9000, "k", "v", {}}, Seen{201, 9001, "k", "v", {}},
                          Seen{202, 9002, "k", "v", {}}));
}

TEST(RecordBatchTest, TheOldWrongHeaderSumOfLz4IsTakenFromMagic0) {
  EXPECT_THAT(records_of(tests::golden_lz4_magic_0()),
              ElementsAre(Seen{200, -1, "k", "v", {}}, Seen{201, -1, "k", "v", {}},
                          Seen{202, -1, "k", "v", {}}));
}

TEST(RecordBatchTest, ABadChecksumNamesWhatWasExpectedAndFound) {
  std::string entry = tests::golden_two_records();
  entry.back() ^= 1;
  const auto batch = DecodedBatch::decode(entry);
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().code, Errc::kCorrupt);
  EXPECT_THAT(batch.error().what, HasSubstr("CRC stored 0xc41f1730, computed 0x"));
}

}  // namespace
}  // namespace offsetfs::storage
