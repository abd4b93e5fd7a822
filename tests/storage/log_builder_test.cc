#include "tests/support/log_builder.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/batch_scanner.h"
#include "storage/byte_reader.h"
#include "storage/record_batch.h"
#include "tests/support/hex.h"
#include "tests/support/memory_file.h"
#include "tests/support/temp_dir.h"

// The builder that the other tests build upon.

namespace offsetfs::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;
using tests::keyed;
using tests::LogBuilder;
using tests::tombstone;

class LogBuilderTest : public ::testing::Test {
 protected:
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(temp_ / "orders-3"))
      names.push_back(entry.path().filename());
    return names;
  }
  std::string content(const std::string& name) const {
    return tests::read_file(temp_ / ("orders-3/" + name));
  }
  std::vector<std::string> values(const std::string& log_name) const {
    std::vector<std::string> values;
    const tests::MemoryFile file(content(log_name));
    BatchScanner scanner(file, {0}, file.end());
    std::string scratch;
    while (scanner.next() == BatchScanner::Step::kBatch) {
      auto reader = RecordReader::open(scanner.batch().header, scanner.batch().entry, scratch);
      if (!reader) {
        ADD_FAILURE() << reader.error().what;
        break;
      }
      Record record;
      while (reader->next(record) == RecordReader::Step::kRecord)
        values.push_back(std::to_string(record.offset.value)
                             .append("=")
                             .append(record.value.value_or("(null)")));
    }
    return values;
  }

  tests::TempDir temp_;
  LogBuilder log_{temp_ / "orders-3"};
};

TEST_F(LogBuilderTest, WritesSegmentsWithTheirIndexes) {
  log_.batch({"a", "b"})
      .roll()
      .codec(Codec::kZstd)
      .batch({keyed("k", "c"), tombstone("k")})
      .build();
  EXPECT_THAT(files(),
              UnorderedElementsAre("00000000000000000000.log", "00000000000000000000.index",
                                   "00000000000000000000.timeindex", "00000000000000000002.log",
                                   "00000000000000000002.index", "00000000000000000002.timeindex"));
  EXPECT_THAT(values("00000000000000000000.log"), ElementsAre("0=a", "1=b"));
  EXPECT_THAT(values("00000000000000000002.log"), ElementsAre("2=c", "3=(null)"));
  // 1700000000001 at relative offset 1: the largest time of a sealed segment.
  EXPECT_EQ(tests::hex(content("00000000000000000000.timeindex")), "0000018bcfe5680100000001");
  EXPECT_EQ(content("00000000000000000000.index"), "") << "the first batch never gets an entry";
}

TEST_F(LogBuilderTest, AnIndexEntryComesOnceMoreThanTheIntervalWasWritten) {
  log_.index_interval_bytes(200).fill(6, 1, 50).build();
  const std::int64_t size = log_.positions()[1];
  ASSERT_GT(2 * size, 200);
  ASSERT_LE(size, 200);
  // An entry for every second batch: (its last offset, its position).
  const std::string index = content("00000000000000000000.index");
  ASSERT_EQ(index.size(), 16U);
  EXPECT_EQ(load_big_endian<std::int32_t>(index.data()), 2);
  EXPECT_EQ(load_big_endian<std::int32_t>(index.data() + 4), 2 * size);
  EXPECT_EQ(load_big_endian<std::int32_t>(index.data() + 8), 4);
}

TEST_F(LogBuilderTest, ALivingLogHasPaddedIndexesAndGrowsInPlace) {
  log_.living(4096).batch({"a"}).build();
  EXPECT_EQ(content("00000000000000000000.index"), std::string(4096, '\0'));
  EXPECT_EQ(content("00000000000000000000.timeindex").size(), 4092U);
  const std::filesystem::path link = temp_ / "same";
  std::filesystem::create_hard_link(log_.log_path(), link);
  log_.batch({"b"}).build();
  EXPECT_EQ(tests::read_file(link), log_.log());
  EXPECT_THAT(values("00000000000000000000.log"), ElementsAre("0=a", "1=b"));
}

TEST_F(LogBuilderTest, AnAbortedTransactionLeavesItsEntry) {
  log_.producer(1000).transactional_batch({"a", "b", "c"}).abort(1000).build();
  // producer 1000, first offset 0, marker at 3; the last stable offset is then 4.
  EXPECT_EQ(tests::hex(content("00000000000000000000.txnindex")),
            "000000000000000003e8000000000000000000000000000000030000000000000004");
}

TEST_F(LogBuilderTest, TwoOpenTransactionsKeepTheStableOffsetDown) {
  log_.producer(7).transactional_batch({"x", "y"}).producer(1000).transactional_batch({"a"});
  log_.abort(1000).build();
  EXPECT_EQ(tests::hex(content("00000000000000000000.txnindex")),
            "000000000000000003e8000000000000000200000000000000030000000000000000");
}

TEST_F(LogBuilderTest, DamageIsDoneToTheLogAlone) {
  log_.batch({"a", "b"}).batch({"c"}).chop_bytes(5).build();
  EXPECT_THAT(values("00000000000000000000.log"), ElementsAre("0=a", "1=b"));
  EXPECT_EQ(log_.next_offset(), 3);
}

TEST_F(LogBuilderTest, LegacyMessagesAndGapsAndEmptiedBatches) {
  log_.offset(100).legacy_batch(0, {"a", "b"}).codec(Codec::kLz4).legacy_batch(0, {"c", "d"});
  log_.legacy_batch(1, {"e", "f"}).offset(200).emptied_batch(10).batch({"g"}).build();
  EXPECT_THAT(values("00000000000000000100.log"),
              ElementsAre("100=a", "101=b", "102=c", "103=d", "104=e", "105=f", "210=g"));
  EXPECT_EQ(log_.next_offset(), 211);
}

TEST_F(LogBuilderTest, LeaderEpochsAreWrittenAsTheirFirstOffsets) {
  log_.leader_epoch(1).batch({"a"}).batch({"b"}).leader_epoch(4).batch({"c"});
  log_.with_leader_epoch_checkpoint().build();
  EXPECT_EQ(content("leader-epoch-checkpoint"), "0\n2\n1 0\n4 2\n");
}

}  // namespace
}  // namespace offsetfs::storage
