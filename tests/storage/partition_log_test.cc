#include "storage/partition_log.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/byte_reader.h"
#include "storage/crc32c.h"
#include "storage/log_cursor.h"
#include "tests/support/log_builder.h"
#include "tests/support/open_logs.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_backend.h"

namespace offsetfs::tests {
namespace {

using storage::Errc;
using storage::LogCursor;
using storage::Offset;
using storage::PartitionLog;
using storage::RecordLookup;
using storage::TimestampMs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Outcome = RecordLookup::Outcome;

class PartitionLogTest : public testing::Test {
 protected:
  std::shared_ptr<const PartitionLog> open() {
    source_ = open_source({temp_.path()});
    return open_log(*source_, "orders-3");
  }
  std::string at(const PartitionLog& log, std::int64_t offset) {
    const RecordLookup found = log.find(Offset{offset}).value();
    switch (found.outcome) {
      case Outcome::kPresent: return std::string(found.record.value.value_or("null"));
      case Outcome::kControl: return "control";
      case Outcome::kCompacted: return "compacted";
      case Outcome::kBelowLogStart: return "below";
      case Outcome::kPastLogEnd: return "past";
      case Outcome::kDamaged: return "damaged";
      case Outcome::kAboveHighWatermark: return "above";
    }
    return "";
  }
  std::vector<std::string> problems() {
    std::vector<std::string> all;
    for (const auto& problem : source_->problems().list()) {
      all.push_back(problem.file.substr(temp_.path().size() + 1) + ":" +
                    std::to_string(problem.position) + ": " + problem.what);
    }
    return all;
  }

  TempDir temp_;
  LogBuilder builder_{temp_ / "orders-3"};
  std::shared_ptr<const storage::LogDir> source_;
};

TEST_F(PartitionLogTest, RecordsAreFoundOverSegmentsAndNothingBeyondThem) {
  builder_.offset(5).batch({"a", "b"}).roll().batch({"c"}).roll().batch({"d", "e"}).build();
  const auto log = open();
  EXPECT_EQ(at(*log, 4), "below");
  EXPECT_EQ(at(*log, 5), "a");
  EXPECT_EQ(at(*log, 7), "c");
  EXPECT_EQ(at(*log, 9), "e");
  EXPECT_EQ(at(*log, 10), "past");
  EXPECT_EQ(log->first_record().value(), Offset{5});
  EXPECT_EQ(log->last_record().value(), Offset{9});
}

TEST_F(PartitionLogTest, AnEmptyDirectoryIsAnEmptyLog) {
  temp_.make_dir("orders-3");
  const auto log = open();
  EXPECT_EQ(at(*log, 0), "past");
  EXPECT_EQ(log->offsets()->log_end_offset, Offset{0});
  EXPECT_EQ(log->first_record().value(), std::nullopt);
  EXPECT_EQ(log->last_record().value(), std::nullopt);
  EXPECT_EQ(log->find_time(TimestampMs{0})->record, std::nullopt);
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(PartitionLogTest, AnEmptyActiveSegmentEndsTheLogAtItsBaseOffset) {
  builder_.batch({"a"}).offset(4000).roll().build();
  std::filesystem::remove(temp_ / "orders-3/00000000000000000000.log");
  const auto log = open();
  EXPECT_EQ(log->offsets()->log_start_offset, Offset{4000});
  EXPECT_EQ(log->offsets()->log_end_offset, Offset{4000});
  EXPECT_EQ(log->last_record().value(), std::nullopt);
}

TEST_F(PartitionLogTest, ALogStartInsideABatchHidesWhatLiesBelow) {
  builder_.batch({"a", "b", "c", "d"}).build();
  temp_.write("log-start-offset-checkpoint", "0\n1\norders 3 2\n");
  const auto log = open();
  EXPECT_EQ(at(*log, 1), "below");
  EXPECT_EQ(at(*log, 2), "c");
  EXPECT_EQ(log->first_record().value(), Offset{2});
  EXPECT_EQ(log->find(Offset{0})->next, Offset{2});
  EXPECT_EQ(log->find_time(TimestampMs{0})->record, Offset{2});
}

TEST_F(PartitionLogTest, ALogStartBeyondTheEndHidesEverythingAndIsNamed) {
  builder_.batch({"a", "b"}).build();
  temp_.write("log-start-offset-checkpoint", "0\n1\norders 3 9\n");
  const auto log = open();
  EXPECT_EQ(at(*log, 1), "below");
  EXPECT_EQ(at(*log, 9), "past");
  EXPECT_EQ(log->offsets()->log_end_offset, Offset{9});
  EXPECT_EQ(log->last_record().value(), std::nullopt);
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("lies beyond the log end 2")));
}

TEST_F(PartitionLogTest, TheHighWatermarkIsClampedIntoTheLog) {
  builder_.offset(10).batch({"a", "b"}).build();
  EXPECT_EQ(open()->offsets()->high_watermark, Offset{10});
  temp_.write("replication-offset-checkpoint", "0\n1\norders 3 11\n");
  EXPECT_EQ(open()->offsets()->high_watermark, Offset{11});
  temp_.write("replication-offset-checkpoint", "0\n1\norders 3 999\n");
  EXPECT_EQ(open()->offsets()->high_watermark, Offset{12});
}

TEST_F(PartitionLogTest, ABadCheckpointIsNamedAndSaysNothing) {
  builder_.batch({"a", "b"}).build();
  temp_.write("log-start-offset-checkpoint", "0\n2\norders 3 1\n");
  temp_.write("meta.properties", "version=7\n");
  const auto log = open();
  EXPECT_EQ(log->offsets()->log_start_offset, Offset{0});
  EXPECT_EQ(log->node_id(), std::nullopt);
  EXPECT_THAT(problems(), testing::UnorderedElementsAre(HasSubstr("log-start-offset-checkpoint"),
                                                        HasSubstr("meta.properties")));
}

TEST_F(PartitionLogTest, AMarkerIsPassedOverByWhoeverSeeks) {
  builder_.producer(7).transactional_batch({"a"}).commit(7).producer(-1).batch({"b"}).build();
  const auto log = open();
  EXPECT_EQ(at(*log, 1), "control");
  EXPECT_EQ(log->find(Offset{1})->next, Offset{2});
  EXPECT_EQ(log->seek(Offset{1}).value(), Offset{2});
  EXPECT_EQ(log->last_record().value(), Offset{2});
}

TEST_F(PartitionLogTest, MarkersAndEmptiedBatchesAtTheEndAreNotTheLastRecord) {
  builder_.producer(7).transactional_batch({"a"}).commit(7).emptied_batch(3).build();
  const auto log = open();
  EXPECT_EQ(log->last_record().value(), Offset{0});
  EXPECT_EQ(log->offsets()->log_end_offset, Offset{5});
  EXPECT_EQ(at(*log, 3), "compacted");
  EXPECT_EQ(log->seek(Offset{1}).value(), std::nullopt);
}

TEST_F(PartitionLogTest, ATornTailIsTheQuietEndOfALivingLog) {
  builder_.batch({"a"}).batch({"b"}).chop_bytes(5).build();
  const auto log = open();
  EXPECT_EQ(at(*log, 0), "a");
  EXPECT_EQ(at(*log, 1), "past");
  EXPECT_EQ(log->last_record().value(), Offset{0});
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(PartitionLogTest, ALivingTailIsQuietForWhoKnewTheSegmentBeforeItsIndexWasMade) {
  builder_.batch({"a"}).batch({"b"}).chop_bytes(5).build();
  const std::string index = temp_ / "orders-3/00000000000000000000.index";
  std::filesystem::remove(index);
  const auto log = open();
  const storage::SegmentEntry early = log->segments()->back();
  std::ofstream(index).close();
  ASSERT_TRUE(log->refresh());
  ASSERT_NE(log->segments()->back(), early);
  EXPECT_EQ(log->valid_end(early).value(), log->valid_end(log->segments()->back()).value());
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(PartitionLogTest, ZerosBehindTheLastBatchAreItsQuietEnd) {
  builder_.batch({"a"}).zero_tail(3 << 20).build();
  const auto log = open();
  EXPECT_EQ(log->offsets()->log_end_offset, Offset{1});
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(PartitionLogTest, WhatASealedSegmentLostOffItsEndIsDamageAndTheNextSegmentGoesOn) {
  builder_.batch({"a"}).batch({"b"}).chop_bytes(5).offset(2).roll().batch({"c"}).build();
  const auto log = open();
  EXPECT_EQ(at(*log, 0), "a");
  EXPECT_EQ(at(*log, 1), "damaged");
  EXPECT_EQ(at(*log, 2), "c");
  EXPECT_EQ(log->find(Offset{1})->next, Offset{2});
  EXPECT_EQ(log->seek(Offset{1}).error().code, Errc::kCorrupt);
  EXPECT_THAT(problems(), testing::Each(HasSubstr("bytes are no whole batch")));
  EXPECT_THAT(problems(), testing::Contains(HasSubstr("offsets 1 to 1 are lost")));
}

TEST_F(PartitionLogTest, ADamagedBatchTakesItsOwnRecordsOnly) {
  builder_.batch({"a", "b"}).batch({"c", "d"}).batch({"e"});
  const std::int64_t second = builder_.positions()[1];
  builder_.flip_byte(second + 70).build();
  const auto log = open();
  EXPECT_EQ(at(*log, 1), "b");
  EXPECT_EQ(at(*log, 2), "damaged");
  EXPECT_EQ(at(*log, 3), "damaged");
  EXPECT_EQ(at(*log, 4), "e");
  EXPECT_EQ(log->find(Offset{2})->next, Offset{4});
  EXPECT_EQ(log->seek(Offset{1}).value(), Offset{1});
  EXPECT_EQ(log->seek(Offset{2}).error().code, Errc::kCorrupt);
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("orders-3/00000000000000000000.log:" +
                                                std::to_string(second) + ": CRC expected 0x")));
}

// As if nobody had written to it for a while.
void age(const std::string& path) {
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(1));
}

TEST_F(PartitionLogTest, ABadLastBatchOfALogLongLeftAloneIsDamage) {
  builder_.batch({"a"}).batch({"b", "c"}).batch({"d"});
  const std::int64_t second = builder_.positions()[1], third = builder_.positions()[2];
  builder_.flip_byte(second + 70, 1).flip_byte(third + 65, 1).build();
  age(builder_.log_path());
  const auto log = open();
  EXPECT_EQ(at(*log, 0), "a");
  EXPECT_EQ(at(*log, 1), "damaged");
  EXPECT_EQ(at(*log, 2), "damaged");
  EXPECT_EQ(at(*log, 3), "damaged");
  EXPECT_EQ(at(*log, 4), "past");
  EXPECT_EQ(log->offsets()->log_end_offset, Offset{4});
  EXPECT_EQ(log->seek(Offset{1}).error().code, Errc::kCorrupt);
  EXPECT_THAT(problems(), ElementsAre(HasSubstr(std::to_string(second) + ": CRC expected"),
                                      HasSubstr(std::to_string(third) + ": CRC expected")));
}

TEST_F(PartitionLogTest, ABadLastBatchEndsASearchWhateverItsHeaderSays) {
  for (int byte = 0; byte < 61; ++byte) {
    for (const int mask : {0x01, 0x40, 0xff}) {
      SCOPED_TRACE(std::to_string(byte) + "^" + std::to_string(mask));
      TempDir temp;
      LogBuilder builder(temp / "orders-3");
      builder.batch({"a"}).batch({"b", "c"});
      builder.flip_byte(builder.positions()[1] + byte, mask).build();
      age(builder.log_path());
      const auto source = open_source({temp.path()});
      const auto log = open_log(*source, "orders-3");
      const auto first = log->find(Offset{0});
      ASSERT_TRUE(first);
      EXPECT_EQ(first->outcome, Outcome::kPresent);
      for (const int offset : {1, 2, 3}) EXPECT_TRUE(log->find(Offset{offset})) << offset;
      EXPECT_NE(log->seek(Offset{1}).value_or(std::nullopt), Offset{0});
      EXPECT_NE(log->last_record().value_or(std::nullopt), Offset{7});
      EXPECT_TRUE(log->find_time(TimestampMs{0}));
      int steps = 0;
      LogCursor cursor(log, Offset{0}, Offset{INT64_MAX});
      while (cursor.next() != LogCursor::Step::kEnd) ASSERT_LT(++steps, 10);
    }
  }
}

TEST_F(PartitionLogTest, ABadLastBatchJustWrittenBecomesDamageWhenNobodyGoesOnWriting) {
  builder_.batch({"a"}).batch({"b"}).flip_byte(-1, 1).build();
  const auto log = open();
  EXPECT_EQ(at(*log, 1), "past");
  EXPECT_THAT(problems(), IsEmpty());
  age(builder_.log_path());
  EXPECT_EQ(at(*log, 1), "damaged");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("CRC expected")));
}

TEST_F(PartitionLogTest, ABadLastBatchBelowACheckpointIsDamageHoweverFresh) {
  for (const std::string checkpoint :
       {"recovery-point-offset-checkpoint", "replication-offset-checkpoint"}) {
    SCOPED_TRACE(checkpoint);
    TempDir temp;
    LogBuilder(temp / "orders-3").batch({"a"}).batch({"b"}).flip_byte(-1, 1).build();
    write_file(temp / checkpoint, "0\n1\norders 3 2\n");
    const auto source = open_source({temp.path()});
    EXPECT_EQ(at(*open_log(*source, "orders-3"), 1), "damaged");
  }
}

TEST_F(PartitionLogTest, ATornOrZeroTailIsTheEndHoweverOld) {
  builder_.batch({"a"}).batch({"b"}).chop_bytes(5).build();
  age(builder_.log_path());
  EXPECT_EQ(at(*open(), 1), "past");
  builder_.chop_bytes(static_cast<std::size_t>(builder_.log_bytes() - builder_.positions()[1]));
  builder_.zero_tail(5000).build();
  age(builder_.log_path());
  EXPECT_EQ(at(*open(), 1), "past");
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(PartitionLogTest, ALengthThatLiesHidesNoneOfTheBatchesBehind) {
  for (const int byte : {8, 9, 10, 11}) {  // of the length field
    SCOPED_TRACE(byte);
    std::filesystem::remove_all(temp_ / "orders-3");
    LogBuilder builder(temp_ / "orders-3");
    builder.batch({"a"}).batch({"b"}).batch({"c"}).batch({"d"});
    builder.flip_byte(builder.positions()[1] + byte, 0x41).build();
    const auto log = open();
    EXPECT_EQ(at(*log, 0), "a");
    EXPECT_EQ(at(*log, 1), "damaged");
    EXPECT_EQ(at(*log, 2), "c");
    EXPECT_EQ(at(*log, 3), "d");
    EXPECT_EQ(log->offsets()->log_end_offset, Offset{4});
  }
}

TEST_F(PartitionLogTest, AnOffsetDeltaThatLiesIsNoGap) {
  builder_.batch({"a", "b", "c"}).batch({"d"});
  builder_.flip_byte(26, 2).build();  // 2 becomes 0
  const auto log = open();
  EXPECT_EQ(at(*log, 0), "damaged");
  EXPECT_EQ(at(*log, 2), "damaged");
  EXPECT_EQ(at(*log, 3), "d");
}

// Its header claims offsets far beyond what the log holds: nobody may go through them one by one.
TEST_F(PartitionLogTest, AnOffsetDeltaThatLiesIsNoReasonToSearchForever) {
  builder_.batch({"a", "b", "c"}).flip_byte(23, 2).build();  // 32 million more
  age(builder_.log_path());
  const auto log = open();
  EXPECT_EQ(at(*log, 0), "damaged");
  EXPECT_EQ(log->find(Offset{0})->next, std::nullopt);
  EXPECT_EQ(log->seek(Offset{3}).value_or(std::nullopt), std::nullopt);
}

// The base offset is in no CRC: only the neighbours tell.
TEST_F(PartitionLogTest, ABaseOffsetThatLiesIsDamageAndItsNeighboursStay) {
  // By byte and bit: far up, a little up, down, below zero, and beyond what a segment can hold.
  for (const auto& [byte, mask] :
       {std::pair{7, 0x08}, {7, 0x01}, {7, 0x02}, {6, 0x01}, {0, 0x80}, {3, 0x01}, {4, 0x40}}) {
    SCOPED_TRACE(std::to_string(byte) + "^" + std::to_string(mask));
    TempDir temp;
    LogBuilder builder(temp / "orders-3");
    builder.batch({"a", "b"}).batch({"c", "d", "e"}).batch({"f", "g"}).batch({"h"});
    const std::int64_t second = builder.positions()[1];
    builder.flip_byte(second + byte, mask).build();
    const auto source = open_source({temp.path()});
    const auto log = open_log(*source, "orders-3");
    EXPECT_EQ(at(*log, 1), "b");
    for (const int lost : {2, 3, 4}) EXPECT_EQ(at(*log, lost), "damaged") << lost;
    EXPECT_EQ(at(*log, 5), "f");
    EXPECT_EQ(at(*log, 7), "h");
    EXPECT_EQ(log->offsets()->log_end_offset, Offset{8});
    EXPECT_EQ(log->find(Offset{2})->next, Offset{5});
    EXPECT_EQ(log->seek(Offset{2}).error().code, Errc::kCorrupt);
    for (const bool headers_only : {false, true}) {
      LogCursor cursor(log, Offset{0}, Offset{100}, {.headers_only = headers_only});
      std::string steps;
      for (auto step = cursor.next(); step != LogCursor::Step::kEnd; step = cursor.next()) {
        steps += step == LogCursor::Step::kBatch
                     ? std::to_string(cursor.batch().header.base_offset.value) + " "
                     : "damage ";
      }
      EXPECT_EQ(steps, "0 damage 5 7 ");
    }
    const auto named = source->problems().list();
    ASSERT_EQ(named.size(), 1U);
    EXPECT_EQ(named[0].position, second);
    EXPECT_THAT(named[0].what,
                testing::AllOf(HasSubstr("expected"), HasSubstr("go on from offset 5")));
  }
}

TEST_F(PartitionLogTest, ABaseOffsetThatLiesBehindAnIndexEntryIsFoundOutToo) {
  for (const int batch : {100, 101, 102, 103, 104, 105, 106}) {
    for (const int mask : {0x04, 0x40}) {
      SCOPED_TRACE(batch * 1000 + mask);
      TempDir temp;
      LogBuilder builder(temp / "orders-3");
      builder.fill(300, 3, 200);
      builder.flip_byte(builder.positions()[static_cast<std::size_t>(batch)] + 7, mask).build();
      const auto source = open_source({temp.path()});
      const auto log = open_log(*source, "orders-3");
      for (int offset = 0; offset < 900; ++offset) {
        const bool lost = offset / 3 == batch;
        EXPECT_THAT(
            at(*log, offset),
            testing::StartsWith(lost ? "damaged" : "record " + std::to_string(offset) + "."));
      }
      EXPECT_EQ(source->problems().list().size(), 1U);
    }
  }
}

TEST_F(PartitionLogTest, ABaseOffsetThatLiesLeadsNoTimeAstray) {
  for (const int mask : {0x01, 0x02, 0x04, 0x08, 0x40, 0x80}) {
    SCOPED_TRACE(mask);
    TempDir temp;
    LogBuilder builder(temp / "orders-3");
    builder.clock(0).fill(2000, 3, 100);  // a millisecond a record: its offset
    constexpr int kBatch = 1000;
    builder.flip_byte(builder.positions()[kBatch] + 7, mask).build();
    const auto source = open_source({temp.path()});
    const auto log = open_log(*source, "orders-3");
    const Offset behind{3 * (kBatch + 1)};
    for (int time = 3 * kBatch - 300; time < 3 * kBatch + 300; ++time) {
      const bool lost = time / 3 == kBatch;
      EXPECT_EQ(log->find_time(TimestampMs{time})->record, lost ? behind : Offset{time}) << time;
    }
    EXPECT_EQ(log->find_time(TimestampMs{5999})->record, Offset{5999});
  }
}

TEST_F(PartitionLogTest, ALastOffsetThatReachesOverTheNextBatchIsDamage) {
  builder_.batch({"a"}).batch({"b"}).batch({"c"}).batch({"d"});
  std::string log_bytes = builder_.log();
  const auto second = static_cast<std::size_t>(builder_.positions()[1]);
  const auto third = static_cast<std::size_t>(builder_.positions()[2]);
  builder_.build();
  std::string entry = log_bytes.substr(second, third - second);
  entry.replace(23, 4, std::string("\x7f\xff\xff\xff", 4));
  storage::store_big_endian(entry.data() + 17, storage::crc32c(storage::Bytes(entry).substr(21)));
  write_file(builder_.log_path(), log_bytes.replace(second, third - second, entry));
  const auto log = open();
  EXPECT_EQ(at(*log, 0), "a");
  EXPECT_EQ(at(*log, 1), "damaged");
  EXPECT_EQ(at(*log, 2), "c");
  EXPECT_EQ(at(*log, 3), "d");
  EXPECT_EQ(log->offsets()->log_end_offset, Offset{4});
}

TEST_F(PartitionLogTest, ABatchBelowItsFilesBaseSaysSoAndNotThatItsCrcIsBad) {
  builder_.offset(100).batch({"a"}).batch({"b"}).flip_byte(7, 0x40).build();  // 100 becomes 36
  const auto log = open();
  EXPECT_EQ(at(*log, 100), "damaged");
  EXPECT_EQ(at(*log, 101), "b");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("base offset expected to be the segment's, 100, or "
                                                "above, found a batch of offsets 36 to 36")));
}

// The batch behind an index entry is read at once where batches are large. Another may lie between.
TEST_F(PartitionLogTest, ABaseOffsetThatLiesIsNotBelievedWhereABatchIsReadAtOnce) {
  const std::string big(3000, '.');
  builder_.batch({big + big + big}).batch({"b"});
  builder_.batch({"2" + big, "3" + big, "4" + big, "5" + big});
  builder_.batch({"6" + big, "7" + big, "8" + big, "9" + big}).batch({big + big + big});
  builder_.flip_byte(builder_.positions()[3] + 7, 0x02).batch({"end"}).build();  // 6 becomes 4
  const auto log = open();
  for (const int offset : {2, 3, 4, 5}) EXPECT_EQ(at(*log, offset)[0], '0' + offset);
  for (const int lost : {6, 7, 8, 9}) EXPECT_EQ(at(*log, lost), "damaged") << lost;
  EXPECT_EQ(at(*log, 11), "end");
}

TEST_F(PartitionLogTest, GapsOfCompactionAreNoLies) {
  builder_.batch({"a"}).offset(50).batch({"b"}).offset(5000).emptied_batch(7).offset(6000);
  builder_.batch({TestRecord("c").at_offset(6000), TestRecord("d").at_offset(6040)}).build();
  const auto log = open();
  EXPECT_EQ(at(*log, 20), "compacted");
  EXPECT_EQ(at(*log, 50), "b");
  EXPECT_EQ(at(*log, 6040), "d");
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(PartitionLogTest, ABatchThatClaimsTooMuchIsRefused) {
  builder_.codec(storage::Codec::kZstd).batch({std::string(100000, 'x')}).batch({"b"}).build();
  storage::LogDir::Options options;
  options.log.limits.decompressed_bytes = 1000;
  source_ = open_source({temp_.path()}, options);
  const auto log = open_log(*source_, "orders-3");
  EXPECT_EQ(at(*log, 0), "damaged");
  EXPECT_EQ(at(*log, 1), "b");
}

// A record's value may hold what looks like a batch; an index entry that leads there must not be
// taken for a place where one begins.
TEST_F(PartitionLogTest, AnIndexThatLeadsIntoARecordFindsWhatIsReallyThere) {
  LogBuilder inner(temp_ / "inner-0");
  inner.offset(3).batch({"x"});
  std::string fake = inner.log();
  fake[30] = static_cast<char>(fake[30] ^ 1);  // no good CRC, a plausible header all the same
  builder_.batch({"a", "b"}).batch({std::string(30000, '.')});
  const auto before = static_cast<std::size_t>(builder_.log_bytes());
  builder_.batch({fake + "!", "d"}).batch({"e", "f", "g", "h", "i"}).build();
  const std::size_t position = builder_.log().find(fake, before);
  std::string index(8, '\0');
  storage::store_big_endian(index.data(), std::int32_t{3});
  storage::store_big_endian(index.data() + 4, static_cast<std::int32_t>(position));
  write_file(builder_.path(".index"), index);
  const auto log = open();
  EXPECT_EQ(at(*log, 1), "b");
  EXPECT_EQ(at(*log, 2), std::string(30000, '.'));
  EXPECT_EQ(at(*log, 3), fake + "!");
  EXPECT_EQ(at(*log, 4), "d");
  EXPECT_EQ(at(*log, 5), "e");
  EXPECT_EQ(at(*log, 9), "i");
  EXPECT_EQ(log->offsets()->log_end_offset, Offset{10});
  EXPECT_EQ(log->last_record().value(), Offset{9});
  EXPECT_THAT(problems(), IsEmpty());
}

// --- A living directory ---

TEST_F(PartitionLogTest, WhatIsAppendedIsThereAtOnce) {
  builder_.batch({"a"}).living().build();
  const auto log = open();
  EXPECT_EQ(at(*log, 1), "past");
  builder_.batch({"b"}).build();
  EXPECT_EQ(at(*log, 1), "b");
  builder_.roll().batch({"c"}).build();
  EXPECT_EQ(at(*log, 2), "c");
  EXPECT_EQ(log->last_record().value(), Offset{2});
  EXPECT_EQ(log->segments()->size(), 2U);
}

TEST_F(PartitionLogTest, ABatchStillBeingWrittenIsWaitedFor) {
  builder_.batch({"a"}).batch({"b"}).build();
  const std::string whole = builder_.log();
  std::filesystem::resize_file(builder_.log_path(), whole.size() - 3);
  const auto log = open();
  EXPECT_EQ(at(*log, 1), "past");
  std::ofstream(builder_.log_path(), std::ios::app | std::ios::binary)
      << whole.substr(whole.size() - 3);
  EXPECT_EQ(at(*log, 1), "b");
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(PartitionLogTest, AfterATruncationTheOldRecordsAreGone) {
  builder_.batch({"a"}).batch({"b"}).batch({"c"}).build();
  const auto log = open();
  EXPECT_EQ(at(*log, 1), "b");
  EXPECT_EQ(at(*log, 2), "c");
  std::filesystem::resize_file(builder_.log_path(),
                               static_cast<std::uintmax_t>(builder_.positions()[1]));
  EXPECT_EQ(at(*log, 2), "past");
  EXPECT_EQ(at(*log, 1), "past");
  LogBuilder(temp_ / "orders-3").batch({"a"}).batch({"B"}).batch({"C"}).batch({"D"}).build();
  EXPECT_EQ(at(*log, 1), "B");
  EXPECT_EQ(at(*log, 2), "C");
  EXPECT_EQ(log->last_record().value(), Offset{3});
}

// Between two looks at the directory: the names, and the numbers of the files, may be the same
// again.
TEST_F(PartitionLogTest, ASealedSegmentThatWasCutAndWrittenOnInPlaceIsReadToItsNewEnd) {
  builder_.batch({"a"}).batch({"b"}).roll().batch({"c"}).build();
  const std::string first = temp_ / "orders-3/00000000000000000000.log";
  const auto log = open();
  EXPECT_EQ(at(*log, 0), "a");
  EXPECT_EQ(at(*log, 1), "b");
  LogBuilder other(temp_ / "other");
  other.batch({"a"}).leader_epoch(1).batch({"a longer one than before"});
  tests::write_file(first, other.log());
  temp_.write("orders-3/leader-epoch-checkpoint", "0\n1\n1 1\n");  // the directory changed
  log->refresh();
  EXPECT_EQ(log->find_afresh(Offset{1})->record.value, "a longer one than before");
  EXPECT_EQ(at(*log, 0), "a");
  EXPECT_EQ(at(*log, 1), "a longer one than before");
  EXPECT_EQ(at(*log, 2), "c");
}

TEST_F(PartitionLogTest, ATruncationOverASegmentBoundaryForgetsTheSealedOneToo) {
  builder_.batch({"a"}).batch({"b"}).roll().batch({"c"}).build();
  const auto log = open();
  EXPECT_EQ(at(*log, 1), "b");
  EXPECT_EQ(at(*log, 2), "c");
  std::filesystem::remove_all(temp_ / "orders-3/00000000000000000002.log");
  LogBuilder(temp_ / "orders-3").batch({"a"}).batch({"B"}).build();
  log->refresh();
  EXPECT_EQ(at(*log, 1), "B");
  EXPECT_EQ(at(*log, 2), "past");
}

TEST_F(PartitionLogTest, WhatRetentionTookIsBelowTheLogStart) {
  builder_.batch({"a"}).roll().batch({"b"}).roll().batch({"c"}).build();
  const auto log = open();
  EXPECT_EQ(at(*log, 0), "a");
  std::filesystem::rename(temp_ / "orders-3/00000000000000000000.log",
                          temp_ / "orders-3/00000000000000000000.log.deleted");
  log->refresh();
  EXPECT_EQ(at(*log, 0), "below");
  EXPECT_EQ(at(*log, 1), "b");
  ASSERT_EQ(log->set_aside()->size(), 1U);
  const auto segment = log->segment(log->set_aside()->front());
  ASSERT_TRUE(segment);
  EXPECT_EQ(log->valid_end(log->set_aside()->front()).value().value,
            (*segment)->opened_info().size_bytes);
}

TEST_F(PartitionLogTest, ASegmentThatVanishesUnderALookupIsLookedForAgain) {
  builder_.batch({"a"}).roll().batch({"b"}).roll().batch({"c"}).build();
  const auto log = open();
  EXPECT_EQ(log->segments()->size(), 3U);  // listed, nothing opened
  std::filesystem::remove(temp_ / "orders-3/00000000000000000001.log");
  const auto found = log->find(Offset{1});
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->outcome, Outcome::kCompacted);
  EXPECT_EQ(found->next, Offset{2});
}

TEST_F(PartitionLogTest, CompactionReplacesASegmentUnderItsName) {
  builder_.batch({"a", "b", "c"}).roll().batch({"d"}).build();
  const auto log = open();
  EXPECT_EQ(at(*log, 1), "b");
  LogBuilder(temp_ / "clean").batch({TestRecord("a"), TestRecord("c").at_offset(2)}).build();
  std::filesystem::rename(temp_ / "clean/00000000000000000000.log",
                          temp_ / "orders-3/00000000000000000000.log");
  log->refresh();
  EXPECT_EQ(at(*log, 0), "a");
  EXPECT_EQ(at(*log, 1), "compacted");
  EXPECT_EQ(at(*log, 2), "c");
}

// --- Large batches that were checked before ---

class CheckedBatchTest : public PartitionLogTest {
 protected:
  // A batch of more than 32 KiB, in a file that is old enough to be believed.
  void build(const char* mark) {
    std::vector<TestRecord> values;
    for (int i = 0; i < 200; ++i)
      values.push_back(mark + std::to_string(i) + std::string(400, '.'));
    builder_.batch({"before"}).batch(values).batch({"behind"}).build();
    age(builder_.log_path());
  }
  std::string value(int i) { return std::to_string(i) + std::string(400, '.'); }
  // Keeps no batch but the one decoded last.
  std::shared_ptr<const PartitionLog> open() {
    storage::LogDir::Options options;
    options.cached_batches_bytes = 1;
    source_ = open_source({temp_.path()}, options);
    return open_log(*source_, "orders-3");
  }
};

TEST_F(CheckedBatchTest, EveryRecordIsTheSameOnceMore) {
  build("x");
  const auto log = open();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 200; ++i) {
      const RecordLookup found = log->find(Offset{1 + i}).value();
      ASSERT_EQ(found.outcome, Outcome::kPresent);
      EXPECT_EQ(found.record.value, "x" + value(i));
      EXPECT_EQ(found.record.offset, Offset{1 + i});
      EXPECT_EQ(found.record.timestamp, log->find_afresh(Offset{1 + i})->record.timestamp);
      EXPECT_EQ(found.place->position.value, builder_.positions()[1]);
    }
    EXPECT_EQ(at(*log, 0), "before");  // the batch itself is not at hand in the second round
  }
  EXPECT_EQ(at(*log, 201), "behind");
}

TEST_F(CheckedBatchTest, AFileThatWasWrittenToIsCheckedAgain) {
  build("x");
  const auto log = open();
  EXPECT_EQ(at(*log, 100), "x" + value(99));
  EXPECT_EQ(at(*log, 0), "before");
  const auto mtime = std::filesystem::last_write_time(builder_.log_path());
  builder_.flip_byte(builder_.positions()[1] + 10000, 1).build();
  std::filesystem::last_write_time(builder_.log_path(), mtime);  // as rsync and the like leave it
  EXPECT_EQ(at(*log, 101), "damaged");
  age(builder_.log_path());
  EXPECT_EQ(at(*log, 101), "damaged");
}

// --- Times ---

TEST_F(PartitionLogTest, ATimeLeadsToTheLeastOffsetThatIsNotOlder) {
  builder_.batch({TestRecord("a").at_time(1000), TestRecord("b").at_time(5000),
                  TestRecord("c").at_time(2000), TestRecord("d").at_time(7000)});
  builder_.build();
  const auto log = open();
  EXPECT_EQ(log->find_time(TimestampMs{1001})->record, Offset{1});
  EXPECT_EQ(log->find_time(TimestampMs{5001})->record, Offset{3});
  EXPECT_EQ(log->find_time(TimestampMs{7001})->record, std::nullopt);
  EXPECT_EQ(log->find_time(TimestampMs{-5})->record, Offset{0});
  EXPECT_EQ(log->find_time(TimestampMs{-5})->kafka, std::nullopt);
}

TEST_F(PartitionLogTest, ABrokerGivesUpAtASegmentWithoutTimesAndTheMountGoesOn) {
  builder_.legacy_batch(0, {"a"}).roll().batch({TestRecord("b").at_time(5000)}).build();
  const auto found = open()->find_time(TimestampMs{4000}).value();
  EXPECT_EQ(found.kafka, std::nullopt);  // the first segment's mtime is newer
  EXPECT_EQ(found.record, Offset{1});
}

TEST_F(PartitionLogTest, AMarkersTimeLeadsToTheRecordBehindIt) {
  builder_.clock(1000).producer(7).transactional_batch({"a"}).clock(9000).commit(7).producer(-1);
  builder_.clock(2000).batch({"b"}).build();
  const auto found = open()->find_time(TimestampMs{5000}).value();
  EXPECT_EQ(found.kafka, Offset{1});
  EXPECT_EQ(found.record, Offset{2});
}

// Above kTimeScanBytes the time index is asked.
class LargeTimesTest : public PartitionLogTest {
 protected:
  LargeTimesTest() {
    builder_.fill(400, 10, 600).roll().fill(400, 10, 600).roll().fill(10, 10, 600).build();
  }
  void expect_all_times() {
    const auto log = open();
    const std::int64_t end = log->offsets()->log_end_offset.value;
    for (std::int64_t n = 0; n < end; n += 97) {
      const auto found = log->find_time(TimestampMs{LogBuilder::kFirstTime + n}).value();
      ASSERT_EQ(found.record, Offset{n});
      ASSERT_EQ(found.kafka, Offset{n});
    }
    const auto none = log->find_time(TimestampMs{LogBuilder::kFirstTime + end}).value();
    EXPECT_EQ(none.record, std::nullopt);
    EXPECT_THAT(problems(), IsEmpty());
  }
};

TEST_F(LargeTimesTest, TimesAreFoundByTheTimeIndex) { expect_all_times(); }

TEST_F(LargeTimesTest, ATimeIndexThatEndsTooEarlyHidesNothing) {
  const std::string path = temp_ / "orders-3/00000000000000000000.timeindex";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 24 * 12);
  expect_all_times();
}

TEST_F(LargeTimesTest, ATimeIndexOfAnotherSegmentHidesNothing) {
  std::filesystem::copy_file(temp_ / "orders-3/00000000000000000000.timeindex",
                             temp_ / "orders-3/00000000000000004000.timeindex",
                             std::filesystem::copy_options::overwrite_existing);
  expect_all_times();
}

TEST_F(LargeTimesTest, WithoutATimeIndexTheBatchesTell) {
  std::filesystem::remove(temp_ / "orders-3/00000000000000000000.timeindex");
  std::filesystem::remove(temp_ / "orders-3/00000000000000004000.timeindex");
  expect_all_times();
}

TEST_F(LargeTimesTest, ALookupReadsTheBatchesBetweenTwoIndexEntriesAtMost) {
  const auto log = open();
  for (std::int64_t n = 0; n < 8000; n += 31) {
    const auto place = log->find_afresh(Offset{n})->place.value();
    EXPECT_LE(place.batches_scanned, 3) << n;  // batches of some 6 KiB, an entry each
    if (n % 4000 > 20) {
      EXPECT_TRUE(place.index_entry) << n;
    }
  }
}

// The high watermark may lie in the midst of a batch, or of a segment, or before all records.
// A file that is held open keeps its space on a disk that the broker wants to clear.
TEST_F(PartitionLogTest, WhatTheBrokerDeletesIsNotHeldOpen) {
  builder_.batch({"a"}).roll().batch({"b"}).build();
  const std::string name = temp_ / "orders-3/00000000000000000000.log";
  const auto log = open();
  std::weak_ptr<const storage::Segment> live = log->segment(log->segments()->front()).value();
  EXPECT_FALSE(live.expired());
  std::filesystem::rename(name, name + ".deleted");
  log->refresh();
  EXPECT_TRUE(live.expired());
  std::weak_ptr<const storage::Segment> doomed = log->segment(log->set_aside()->front()).value();
  EXPECT_FALSE(doomed.expired());
  std::filesystem::remove(name + ".deleted");
  log->refresh();
  EXPECT_TRUE(doomed.expired());
}

TEST_F(PartitionLogTest, ALogThatEndsAtTheHighWatermarkHidesWhatLiesAbove) {
  builder_.batch({"0", "1"}).batch({"2", "3", "4"}).roll().batch({"5"}).batch({"6"}).build();
  for (std::int64_t high_watermark = 0; high_watermark <= 7; ++high_watermark) {
    temp_.write("replication-offset-checkpoint",
                "0\n1\norders 3 " + std::to_string(high_watermark) + "\n");
    storage::LogDir::Options options;
    options.log.until_high_watermark = true;
    const auto source = open_source({temp_ / "orders-3"}, std::move(options));
    const auto log = open_log(*source, "orders-3");
    EXPECT_EQ(log->offsets()->readable_end, Offset{high_watermark});
    EXPECT_EQ(log->offsets()->log_end_offset, Offset{7});
    for (std::int64_t offset = 0; offset < 7; ++offset) {
      const bool shown = offset < high_watermark;
      EXPECT_EQ(at(*log, offset), shown ? std::to_string(offset) : "above");
      EXPECT_EQ(log->seek(Offset{offset}).value(),
                shown ? std::optional(Offset{offset}) : std::nullopt);
      const auto time = log->find_time(storage::TimestampMs{LogBuilder::kFirstTime + offset});
      EXPECT_EQ(time->record, shown ? std::optional(Offset{offset}) : std::nullopt);
    }
    EXPECT_EQ(at(*log, 7), "past");
    EXPECT_EQ(log->last_record().value(),
              high_watermark > 0 ? std::optional(Offset{high_watermark - 1}) : std::nullopt);
    EXPECT_EQ(log->first_record().value(),
              high_watermark > 0 ? std::optional(Offset{0}) : std::nullopt);
  }
}

TEST_F(PartitionLogTest, ASoleReplicasHighWatermarkIsItsEndBeforeACheckpointSaysSo) {
  builder_.batch({"0", "1"}).batch({"2", "3", "4"}).build();
  for (const std::string checkpointed : {"0\n0\n", "0\n1\norders 3 1\n", "0\n1\norders 3 4\n"}) {
    temp_.write("replication-offset-checkpoint", checkpointed);
    storage::LogDir::Options options;
    options.log.until_high_watermark = true;
    const auto source = open_source({temp_ / "orders-3"}, std::move(options));
    const auto log = open_log(*source, "orders-3");
    log->count_as_replicated(Offset{2});
    EXPECT_EQ(log->offsets()->high_watermark,
              checkpointed.ends_with("4\n") ? Offset{4} : Offset{2});
    EXPECT_TRUE(log->offsets()->high_watermark_known);
    log->count_as_replicated(Offset{5});
    log->count_as_replicated(Offset{3});  // somebody else's, late
    EXPECT_EQ(log->offsets()->high_watermark, Offset{5});
    EXPECT_EQ(log->last_record().value(), Offset{4});
    log->count_as_replicated(Offset{6});  // not seen yet
    EXPECT_EQ(log->offsets()->high_watermark, Offset{5});
  }
}

class UntilHighWatermarkTest : public PartitionLogTest {
 protected:
  std::shared_ptr<const PartitionLog> open(std::int64_t high_watermark) {
    temp_.write("replication-offset-checkpoint",
                "0\n1\norders 3 " + std::to_string(high_watermark) + "\n");
    storage::LogDir::Options options;
    options.log.until_high_watermark = true;
    source_ = open_source({temp_ / "orders-3"}, std::move(options));
    return open_log(*source_, "orders-3");
  }
};

TEST_F(UntilHighWatermarkTest, DamageAtOrAboveTheEndKeepsNobodyFromTheLastRecordBelow) {
  builder_.batch({"0", "1"}).batch({"2", "3", "4"}).batch({"5"}).batch({"6"}).batch({"7"});
  builder_.flip_byte(builder_.positions()[2] + 65, 1).build();
  EXPECT_EQ(open(5)->last_record().value(), Offset{4});
  EXPECT_EQ(open(4)->last_record().value(), Offset{3});
  EXPECT_EQ(open(2)->last_record().value(), Offset{1});
  EXPECT_EQ(open(6)->last_record().error().code, Errc::kCorrupt);
  EXPECT_EQ(open(7)->last_record().value(), Offset{6});
}

TEST_F(UntilHighWatermarkTest, OfALegacyWrapperTheRecordsBelowTheEndCount) {
  builder_.batch({"0"}).codec(storage::Codec::kGzip).legacy_batch(1, {"1", "2", "3", "4"});
  builder_.legacy_batch(1, {"5", "6"}).build();
  for (const std::int64_t end : {1, 2, 3, 4, 5, 6}) {
    EXPECT_EQ(open(end)->last_record().value(), Offset{end - 1}) << end;
  }
}

// A segment's last batch reaches over the next one's base offset, and has no record below it.
TEST_F(PartitionLogTest, ABatchWithoutARecordInItsSegmentsShareDoesNotHideTheOnesBefore) {
  for (const int magic : {1, 2}) {
    SCOPED_TRACE(magic);
    TempDir temp;
    LogBuilder segment(temp / "orders-3"), next(temp / "orders-3");
    segment.batch({"0", "1"});
    if (magic == 2) {
      storage::BatchBuilder::Options options;
      options.base_offset = Offset{2};
      storage::BatchBuilder batch(options);
      for (const int offset : {5, 6})
        batch.add_at(Offset{offset}, TimestampMs{1}, std::nullopt, std::to_string(offset));
      segment.raw(batch.build());
    } else {
      segment.offset(5).codec(storage::Codec::kGzip).legacy_batch(1, {"5", "6"});
    }
    segment.build();
    next.offset(4).emptied_batch(6).build();
    source_ = open_source({temp.path()});
    EXPECT_EQ(open_log(*source_, "orders-3")->last_record().value(), Offset{1});
  }
}

// Appended, and the segment rolled behind it, before the cursor came again.
TEST_F(PartitionLogTest, ACursorMissesNothingOfASegmentThatWasRolledMeanwhile) {
  builder_.batch({"0"}).batch({"1"}).build();
  const auto log = open();
  LogCursor cursor(log, Offset{0}, Offset{INT64_MAX});
  ASSERT_EQ(cursor.next(), LogCursor::Step::kBatch);
  ASSERT_EQ(cursor.next(), LogCursor::Step::kBatch);
  ASSERT_EQ(cursor.next(), LogCursor::Step::kEnd);
  builder_.batch({"2"}).roll().batch({"3"}).build();
  for (const int offset : {2, 3}) {
    ASSERT_EQ(cursor.next(), LogCursor::Step::kBatch);
    EXPECT_EQ(cursor.batch().header.base_offset, Offset{offset});
  }
  EXPECT_EQ(cursor.next(), LogCursor::Step::kEnd);
}

// What took unknown offsets is met once, also where a segment ends with several such.
TEST_F(PartitionLogTest, ACursorComesThroughDamageThatTellsNoOffsets) {
  builder_.batch({"0"}).batch({"1", "2"}).batch({"3", "4"}).batch({"5"});
  for (const std::size_t batch : {1U, 2U, 3U})
    builder_.flip_byte(builder_.positions()[batch], 0x80);
  builder_.roll().batch({"6"}).build();
  const auto log = open();
  LogCursor cursor(log, Offset{0}, Offset{INT64_MAX});
  int batches = 0, steps = 0;
  for (auto step = cursor.next(); step != LogCursor::Step::kEnd; step = cursor.next()) {
    ASSERT_LT(++steps, 10);
    if (step == LogCursor::Step::kBatch) ++batches;
  }
  EXPECT_EQ(batches, 2);
}

TEST_F(PartitionLogTest, EachBatchOutOfLineAtTheEndCountsForTheLogEnd) {
  builder_.batch({"0", "1"}).batch({"2", "3", "4"}).batch({"5", "6"});
  // The lowest byte of a base offset: they claim to begin at 0 and 1.
  builder_.flip_byte(builder_.positions()[1] + 7, 2).flip_byte(builder_.positions()[2] + 7, 4);
  builder_.build();
  EXPECT_EQ(open()->offsets()->log_end_offset, Offset{7});
}

// Calls `at_info` once, when a file was asked for its size and before the answer is given.
class MeddlingBackend final : public storage::IoBackend {
 public:
  explicit MeddlingBackend(std::function<void()> at_info) : at_info_(std::move(at_info)) {}
  std::unique_ptr<storage::File> adopt(int fd, std::string name) const override {
    return std::make_unique<Meddled>(*this, below_->adopt(fd, std::move(name)));
  }
  const char* kind() const override { return below_->kind(); }

 private:
  class Meddled final : public storage::File {
   public:
    Meddled(const MeddlingBackend& backend, std::unique_ptr<storage::File> file)
        : File(file->name()), backend_(backend), file_(std::move(file)) {}
    storage::Result<std::size_t> read_at(storage::Position position,
                                         std::span<char> buffer) const override {
      return file_->read_at(position, buffer);
    }
    storage::Result<void> read_many(std::span<Read> reads) const override {
      return file_->read_many(reads);
    }
    storage::Result<storage::FileInfo> info() const override {
      auto info = file_->info();
      if (auto act = std::exchange(backend_.at_info_, nullptr)) act();
      return info;
    }

   private:
    const MeddlingBackend& backend_;
    std::unique_ptr<storage::File> file_;
  };

  mutable std::function<void()> at_info_;
  std::shared_ptr<const storage::IoBackend> below_ = test_backend();
};

TEST_F(PartitionLogTest, ASegmentRolledWhileItIsOpenedIsReadToItsEnd) {
  builder_.batch({"0"}).build();
  const PartitionLog* opened = nullptr;
  const auto backend = std::make_shared<MeddlingBackend>([&] {
    builder_.batch({"1"}).roll().batch({"2"}).build();
    opened->refresh();
  });
  source_ = storage::LogDir::open({temp_.path()}, backend, {}).value();
  const auto log = open_log(*source_, "orders-3");
  opened = log.get();
  ASSERT_EQ(log->segments()->size(), 1U);
  EXPECT_EQ(at(*log, 0), "0");
  EXPECT_EQ(log->segments()->size(), 2U);
  EXPECT_EQ(at(*log, 1), "1");
  EXPECT_EQ(at(*log, 2), "2");
}

}  // namespace
}  // namespace offsetfs::tests
