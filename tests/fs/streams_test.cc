#include "fs/streams.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fs/offset_cursor.h"
#include "fs/segment_damage.h"
#include "storage/batch_builder.h"
#include "storage/segment_files.h"
#include "tests/fs/one_partition.h"
#include "tests/support/log_builder.h"
#include "tests/support/random_log.h"
#include "tests/support/temp_dir.h"

namespace offsetfs::fs {
namespace {

using storage::Errc;
using storage::Offset;
using storage::TimestampMs;
using testing::HasSubstr;
using tests::LogBuilder;
using tests::OnePartition;
using tests::TempDir;
using tests::TestRecord;

Node node_of(NodeKind kind, Form form = Form::kValues) {
  Node node;
  node.kind = kind;
  node.form = form;
  return node;
}

class StreamsTest : public testing::Test {
 protected:
  void open_log(const std::string& dir) { one_.emplace(dir); }

  Streams& streams() {
    if (!streams_) streams_ = std::make_unique<Streams>(options_, one_->source->problems());
    return *streams_;
  }

  // Of the streams from here on; larger ranges are read as they are made.
  void measure_up_to(std::int64_t bytes) {
    streams_.reset();
    options_.measured_range_bytes = bytes;
  }

  storage::SegmentEntry segment(std::size_t i) const { return one_->view->log->segments()->at(i); }

  std::unique_ptr<StreamFile> open_segment(std::size_t i,
                                           Node node = node_of(NodeKind::kSegmentStream)) {
    node.number = segment(i).base_offset.value;
    auto file = streams().open_segment(node, one_->view->log, segment(i), one_->view->context);
    EXPECT_TRUE(file) << file.error().what;
    return file ? std::move(*file) : nullptr;
  }

  Streams::Size segment_size(std::size_t i, Node node = node_of(NodeKind::kSegmentStream)) {
    node.number = segment(i).base_offset.value;
    auto size = streams().segment_size(node, one_->view->log, segment(i), one_->view->context);
    EXPECT_TRUE(size);
    return size ? *size : Streams::Size{};
  }

  storage::Result<std::unique_ptr<StreamFile>> try_range(const RecordRange& range,
                                                         Form form = Form::kValues) {
    return streams().open_range(node_of(NodeKind::kRange, form), one_->view->log, range,
                                one_->view->context);
  }
  std::unique_ptr<StreamFile> open_range(const RecordRange& range, Form form = Form::kValues) {
    auto file = try_range(range, form);
    EXPECT_TRUE(file) << file.error().what;
    return file ? std::move(*file) : nullptr;
  }
  static RecordRange offsets(std::int64_t from, std::int64_t to) {
    RecordRange range;
    range.from = Offset{from};
    range.to = Offset{to};
    return range;
  }

  static std::string read(const StreamFile& file, std::uint64_t position, std::size_t size) {
    std::string buffer;
    const auto bytes = file.read(position, size, buffer);
    EXPECT_TRUE(bytes) << bytes.error().what;
    return bytes ? std::string(*bytes) : std::string();
  }
  // To the end, or to the error.
  static std::string read_all(const StreamFile& file, std::size_t block = 50,
                              std::optional<Errc>* error = nullptr) {
    std::string all;
    std::string buffer;
    for (;;) {
      const auto bytes = file.read(all.size(), block, buffer);
      if (!bytes) {
        EXPECT_NE(error, nullptr) << bytes.error().what;
        if (error != nullptr) *error = bytes.error().code;
        return all;
      }
      if (bytes->empty()) return all;
      all += *bytes;
    }
  }

  TempDir temp_;
  const std::string dir_ = temp_ / "orders-3";
  std::optional<OnePartition> one_;
  Streams::Options options_;
  std::unique_ptr<Streams> streams_;
};

// a b c | d e f | g h, with markers and gaps between.
class ThreeSegmentsTest : public StreamsTest {
 protected:
  ThreeSegmentsTest() {
    builder_.batch({"a", "b"})
        .batch({"c"})
        .roll()
        .producer(7)
        .transactional_batch({"d"})
        .commit(7)
        .producer(-1)
        .emptied_batch(3)
        .batch({"e", "f"})
        .roll()
        .offset(20)
        .batch({"g", "h"})
        .build();
    open_log(dir_);
  }
  LogBuilder builder_{dir_};
};

TEST_F(ThreeSegmentsTest, SegmentStreamHoldsTheSegmentsRecordsWithoutMarkers) {
  EXPECT_EQ(read_all(*open_segment(0)), "a\nb\nc\n");
  EXPECT_EQ(read_all(*open_segment(1)), "d\ne\nf\n");
  EXPECT_EQ(open_segment(1)->size_bytes(), 6);
}

TEST_F(ThreeSegmentsTest, ControlRecordsAreShownWhereAskedFor) {
  options_.show_control = true;
  EXPECT_EQ(open_segment(1)->size_bytes().value(), 6 + 6 + 1);  // the marker's value has 6 bytes
}

TEST_F(ThreeSegmentsTest, RangeOverSeveralSegmentsHasItsExactSizeAtTheOpen) {
  const auto file = open_range(offsets(1, 21));
  EXPECT_EQ(file->size_bytes(), 12);
  EXPECT_TRUE(file->flags().direct_io);  // with the log's start and end it is another
  EXPECT_EQ(read_all(*file, 5), "b\nc\nd\ne\nf\ng\n");
  EXPECT_EQ(read(*file, 4, 3), "d\ne");
}

TEST_F(ThreeSegmentsTest, RangeIsClippedToTheLogAndMayBeNothing) {
  EXPECT_EQ(read_all(*open_range(offsets(0, 1000))), "a\nb\nc\nd\ne\nf\ng\nh\n");
  EXPECT_EQ(try_range(offsets(22, 30)).error().code, Errc::kNotFound);
  EXPECT_EQ(try_range(offsets(5, 5)).error().code, Errc::kNotFound);
  const auto gap = open_range(offsets(12, 18));
  EXPECT_EQ(gap->size_bytes(), 0);
  EXPECT_EQ(read_all(*gap), "");
}

TEST_F(ThreeSegmentsTest, HeadLineStandsBeforeWhateverIsLeft) {
  const std::string tsv = read_all(*open_range(offsets(21, 22), Form::kTsv));
  EXPECT_EQ(tsv.find("offset\t"), 0U);
  EXPECT_THAT(tsv, HasSubstr("\n21\t"));
  EXPECT_EQ(read_all(*open_range(offsets(12, 18), Form::kTsv)), tsv.substr(0, tsv.find('\n') + 1));
}

TEST_F(ThreeSegmentsTest, StreamOverMuchHasNoSizeAndIsReadAsItIsMade) {
  options_.measured_range_bytes = 100;
  const auto file = open_range(offsets(0, 1000));
  EXPECT_EQ(file->size_bytes(), std::nullopt);
  EXPECT_TRUE(file->flags().direct_io);
  EXPECT_EQ(streams().counters().scans, 0U);
  EXPECT_EQ(read_all(*file, 3), "a\nb\nc\nd\ne\nf\ng\nh\n");
  EXPECT_EQ(read(*file, 3, 4), "\nc\nd");
  EXPECT_EQ(read(*open_range(offsets(0, 1000)), 12, 100), "g\nh\n");
}

TEST_F(ThreeSegmentsTest, StreamOfOneSegmentHasASizeHoweverLarge) {
  options_.measured_range_bytes = 1;
  EXPECT_EQ(open_range(offsets(0, 2))->size_bytes(), 4);
}

TEST_F(ThreeSegmentsTest, OpenStreamIsFrozenAndAnotherOpenSeesMore) {
  const auto range = open_range(offsets(20, INT64_MAX));
  const auto segment = open_segment(2);
  builder_.batch({"i"}).build();
  EXPECT_EQ(read_all(*range), "g\nh\n");
  EXPECT_EQ(read_all(*segment), "g\nh\ni\n");  // a segment's stream is followed
  EXPECT_EQ(segment_size(2).bytes, 6);
  EXPECT_EQ(read_all(*open_range(offsets(20, INT64_MAX))), "g\nh\ni\n");
}

TEST_F(StreamsTest, OpensAreSlowOnlyWhereMuchIsToBeScanned) {
  LogBuilder(dir_).batch({"a"}).roll().fill(300, 20, 500).build();
  open_log(dir_);
  const auto& log = one_->view->log;
  EXPECT_FALSE(streams().range_opens_slowly(log, offsets(0, 5)));
  EXPECT_TRUE(streams().range_opens_slowly(log, offsets(0, INT64_MAX)));
  Node node = node_of(NodeKind::kSegmentStream);
  node.number = segment(1).base_offset.value;
  EXPECT_TRUE(streams().opens_slowly(node, log, segment(1)));
  open_segment(1);
  EXPECT_FALSE(streams().opens_slowly(node, log, segment(1)));
  measure_up_to(1000);  // read as it is made: nothing is scanned
  EXPECT_FALSE(streams().range_opens_slowly(log, offsets(0, INT64_MAX)));
}

TEST_F(ThreeSegmentsTest, RangeWithMovingEndsIsReadPastTheKernelsCache) {
  RecordRange range = offsets(0, 3);
  range.moving = true;
  EXPECT_TRUE(open_range(range)->flags().direct_io);
}

TEST_F(ThreeSegmentsTest, StatNeverScansAndIsExactAfterTheOpen) {
  const Streams::Size before = segment_size(1);
  EXPECT_FALSE(before.exact);
  EXPECT_GE(before.bytes, 6);
  EXPECT_EQ(streams().counters().scans, 0U);
  open_segment(1);
  const Streams::Size after = segment_size(1);
  EXPECT_TRUE(after.exact);
  EXPECT_EQ(after.bytes, 6);
  EXPECT_FALSE(segment_size(1, node_of(NodeKind::kSegmentStream, Form::kJsonl)).exact);
}

TEST_F(ThreeSegmentsTest, SecondOpenScansNothingAndKeepsTheKernelsCache) {
  EXPECT_FALSE(open_segment(1)->flags().keep_cache);
  const auto scans = streams().counters().scans;
  EXPECT_TRUE(open_segment(1)->flags().keep_cache);
  EXPECT_EQ(streams().counters().scans, scans);
}

void remove_segment(const std::string& dir, std::int64_t base_offset) {
  for (const char* extension : {".log", ".index", ".timeindex", ".txnindex"})
    std::filesystem::remove(dir + "/" + storage::segment_base_name(Offset{base_offset}) +
                            extension);
}

TEST_F(ThreeSegmentsTest, SegmentThatIsOpenOutlivesItsDeletion) {
  const auto file = open_segment(0);
  remove_segment(dir_, 0);
  one_->view->log->refresh();
  EXPECT_EQ(read_all(*file), "a\nb\nc\n");
}

class OvertakenStreamTest : public ThreeSegmentsTest {
 protected:
  OvertakenStreamTest() {
    options_.measured_range_bytes = 100;
    options_.log = [this](LogLevel, const std::string& line) { log_.push_back(line); };
    builder_.roll().batch({"i"}).build();
    one_->view->log->refresh();
  }

  void remove_all_but_the_last() {
    for (const std::int64_t base : bases_) remove_segment(dir_, base);
    one_->source->refresh();
    one_->view->log->refresh();
  }

  const std::vector<std::int64_t> bases_ = {0, segment(1).base_offset.value,
                                            segment(2).base_offset.value};
  std::vector<std::string> log_;
};

TEST_F(OvertakenStreamTest, RetentionTakesNothingOfWhatLiesNextAheadOfAReader) {
  const auto file = open_range(offsets(0, 1000));
  ASSERT_EQ(file->size_bytes(), std::nullopt);
  const std::string whole = read_all(*open_range(offsets(0, 1000)));
  remove_all_but_the_last();
  EXPECT_EQ(read_all(*file), whole);
  EXPECT_THAT(log_, testing::IsEmpty());
}

TEST_F(OvertakenStreamTest, StreamEndsHonestlyWhereRetentionWasFaster) {
  options_.segments_ahead = 0;
  const auto file = open_range(offsets(0, 1000));
  remove_all_but_the_last();
  std::optional<Errc> error;
  EXPECT_EQ(read_all(*file, 50, &error), "a\nb\nc\n");
  EXPECT_EQ(error, Errc::kIo);
  EXPECT_EQ(read_all(*file, 50, &error), "a\nb\nc\n");
  EXPECT_EQ(error, Errc::kIo);
  EXPECT_THAT(log_,
              testing::ElementsAre(testing::AllOf(
                  HasSubstr("orders-3"), HasSubstr(storage::segment_base_name(Offset{bases_[1]})),
                  HasSubstr("offsets " + std::to_string(bases_[1]) + " to " +
                            std::to_string(bases_[2] - 1)))));
}

TEST_F(OvertakenStreamTest, StreamsHoldNoMoreAheadThanThereIsRoomForTogether) {
  options_.segments_ahead = 4;
  const auto first = open_range(offsets(0, 1000));
  const auto second = open_range(offsets(0, 1000));
  const std::string whole = read_all(*open_range(offsets(0, 1000)));
  remove_all_but_the_last();
  EXPECT_EQ(read_all(*first), whole);
  std::optional<Errc> error;
  const std::string given = read_all(*second, 50, &error);
  EXPECT_EQ(error, Errc::kIo);
  EXPECT_TRUE(whole.starts_with(given)) << given;
  EXPECT_THAT(log_, testing::ElementsAre(HasSubstr(storage::segment_base_name(Offset{bases_[2]}))));
}

// Five segments of twenty records, a batch each, that change under an open stream.
class ChangingLogTest : public StreamsTest {
 protected:
  static constexpr std::int64_t kRecords = 100;
  static constexpr std::int64_t kPerSegment = 20;

  ChangingLogTest() {
    options_.log = [this](LogLevel, const std::string& line) { log_.push_back(line); };
    std::filesystem::create_directory(dir_);
    write("old", 0, 0, kRecords);
    open_log(dir_);
  }

  // The records [from, to), each in its segment.
  void write(const std::string& word, std::int32_t epoch, std::int64_t from, std::int64_t to) {
    for (std::int64_t n = from; n < to; ++n) {
      const std::int64_t base = n / kPerSegment * kPerSegment;
      std::ofstream file(path(base), std::ios::binary | std::ios::app);
      file << batch(word, epoch, n);
    }
  }
  std::string batch(const std::string& word, std::int32_t epoch, std::int64_t n) const {
    storage::BatchBuilder::Options options;
    options.base_offset = Offset{n};
    options.leader_epoch = storage::LeaderEpoch{epoch};
    storage::BatchBuilder builder(options);
    const std::int64_t since_first = n + (word == "old" ? 0 : written_anew_after_ms_);
    builder.add(TimestampMs{LogBuilder::kFirstTime + (is_timed_ ? since_first : 0)}, std::nullopt,
                word + std::to_string(n));
    return builder.build();
  }
  static std::string lines(const std::string& word, std::int64_t from, std::int64_t to) {
    std::string text;
    for (std::int64_t n = from; n < to; ++n) text += word + std::to_string(n) + "\n";
    return text;
  }
  std::string path(std::int64_t base) const {
    return dir_ + "/" + storage::segment_base_name(Offset{base}) + ".log";
  }

  // The log as it was at first, and nothing known of it.
  void begin_anew() {
    truncate_to(0);
    write("old", 0, 0, kRecords);
    streams_.reset();
    open_log(dir_);
    log_.clear();
  }

  // As a broker does: the segments above go first.
  void truncate_to(std::int64_t offset) {
    for (std::int64_t base = kRecords - kPerSegment; base >= offset; base -= kPerSegment)
      std::filesystem::remove(path(base));
    if (offset == 0) return;
    const std::int64_t base = offset / kPerSegment * kPerSegment;
    std::string kept;
    for (std::int64_t n = base; n < offset; ++n) kept += batch("old", 0, n);
    std::filesystem::resize_file(path(base), kept.size());
  }
  // Leaves of a segment the records that are a multiple of `every`, in another file.
  void compact(std::int64_t base, std::int64_t every) {
    std::string kept;
    for (std::int64_t n = base; n < base + kPerSegment; n += every) kept += batch("old", 0, n);
    tests::write_file(path(base) + ".swap", kept);
    std::filesystem::rename(path(base) + ".swap", path(base));
    one_->view->log->refresh();  // as who is told of it does
  }

  std::int64_t written_anew_after_ms_ = 1000;
  bool is_timed_ = true;  // else all records are of one time
  std::vector<std::string> log_;
};

class TruncatedUnderAStreamTest : public ChangingLogTest,
                                  public testing::WithParamInterface<std::tuple<bool, int>> {
 protected:
  // No records but old ones below `cut`, and the error that the stream ends with.
  void expect_stale(const StreamFile& file, const std::string& given, std::int64_t cut = kCut) {
    std::optional<Errc> error;
    std::string rest;
    std::string buffer;
    for (;;) {
      const auto bytes = file.read(given.size() + rest.size(), 4, buffer);
      if (!bytes) {
        error = bytes.error().code;
        break;
      }
      if (bytes->empty()) break;
      rest += *bytes;
    }
    EXPECT_EQ(error, Errc::kOutOfRange);
    EXPECT_TRUE(lines("old", 0, cut).starts_with(given + rest)) << rest;
    EXPECT_THAT(log_, testing::ElementsAre(
                          testing::AllOf(HasSubstr("orders-3"), HasSubstr("truncated away"))));
  }
  static constexpr std::int64_t kCut = 35;
};
// Measured or not; and how many segments are held ahead.
INSTANTIATE_TEST_SUITE_P(MeasuredAndHeld, TruncatedUnderAStreamTest,
                         testing::Combine(testing::Bool(), testing::Values(0, 1, 64)));

TEST_P(TruncatedUnderAStreamTest, NoRecordsOfTwoHistoriesAreGiven) {
  constexpr int kNothingAnew = -1;
  options_.measured_range_bytes = std::get<0>(GetParam()) ? 1 << 20 : 100;
  options_.segments_ahead = std::get<1>(GetParam());
  for (const std::string word : {"new", "longer-", "N", ""}) {
    for (const int epoch : {0, 1, kNothingAnew}) {
      for (const std::int64_t read_before : {0, 10, 30}) {
        SCOPED_TRACE(testing::Message() << word << " " << epoch << " " << read_before);
        begin_anew();
        const auto file = open_range(offsets(0, 1000));
        const std::string given = lines("old", 0, read_before);
        ASSERT_EQ(read(*file, 0, given.size()), given);
        truncate_to(kCut);
        if (epoch != kNothingAnew) write(word, epoch, kCut, kRecords);
        expect_stale(*file, given);
      }
    }
  }
}

// Nothing tells the new batches from the old ones but what is in them.
TEST_P(TruncatedUnderAStreamTest, NorWhereTheNewestSegmentWasEmptyAndTheTimesAreTheSame) {
  options_.measured_range_bytes = std::get<0>(GetParam()) ? 1 << 20 : 100;
  options_.segments_ahead = std::get<1>(GetParam());
  is_timed_ = false;
  constexpr std::int64_t kNearTheEnd = 95;
  for (const std::string word : {"new", "longer-", "N"}) {
    for (const bool rolls_anew : {false, true}) {
      for (const std::int64_t read_before : {0, 10, 90}) {
        SCOPED_TRACE(testing::Message() << word << " " << rolls_anew << " " << read_before);
        std::filesystem::remove(path(kRecords));
        begin_anew();
        tests::write_file(path(kRecords), "");
        one_->view->log->refresh();
        const auto file = open_range(offsets(0, 1000));
        const std::string given = lines("old", 0, read_before);
        ASSERT_EQ(read(*file, 0, given.size()), given);
        std::filesystem::remove(path(kRecords));
        truncate_to(kNearTheEnd);
        write(word, 0, kNearTheEnd, kRecords);
        const std::string next = batch(word, 0, kRecords);
        if (rolls_anew) {
          tests::write_file(path(kRecords), next);
        } else {
          std::ofstream(path(kRecords - kPerSegment), std::ios::binary | std::ios::app) << next;
        }
        expect_stale(*file, given, kNearTheEnd);
      }
    }
  }
}

// By what was written with times of before nobody can tell where the truncation was; but the last
// record of the stream is not there.
TEST_F(ChangingLogTest, StreamWhoseLastRecordWasTruncatedAwayDoesNotEndAsIfItWereWhole) {
  written_anew_after_ms_ = 0;
  for (const std::string word : {"new", "longer-", "N"}) {
    SCOPED_TRACE(word);
    begin_anew();
    const auto file = open_range(offsets(0, 1000));
    ASSERT_EQ(read(*file, 0, 5), "old0\n");
    truncate_to(95);
    write(word, 0, 95, kRecords + 10);
    std::optional<Errc> error;
    read_all(*file, 50, &error);
    EXPECT_EQ(error, Errc::kOutOfRange);
    EXPECT_THAT(log_, testing::ElementsAre(HasSubstr("truncated away")));
    std::filesystem::remove(path(kRecords));
  }
}

TEST_F(ChangingLogTest, RetentionOfWhatWasCutBeforeDoesNotHideTheCut) {
  const auto file = open_range(offsets(kRecords - kPerSegment, 1000));
  truncate_to(95);
  write("longer-", 1, 95, kRecords + 10);
  for (std::int64_t base = 0; base < kRecords; base += kPerSegment)
    std::filesystem::remove(path(base));
  std::optional<Errc> error;
  EXPECT_EQ(read_all(*file, 500, &error), "");
  EXPECT_EQ(error, Errc::kOutOfRange);
  EXPECT_THAT(log_, testing::ElementsAre(HasSubstr("truncated away")));
}

TEST_P(TruncatedUnderAStreamTest, WhatWasGivenIsNotGoneOnFromInAnotherHistory) {
  options_.measured_range_bytes = std::get<0>(GetParam()) ? 1 << 20 : 100;
  options_.segments_ahead = std::get<1>(GetParam());
  for (const std::int64_t read_before : {36, 50, 99}) {
    SCOPED_TRACE(read_before);
    begin_anew();
    const auto file = open_range(offsets(0, 1000));
    const std::string given = lines("old", 0, read_before);
    ASSERT_EQ(read(*file, 0, given.size()), given);
    truncate_to(kCut);
    write("new", 1, kCut, kRecords);
    std::string buffer;
    const auto bytes = file->read(given.size(), 4, buffer);
    ASSERT_FALSE(bytes) << *bytes;
    EXPECT_EQ(bytes.error().code, Errc::kOutOfRange);
  }
}

TEST_F(ChangingLogTest, TruncationBehindARangeIsNothingToIt) {
  const auto file = open_range(offsets(0, 30));
  truncate_to(35);
  write("new", 1, 35, kRecords);
  EXPECT_EQ(read_all(*file), lines("old", 0, 30));
  EXPECT_THAT(log_, testing::IsEmpty());
}

TEST_F(ChangingLogTest, WhatFollowsATruncationThatCameBeforeTheOpenIsRead) {
  truncate_to(35);
  write("new", 1, 35, kRecords);
  for (const std::int64_t limit : {1 << 20, 100}) {
    measure_up_to(limit);
    EXPECT_EQ(read_all(*open_range(offsets(0, 1000))),
              lines("old", 0, 35) + lines("new", 35, kRecords));
  }
}

TEST_F(ChangingLogTest, RetentionAndCompactionOfWhatIsHeldEndNoStream) {
  for (const std::int64_t limit : {1 << 20, 100}) {
    begin_anew();
    options_.measured_range_bytes = limit;
    const auto file = open_range(offsets(0, 1000));
    EXPECT_EQ(read(*file, 0, 4), "old0");
    compact(40, 3);
    compact(60, 7);
    for (const std::int64_t base : {0, 20}) std::filesystem::remove(path(base));
    EXPECT_EQ(read_all(*file), lines("old", 0, kRecords));
    EXPECT_THAT(log_, testing::IsEmpty());
  }
}

TEST_F(ChangingLogTest, CompactionOfWhatIsNotHeldEndsAPromisedSizeWithWholeLines) {
  options_.segments_ahead = 0;
  for (const std::int64_t every : {3, 20}) {
    begin_anew();
    const auto file = open_range(offsets(0, 1000));
    EXPECT_EQ(read(*file, 0, 4), "old0");
    compact(60, every);
    std::optional<Errc> error;
    EXPECT_EQ(read_all(*file, 50, &error), lines("old", 0, 60));
    EXPECT_EQ(error, Errc::kIo);
    EXPECT_THAT(log_, testing::ElementsAre(
                          testing::AllOf(HasSubstr("orders-3"), HasSubstr("offsets 60 to 79"),
                                         HasSubstr("compacted"), HasSubstr("ends there"))));
  }
}

TEST_F(ChangingLogTest, CompactionThatChangesNothingEndsNoStream) {
  options_.segments_ahead = 0;
  const auto file = open_range(offsets(0, 1000));
  for (const std::int64_t base : {0, 20, 40, 60}) compact(base, 1);
  EXPECT_EQ(read_all(*file), lines("old", 0, kRecords));
}

TEST_F(ChangingLogTest, CompactionAheadOfAStreamWithoutASizeIsShownAsItIs) {
  options_.segments_ahead = 0;
  options_.measured_range_bytes = 100;
  const auto file = open_range(offsets(0, 1000));
  EXPECT_EQ(read(*file, 0, 4), "old0");
  compact(60, 10);
  EXPECT_EQ(read_all(*file),
            lines("old", 0, 61) + lines("old", 70, 71) + lines("old", 80, kRecords));
}

TEST_F(ChangingLogTest, SealedSegmentThatWasCutAndWrittenOnIsStaleFromThere) {
  for (const std::string word : {"new", "longer-", "N"}) {
    SCOPED_TRACE(word);
    begin_anew();
    const auto file = open_segment(1);
    const std::string given = lines("old", 20, 23);
    ASSERT_EQ(read(*file, 0, given.size()), given);
    truncate_to(35);
    write(word, 1, 35, kRecords);
    std::optional<Errc> error;
    const std::string all = read_all(*file, 4, &error);
    EXPECT_EQ(error, Errc::kOutOfRange);
    EXPECT_TRUE(lines("old", 20, 35).starts_with(all)) << all;
  }
}

TEST_F(StreamsTest, TimeRangeTakesRecordsByTheirTimeAndInOffsetOrder) {
  constexpr std::int64_t kT = LogBuilder::kFirstTime;
  LogBuilder(dir_)
      .batch({TestRecord("late").at_time(kT + 500), TestRecord("early").at_time(kT + 10)})
      .batch({TestRecord("old").at_time(kT - 1000)})
      .roll()
      .batch({TestRecord("timeless").at_time(-1), TestRecord("in").at_time(kT + 99)})
      .roll()
      .batch({TestRecord("edge").at_time(kT + 100), TestRecord("at").at_time(kT)})
      .append_time()
      .clock(kT + 50)
      .batch({"appended"})
      .build();
  open_log(dir_);
  RecordRange range;
  range.from_time = TimestampMs{kT};
  range.to_time = TimestampMs{kT + 100};
  for (const std::int64_t limit : {1 << 20, 10}) {
    measure_up_to(limit);
    EXPECT_EQ(read_all(*open_range(range)), "early\nin\nat\nappended\n");
  }
}

class DamagedSegmentTest : public StreamsTest {
 protected:
  // a b | c d (damaged) | e f, and another segment.
  DamagedSegmentTest() {
    LogBuilder builder(dir_);
    builder.batch({"a", "b"}).batch({"c", "d"}).batch({"e", "f"});
    damage_ = builder.positions()[1];
    bad_byte_ = builder.positions()[2] - 2;
    builder.flip_byte(bad_byte_).roll().batch({"g"}).build();
    open_log(dir_);
  }
  void expect_one_problem() const {
    const auto problems = one_->source->problems().list();
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].position, damage_);
    EXPECT_THAT(problems[0].what, HasSubstr("CRC"));
    EXPECT_THAT(problems[0].what, HasSubstr("go on from offset 4"));
  }
  std::int64_t damage_ = 0;
  std::int64_t bad_byte_ = 0;
};

TEST_F(DamagedSegmentTest, StreamGivesEveryByteBeforeTheDamageThenTheError) {
  const auto file = open_segment(0);
  EXPECT_TRUE(file->flags().direct_io);
  EXPECT_EQ(file->size_bytes(), 4);
  std::optional<Errc> error;
  EXPECT_EQ(read_all(*file, 100, &error), "a\nb\n");
  EXPECT_EQ(error, Errc::kCorrupt);
  expect_one_problem();
}

TEST_F(DamagedSegmentTest, WhatIsMendedInPlaceIsReadOnByWhoOpensItThen) {
  const auto before = open_segment(0);
  const std::string log = dir_ + "/00000000000000000000.log";
  tests::flip_byte_of_file(log, bad_byte_);
  const auto file = open_segment(0);
  EXPECT_FALSE(file->flags().direct_io);
  EXPECT_EQ(file->size_bytes(), 12);
  EXPECT_EQ(read_all(*file), "a\nb\nc\nd\ne\nf\n");
  EXPECT_EQ(before->size_bytes(), 4);
}

TEST_F(DamagedSegmentTest, RangeGivesEveryByteBeforeTheDamageMeasuredOrNot) {
  for (const std::int64_t limit : {1 << 20, 10}) {
    measure_up_to(limit);
    const auto file = open_range(offsets(1, 100));
    EXPECT_TRUE(file->flags().direct_io);
    std::optional<Errc> error;
    EXPECT_EQ(read_all(*file, 100, &error), "b\n");
    EXPECT_EQ(error, Errc::kCorrupt);
  }
  expect_one_problem();
}

TEST_F(DamagedSegmentTest, RangeFromBehindTheDamageGoesOn) {
  EXPECT_EQ(read_all(*open_range(offsets(4, 100))), "e\nf\ng\n");
}

TEST_F(DamagedSegmentTest, TableOfBatchesShowsTheBadOneAndGoesOn) {
  const auto file = open_segment(0, node_of(NodeKind::kSegmentBatches, Form::kRaw));
  EXPECT_FALSE(file->flags().direct_io);
  const std::string lines = read_all(*file, 70);
  EXPECT_EQ(static_cast<std::size_t>(*file->size_bytes()), lines.size());
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3);
  EXPECT_THAT(lines, HasSubstr("\"base_offset\":4"));
  EXPECT_THAT(lines, HasSubstr("\"crc_valid\":false"));
}

TEST_F(StreamsTest, TableOfBatchesSpansWhatHasNoBatches) {
  LogBuilder builder(dir_);
  builder.batch({"a"}).batch({"b"}).batch({"c"});
  // A length that can't be: only a search finds where batches begin again.
  builder.flip_byte(builder.positions()[1] + 8, 0x80).roll().build();
  open_log(dir_);
  const auto file = open_segment(0, node_of(NodeKind::kSegmentBatches, Form::kRaw));
  const std::string lines = read_all(*file, 33);
  EXPECT_EQ(static_cast<std::size_t>(*file->size_bytes()), lines.size());
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3);
  EXPECT_THAT(lines, HasSubstr("\"damage\":"));
  EXPECT_THAT(lines, HasSubstr("\"base_offset\":2"));
}

TEST_F(StreamsTest, BatchesGoodByTheirCrcButNotInsideAreDamageToo) {
  LogBuilder builder(dir_);
  builder.batch({"a"});
  std::string bad = builder.log();
  // The record claims to be longer than the batch.
  bad[61] = 0x7e;
  storage::BatchHeader header;
  storage::parse_batch_header(bad, header, nullptr);
  const std::uint32_t crc = storage::compute_batch_crc(header, bad);
  for (int i = 0; i < 4; ++i)
    bad[17 + static_cast<std::size_t>(i)] = static_cast<char>(crc >> (24 - 8 * i));
  bad[7] = 1;  // base offset
  builder.raw(bad).batch({"c"}).roll().build();
  open_log(dir_);
  std::optional<Errc> error;
  EXPECT_EQ(read_all(*open_segment(0), 100, &error), "a\n");
  EXPECT_EQ(error, Errc::kCorrupt);
  const auto problems = one_->source->problems().list();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_THAT(problems[0].what, HasSubstr("go on from offset 2"));
}

// A base offset is in no CRC: a stream of it must not skip, double or rename records in silence.
TEST_F(StreamsTest, ABaseOffsetThatLiesEndsEveryStreamBeforeIt) {
  // By byte and bit: far up, a little up, down, below zero, and beyond what a segment can hold.
  for (const auto& [byte, mask] :
       {std::pair{7, 0x08}, {7, 0x01}, {7, 0x02}, {6, 0x01}, {0, 0x80}, {3, 0x01}, {4, 0x40}}) {
    SCOPED_TRACE(std::to_string(byte) + "^" + std::to_string(mask));
    streams_.reset();
    TempDir temp;
    LogBuilder builder(temp / "orders-3");
    builder.batch({"a", "b"}).batch({"c", "d", "e"}).batch({"f", "g"}).batch({"h"});
    const std::int64_t second = builder.positions()[1];
    builder.flip_byte(second + byte, mask).roll().batch({"i"}).build();
    open_log(builder.dir());
    const auto expect_end = [&](const StreamFile& file, const std::string& before) {
      std::optional<Errc> error;
      EXPECT_EQ(read_all(file, 3, &error), before);
      EXPECT_EQ(error, Errc::kCorrupt);
    };
    expect_end(*open_segment(0), "a\nb\n");
    for (const std::int64_t limit : {64 << 20, 0}) {
      measure_up_to(limit);
      expect_end(*open_range(offsets(0, 100)), "a\nb\n");
      expect_end(*open_range(offsets(1, 100)), "b\n");
      expect_end(*open_range(offsets(1, 6)), "b\n");
      expect_end(*open_range(offsets(3, 100)), "");
      EXPECT_EQ(read_all(*open_range(offsets(5, 100)), 3), "f\ng\nh\ni\n");
      EXPECT_EQ(read_all(*open_range(offsets(0, 2)), 3), "a\nb\n");
    }
    const auto problems = one_->source->problems().list();
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].position, second);
    EXPECT_THAT(problems[0].what,
                testing::AllOf(HasSubstr("expected"), HasSubstr("go on from offset 5")));
    // The tables show the file as it lies.
    const auto table = open_segment(0, node_of(NodeKind::kSegmentBatches, Form::kRaw));
    const std::string lines = read_all(*table, 70);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 4);
    EXPECT_EQ(static_cast<std::size_t>(*table->size_bytes()), lines.size());
    EXPECT_THAT(lines, testing::Not(HasSubstr("\"crc_valid\":false")));
    const auto damage = damage_lines(*one_->view, segment(0), {});
    ASSERT_TRUE(damage);
    EXPECT_EQ(std::count(damage->begin(), damage->end(), '\n'), 1);
    EXPECT_THAT(*damage, HasSubstr("\"position\":" + std::to_string(second) + ","));
  }
}

TEST_F(StreamsTest, ABaseOffsetThatLiesIsFoundOutInTheMiddleOfALongStream) {
  LogBuilder builder(dir_);
  builder.fill(2000, 3, 200);
  builder.flip_byte(builder.positions()[1500] + 7, 0x04).roll().batch({"end"}).build();
  open_log(dir_);
  std::size_t good_bytes = 0;
  for (const std::int64_t limit : {64 << 20, 0}) {
    measure_up_to(limit);
    for (const std::size_t block : {1000, 128 << 10, 4 << 20}) {
      std::optional<Errc> error;
      const std::string all = read_all(*open_range(offsets(0, 100000)), block, &error);
      EXPECT_EQ(error, Errc::kCorrupt);
      EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 4500);
      EXPECT_TRUE(good_bytes == 0 || all.size() == good_bytes);
      good_bytes = all.size();
    }
  }
}

// A sealed segment that lost its end: what follows begins behind a hole, which is not passed over.
TEST_F(StreamsTest, WhatASealedSegmentLostOffItsEndIsDamage) {
  for (const bool zeros : {false, true}) {
    SCOPED_TRACE(zeros);
    streams_.reset();
    TempDir temp;
    LogBuilder builder(temp / "orders-3");
    builder.batch({"a", "b"});
    const std::int64_t end = builder.log_bytes();
    builder.batch({"c", "d", "e"});
    const auto size = static_cast<std::size_t>(builder.log_bytes() - end);
    builder.chop_bytes(zeros ? size : 3);
    if (zeros) builder.zero_tail(5000);
    builder.roll().batch({"f"}).build();
    open_log(builder.dir());
    const auto expect_end = [&](const StreamFile& file, const std::string& before) {
      std::optional<Errc> error;
      EXPECT_EQ(read_all(file, 3, &error), before);
      EXPECT_EQ(error, Errc::kCorrupt);
    };
    for (const std::int64_t limit : {64 << 20, 0}) {
      measure_up_to(limit);
      expect_end(*open_range(offsets(0, 100)), "a\nb\n");
      expect_end(*open_range(offsets(1, 4)), "b\n");
      expect_end(*open_range(offsets(3, 100)), "");
      EXPECT_EQ(read_all(*open_range(offsets(5, 100)), 3), "f\n");
      EXPECT_EQ(read_all(*open_range(offsets(0, 2)), 3), "a\nb\n");
    }
    EXPECT_EQ(read_all(*open_segment(0)), "a\nb\n");  // the file as it lies
    const storage::PartitionLog& log = *one_->view->log;
    EXPECT_EQ(log.find(Offset{3})->outcome, storage::RecordLookup::Outcome::kDamaged);
    EXPECT_EQ(log.find(Offset{3})->next, Offset{5});
    EXPECT_EQ(log.seek(Offset{2}).error().code, Errc::kCorrupt);
    OffsetCursor cursor(one_->view->log, false);
    EXPECT_EQ(cursor.at_or_after(Offset{0}).value()->header.last_offset, Offset{1});
    EXPECT_EQ(cursor.at_or_after(Offset{2}).value()->header.last_offset, Offset{5});
    EXPECT_TRUE(cursor.met_damage());
    std::string told;
    for (const auto& problem : one_->source->problems().list()) told += problem.what + "\n";
    EXPECT_THAT(told, HasSubstr("offsets 2 to 4 are lost; go on from offset 5"));
  }
}

TEST_F(StreamsTest, DamageIsListedWhereverItLies) {
  LogBuilder builder(dir_);
  builder.batch({"a"}).batch({"b"}).batch({"c"});
  builder.flip_byte(builder.positions()[1] + 8, 0x7f);  // a length of 2 GB
  builder.batch({"d"}).chop_bytes(3).roll().batch({"e"}).chop_bytes(3).build();
  open_log(dir_);
  const auto sealed = damage_lines(*one_->view, segment(0), {});
  ASSERT_TRUE(sealed);
  EXPECT_EQ(std::count(sealed->begin(), sealed->end(), '\n'), 2);
  EXPECT_THAT(*sealed, HasSubstr("\"first_offset\":1,\"next_offset\":2"));
  EXPECT_THAT(*sealed, HasSubstr("bytes that are no whole batch"));
  EXPECT_EQ(damage_lines(*one_->view, segment(1), {}).value(), "");  // its end is being written
}

TEST_F(StreamsTest, WhatLiesBehindASealedSegmentsLastOffsetIsNoLoss) {
  LogBuilder builder(dir_);
  builder.batch({"a", "b"}).garbage_tail("garbage").roll().batch({"c"}).build();
  open_log(dir_);
  EXPECT_EQ(read_all(*open_range(offsets(0, 100))), "a\nb\nc\n");
}

// Segments of values "a0" "a1" .. and "b6" "b7" .., in batches of `records`.
class OverlapTest : public StreamsTest {
 protected:
  void build(const char* name, std::int64_t from, std::int64_t to, int records) {
    TempDir aside;
    LogBuilder builder(aside / "orders-3");
    builder.offset(from);
    while (builder.next_offset() < to) {
      std::vector<TestRecord> batch;
      for (int i = 0; i < records; ++i)
        batch.emplace_back(name + std::to_string(builder.next_offset() + i));
      builder.batch(batch);
    }
    builder.build();
    for (const std::string extension : {".log", ".index"}) {
      temp_.write("orders-3/" + storage::segment_base_name(Offset{from}) + extension,
                  tests::read_file(builder.path(extension)));
    }
  }
  static std::string lines(const char* name, int from, int to) {
    std::string text;
    for (int i = from; i < to; ++i) text += name + std::to_string(i) + "\n";
    return text;
  }
  std::string at(std::int64_t offset) {
    const auto found = one_->view->log->find(Offset{offset});
    EXPECT_TRUE(found);
    if (!found || found->outcome != storage::RecordLookup::Outcome::kPresent) return "nothing";
    return std::string(*found->record.value);
  }
};

// A search by offset comes to the segment with the greatest base offset at or below it, as in
// Kafka: so the records before come from the one, those behind from the other, each once.
TEST_F(OverlapTest, OfSegmentsThatOverlapEachRecordComesOnceAndIsTheOneALookupFinds) {
  for (const int records : {1, 2, 4}) {  // 4: a batch reaches over the border
    SCOPED_TRACE(records);
    streams_.reset();
    build("a", 0, 12, records);
    build("b", 6, 16, 2);
    open_log(dir_);
    const std::string all = lines("a", 0, 6) + lines("b", 6, 16);
    for (const std::int64_t limit : {64 << 20, 0}) {
      measure_up_to(limit);
      EXPECT_EQ(read_all(*open_range(offsets(0, 100)), 7), all);
      EXPECT_EQ(read_all(*open_range(offsets(2, 5)), 7), lines("a", 2, 5));
      EXPECT_EQ(read_all(*open_range(offsets(5, 9)), 7), "a5\n" + lines("b", 6, 9));
      EXPECT_EQ(read_all(*open_range(offsets(7, 9)), 7), lines("b", 7, 9));
    }
    for (int i = 0; i < 16; ++i) EXPECT_EQ(at(i), (i < 6 ? "a" : "b") + std::to_string(i));
    for (int i = 15; i >= 0; --i) EXPECT_EQ(one_->view->log->seek(Offset{i}).value(), Offset{i});
    OffsetCursor cursor(one_->view->log, false);
    std::string listed;
    for (Offset next{0};;) {
      const auto batch = cursor.at_or_after(next);
      ASSERT_TRUE(batch);
      if (*batch == nullptr) break;
      for (Offset o = (*batch)->header.base_offset; o <= (*batch)->header.last_offset; o = o + 1) {
        if (o >= next) listed += std::to_string(o.value) + " ";
      }
      next = (*batch)->header.next_offset();
    }
    EXPECT_EQ(listed, "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 ");
    EXPECT_EQ(read_all(*open_segment(0)), lines("a", 0, 12));  // the file as it lies
    const auto problems = one_->source->problems().list();
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_THAT(problems[0].what, HasSubstr("expected them to end below the next segment's"));
  }
}

TEST_F(OverlapTest, AGapBeforeTheBorderIsFilledFromNowhereElse) {
  {
    TempDir aside;
    LogBuilder builder(aside / "orders-3");
    builder.batch({"a0", "a1"}).offset(8).batch({"a8", "a9"}).build();
    temp_.write("orders-3/00000000000000000000.log", builder.log());
  }
  build("b", 6, 7, 1);
  open_log(dir_);
  const storage::PartitionLog& log = *one_->view->log;
  EXPECT_EQ(log.seek(Offset{3}).value(), Offset{6});
  EXPECT_EQ(log.find(Offset{3})->next, Offset{6});
  EXPECT_EQ(at(8), "nothing");
  EXPECT_EQ(log.last_record().value(), Offset{6});
  EXPECT_EQ(read_all(*open_range(offsets(0, 100))), "a0\na1\nb6\n");
}

TEST_F(OverlapTest, AnEmptyLastSegmentEndsTheLogAllTheSame) {
  build("a", 0, 12, 4);
  temp_.write("orders-3/" + storage::segment_base_name(Offset{6}) + ".log", "");
  open_log(dir_);
  EXPECT_EQ(one_->view->log->offsets()->log_end_offset, Offset{6});
  EXPECT_EQ(one_->view->log->last_record().value(), Offset{5});
  EXPECT_EQ(read_all(*open_range(offsets(0, 100))), lines("a", 0, 6));
}

TEST_F(StreamsTest, EmptySegmentIsAnEmptyStream) {
  LogBuilder(dir_).batch({"a"}).roll().build();
  open_log(dir_);
  EXPECT_EQ(segment_size(1).bytes, 0);
  EXPECT_TRUE(segment_size(1).exact);
  EXPECT_EQ(open_segment(1)->size_bytes(), 0);
}

TEST_F(StreamsTest, EstimatesOfUncompressedLogsAreNeverBelowTheTruth) {
  LogBuilder(dir_)
      .fill(50, 40, 100)
      .batch({tests::keyed("k", ""), tests::tombstone("t")})
      .roll()
      .build();
  open_log(dir_);
  for (const Form form : {Form::kValues, Form::kKeys, Form::kTsv, Form::kJsonl}) {
    const Node node = node_of(NodeKind::kSegmentStream, form);
    const std::int64_t estimate = segment_size(0, node).bytes;
    EXPECT_GE(estimate, *open_segment(0, node)->size_bytes()) << static_cast<int>(form);
  }
  const Node batches = node_of(NodeKind::kSegmentBatches, Form::kRaw);
  EXPECT_GE(segment_size(0, batches).bytes, *open_segment(0, batches)->size_bytes());
}

TEST_F(StreamsTest, ResumePointsStayWithinTheirBudgetHoweverManyStreamsAreOpen) {
  LogBuilder builder(dir_);
  for (int i = 0; i < 20; ++i) builder.fill(300, 20, 500).roll();
  builder.build();
  open_log(dir_);
  options_.resume_points_bytes = 20'000;
  std::vector<std::unique_ptr<StreamFile>> files;
  for (std::size_t i = 0; i < 20; ++i) {
    files.push_back(open_segment(i));
    files.push_back(open_segment(i, node_of(NodeKind::kSegmentStream, Form::kJsonl)));
  }
  // A stream's own size, and the few points that no one gives up.
  EXPECT_LE(streams().counters().resume_points_bytes, 40 * 2600U);
  const std::string last =
      read(*files[0], static_cast<std::uint64_t>(*files[0]->size_bytes()) - 501, 600);
  EXPECT_EQ(last.size(), 501U);
  files.clear();
  open_segment(0);
  EXPECT_EQ(read_all(*open_segment(5), 1 << 20).size(), 300U * 20 * 501);
}

class SeededStreamsTest : public StreamsTest, public testing::WithParamInterface<std::uint64_t> {
 protected:
  void SetUp() override { RecordProperty("seed", std::to_string(GetParam())); }
  std::mt19937_64 random_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Seeds, SeededStreamsTest, testing::Range<std::uint64_t>(1, 9),
                         [](const auto& seed) { return "seed" + std::to_string(seed.param); });

TEST_P(SeededStreamsTest, RangesOfRandomLogsAreSlicesOfTheirRecords) {
  std::vector<tests::PlainRecord> records;
  Offset next{static_cast<std::int64_t>(random_() % 1000)};
  const Offset first = next;
  for (int i = 0; i < 5; ++i) {
    const auto log = tests::make_random_log(random_, 1 + random_() % 60, next);
    temp_.write("orders-3/" + storage::segment_base_name(next) + ".log", log.bytes);
    records.insert(records.end(), log.records.begin(), log.records.end());
    next = log.next_offset;
  }
  open_log(dir_);
  for (int round = 0; round < 20; ++round) {
    measure_up_to(round % 2 == 0 ? 64 << 20 : 0);
    const std::int64_t span = next - first;
    std::int64_t from = first.value + static_cast<std::int64_t>(random_()) % span;
    std::int64_t to = first.value + static_cast<std::int64_t>(random_()) % span;
    if (from > to) std::swap(from, to);
    std::string expected;
    for (const tests::PlainRecord& record : records) {
      if (record.offset.value < from || record.offset.value > to || record.control) continue;
      expected += record.value.value_or("") + "\n";
    }
    auto opened = try_range(offsets(from, to + 1));
    if (to < first.value) continue;
    ASSERT_TRUE(opened) << opened.error().what;
    const StreamFile& file = **opened;
    if (file.size_bytes()) {
      ASSERT_EQ(*file.size_bytes(), static_cast<std::int64_t>(expected.size()));
    }
    for (int i = 0; i < 10; ++i) {
      const std::size_t position = random_() % (expected.size() + 5);
      const std::size_t size = random_() % 20'000;
      std::string want;
      if (position < expected.size()) want = expected.substr(position, size);
      ASSERT_TRUE(read(file, position, size) == want) << from << ".." << to << " at " << position;
    }
    ASSERT_TRUE(read_all(file, 1 + random_() % 100'000) == expected);
  }
}

}  // namespace
}  // namespace offsetfs::fs
