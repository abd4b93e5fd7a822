#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fs/followers.h"
#include "fs/streams.h"
#include "storage/segment_files.h"
#include "tests/fs/one_partition.h"
#include "tests/support/log_builder.h"
#include "tests/support/random_log.h"
#include "tests/support/temp_dir.h"

namespace offsetfs::fs {
namespace {

using storage::Bytes;
using storage::Errc;
using storage::LogChanges;
using storage::Offset;
using storage::TimestampMs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::keyed;
using tests::LogBuilder;
using tests::OnePartition;
using tests::TempDir;
using tests::TestRecord;
using tests::tombstone;
using Outcome = Follower::Outcome;

// A wake-up that a test can wait for.
class Bell {
 public:
  FollowedLog::Wake rope() {
    return [this] {
      const std::lock_guard lock(mutex_);
      ++rung_;
      rings_.notify_all();
    };
  }
  void wait() {
    std::unique_lock lock(mutex_);
    rings_.wait(lock, [&] { return rung_ > 0; });
    --rung_;
  }
  int rung() {
    const std::lock_guard lock(mutex_);
    return rung_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable rings_;
  int rung_ = 0;
};

// What a reader was given, and how its last read ended.
struct Given {
  std::string text;
  std::optional<Errc> error;
  bool ended = false;
};

// Reads until there is nothing for now.
Given take(Follower& follower, std::size_t size = 1 << 20) {
  Given given;
  for (;;) {
    const auto outcome = follower.read(size, [&](std::span<const Bytes> parts) {
      given.ended = parts.empty();
      std::size_t total = 0;
      for (const Bytes part : parts) {
        given.text += part;
        total += part.size();
      }
      EXPECT_LE(total, size);
      return true;
    });
    if (!outcome) given.error = outcome.error().code;
    if (!outcome || given.ended || *outcome == Outcome::kNothingYet) return given;
  }
}

class FollowerTest : public testing::Test {
 protected:
  void open_log(const std::string& dir) {
    one_.emplace(dir);
    streams_ = std::make_unique<Streams>(Streams::Options{}, one_->source->problems());
    make_followers(one_->source);
  }

  void make_followers(std::shared_ptr<const storage::LogSource> source) {
    followers_ = std::make_unique<Followers>(
        std::move(source), streams_->resources(),
        [this](LogLevel, const std::string& line) {
          const std::lock_guard lock(log_mutex_);
          log_.push_back(line);
        },
        Followers::Options{});
  }

  std::shared_ptr<Follower> follow(const std::string& name, Form form = Form::kValues) {
    const auto start = parse_follow_start(name);
    EXPECT_TRUE(start) << name;
    auto follower = followers_->open(one_->view, form, *start, TimestampMs{kNow});
    EXPECT_TRUE(follower) << follower.error().what;
    return *follower;
  }

  void publish(LogChanges::Change::Kind kind = LogChanges::Change::Kind::kAppended) {
    one_->source->changes().publish({kind, one_->view->id});
  }

  // Puts the bytes of `other` in the place of the active segment's.
  static void replace_log(const LogBuilder& log, const LogBuilder& other) {
    tests::write_file(log.log_path(), other.log());
  }

  std::vector<std::string> log() {
    const std::lock_guard lock(log_mutex_);
    return log_;
  }

  static constexpr std::int64_t kNow = LogBuilder::kFirstTime + 1000;

  TempDir temp_;
  const std::string dir_ = temp_ / "orders-3";
  std::optional<OnePartition> one_;
  std::unique_ptr<Streams> streams_;
  std::mutex log_mutex_;
  std::vector<std::string> log_;
  std::unique_ptr<Followers> followers_;
};

// --- Where it begins ---------------------------------------------------------------------------

TEST_F(FollowerTest, TheEndYieldsWhatIsAppended) {
  LogBuilder log(dir_);
  open_log(log.batch({"old"}).build());
  const auto follower = follow("end");
  EXPECT_EQ(take(*follower).text, "");
  log.batch({"a", "b"}).build();
  EXPECT_EQ(take(*follower).text, "a\nb\n");
  EXPECT_EQ(take(*follower).text, "");
  log.batch({"c"}).build();
  log.batch({"d"}).build();
  EXPECT_EQ(take(*follower).text, "c\nd\n");
}

TEST_F(FollowerTest, AnOffsetBelowTheLogStartBeginsThereAndOneBehindTheEndWaitsForIt) {
  LogBuilder log(dir_);
  open_log(log.offset(10).batch({"ten", "eleven"}).build());
  const auto low = follow("3");
  const auto inside = follow("11");
  const auto high = follow("14");
  EXPECT_EQ(take(*low).text, "ten\neleven\n");
  EXPECT_EQ(take(*inside).text, "eleven\n");
  log.batch({"twelve", "thirteen"}).build();
  EXPECT_EQ(take(*high).text, "");
  log.batch({"fourteen"}).build();
  EXPECT_EQ(take(*high).text, "fourteen\n");
  EXPECT_EQ(take(*low).text, "twelve\nthirteen\nfourteen\n");
  EXPECT_THAT(this->log(), IsEmpty());
}

TEST_F(FollowerTest, TheNewestKBeginKRecordsBackOverGapsAndMarkers) {
  LogBuilder log(dir_);
  log.batch({"a", "b"}).offset(10).batch({"c"}).producer(7);
  open_log(log.transactional_batch({"d"}).commit(7).build());
  EXPECT_EQ(take(*follow("last-1")).text, "d\n");
  EXPECT_EQ(take(*follow("last-3")).text, "b\nc\nd\n");
  EXPECT_EQ(take(*follow("last-99")).text, "a\nb\nc\nd\n");
}

TEST_F(FollowerTest, AnEmptyLogIsFollowedFromItsFirstRecord) {
  LogBuilder log(dir_);
  open_log(log.build());
  const auto last = follow("last-5");
  const auto end = follow("end");
  const auto zero = follow("0");
  for (const auto& follower : {last, end, zero}) EXPECT_EQ(take(*follower).text, "");
  log.batch({"first"}).build();
  for (const auto& follower : {last, end, zero}) EXPECT_EQ(take(*follower).text, "first\n");
}

TEST_F(FollowerTest, ATimeBeginsAtTheFirstRecordFromThenOnAndGivesAllBehindIt) {
  LogBuilder log(dir_);
  log.batch({TestRecord("old").at_time(kNow - 600'000), TestRecord("new").at_time(kNow - 50),
             TestRecord("late").at_time(kNow - 400'000)});
  open_log(log.build());
  EXPECT_EQ(take(*follow("now-1m")).text, "new\nlate\n");
}

TEST_F(FollowerTest, ATimeThatHasNotComeIsWaitedFor) {
  LogBuilder log(dir_);
  open_log(log.batch({TestRecord("old").at_time(kNow - 600'000)}).build());
  const auto follower = follow("now");
  EXPECT_EQ(take(*follower).text, "");
  log.batch({TestRecord("late").at_time(kNow - 10)}).build();
  EXPECT_EQ(take(*follower).text, "");
  log.batch({TestRecord("later").at_time(kNow - 5), TestRecord("new").at_time(kNow + 5),
             TestRecord("old").at_time(kNow - 7)})
      .build();
  EXPECT_EQ(take(*follower).text, "new\nold\n");
}

TEST(FollowStart, PlainDigitsAreOffsetsAndTimesAreTheOtherForms) {
  using From = FollowStart::From;
  EXPECT_EQ(parse_follow_start("end"), FollowStart{});
  EXPECT_EQ(parse_follow_start("1793247836476"), (FollowStart{From::kOffset, 1793247836476, {}}));
  EXPECT_EQ(parse_follow_start("last-20"), (FollowStart{From::kLast, 20, {}}));
  for (const char* time : {"now", "now-15m", "@1700000000", "2026-10-29", "2026-10-29T04:23:56Z"})
    EXPECT_EQ(parse_follow_start(time), (FollowStart{From::kTime, 0, time})) << time;
  for (const char* none : {"", "last", "last-", "last-0", "last-05", "007", "-1", "first", "End",
                           "1..2", "18446744073709551616"})
    EXPECT_EQ(parse_follow_start(none), std::nullopt) << none;
}

// --- What it gives -----------------------------------------------------------------------------

TEST_F(FollowerTest, ALineIsCutWhereTheReadersBufferEndsAndGoesOnExactlyThere) {
  LogBuilder log(dir_);
  log.batch({keyed("k", "hello"), tombstone("k")}).codec(storage::Codec::kGzip);
  open_log(log.batch({keyed("key\twith tab", "value\nwith newline")}).roll().batch({"z"}).build());
  for (const Form form : {Form::kJsonl, Form::kValues, Form::kKeys, Form::kTsv}) {
    const std::string whole = take(*follow("0", form)).text;
    EXPECT_EQ(std::count(whole.begin(), whole.end(), '\n'), form == Form::kTsv      ? 5
                                                            : form == Form::kValues ? 5
                                                                                    : 4);
    for (const std::size_t size : {1U, 2U, 7U, 64U})
      EXPECT_EQ(take(*follow("0", form), size).text, whole) << size;
  }
}

TEST_F(FollowerTest, ATableHasItsHeaderLineOnce) {
  LogBuilder log(dir_);
  open_log(log.batch({"a"}).build());
  const auto follower = follow("end", Form::kTsv);
  EXPECT_TRUE(follower->readable());
  EXPECT_EQ(take(*follower).text, "offset\ttimestamp\tkey\tvalue\n");
  EXPECT_FALSE(follower->readable());
  log.batch({TestRecord("b").at_time(5)}).build();
  EXPECT_EQ(take(*follower).text, "1\t5\t\\N\tb\n");
}

TEST_F(FollowerTest, WhatTheReaderDidNotGetIsGivenAgain) {
  LogBuilder log(dir_);
  open_log(log.batch({"abc", "def"}).build());
  const auto follower = follow("0");
  const auto refuse = [](std::span<const Bytes>) { return false; };
  ASSERT_TRUE(follower->read(5, refuse));
  EXPECT_EQ(take(*follower, 3).text, "abc\ndef\n");
  log.batch({"ghi"}).build();
  ASSERT_TRUE(follower->read(100, refuse));
  ASSERT_TRUE(follower->read(2, refuse));
  EXPECT_EQ(take(*follower).text, "ghi\n");
}

TEST_F(FollowerTest, MarkersAndEmptiedBatchesAreNothingToRead) {
  LogBuilder log(dir_);
  log.batch({"a"}).producer(7);
  open_log(log.build());
  const auto follower = follow("0");
  EXPECT_EQ(take(*follower).text, "a\n");
  log.transactional_batch({"b"}).build();
  EXPECT_EQ(take(*follower).text, "b\n");
  log.commit(7).emptied_batch(5).build();
  EXPECT_FALSE(follower->readable());
  EXPECT_EQ(take(*follower).text, "");
  log.batch({"c"}).build();
  EXPECT_TRUE(follower->readable());
  EXPECT_EQ(take(*follower).text, "c\n");
}

TEST_F(FollowerTest, ABatchIsGivenOnceItIsWhole) {
  LogBuilder log(dir_);
  open_log(log.batch({"a"}).build());
  const auto follower = follow("end");
  const std::string before = log.log();
  const std::string after = log.batch({"b", "c"}).log();
  for (std::size_t cut = before.size(); cut < after.size(); cut += 5) {
    tests::write_file(log.log_path(), after.substr(0, cut));
    EXPECT_EQ(take(*follower).text, "") << cut;
  }
  tests::write_file(log.log_path(), after);
  EXPECT_EQ(take(*follower).text, "b\nc\n");
}

TEST_F(FollowerTest, BatchesAndRecordsLargerThanAnyReadComeThroughWhole) {
  LogBuilder log(dir_);
  std::string wanted;
  for (const auto codec : {storage::Codec::kNone, storage::Codec::kLz4}) {
    std::vector<TestRecord> many;
    for (int i = 0; i < 3000; ++i) {
      many.emplace_back("record " + std::to_string(i) + std::string(500, 'x'));
      wanted += *many.back().value + "\n";
    }
    log.codec(codec).batch(many);
    const std::string huge(3 << 20, 'h');
    log.batch({"before", TestRecord(huge), "after"});
    wanted += "before\n" + huge + "\nafter\n";
  }
  open_log(log.build());
  EXPECT_TRUE(take(*follow("0")).text == wanted);
  EXPECT_TRUE(take(*follow("0"), 100'000).text == wanted);
  const auto a = follow("0");
  const auto b = follow("0");
  EXPECT_TRUE(take(*a).text == wanted);
  EXPECT_TRUE(take(*b, 70'000).text == wanted);
}

TEST_F(FollowerTest, FollowersAtOnePlaceShareWhatIsMade) {
  LogBuilder log(dir_);
  open_log(log.fill(200, 10, 500).build());
  std::vector<std::shared_ptr<Follower>> many;
  for (int i = 0; i < 8; ++i) many.push_back(follow("0"));
  const std::string text = take(*many[0]).text;
  const auto decoded = streams_->counters().batches_decoded;
  for (const auto& follower : many)
    EXPECT_TRUE(follower == many[0] || take(*follower).text == text);
  EXPECT_EQ(streams_->counters().batches_decoded, decoded);
}

// --- Segments ----------------------------------------------------------------------------------

TEST_F(FollowerTest, ARollIsNoEnd) {
  LogBuilder log(dir_);
  open_log(log.batch({"a"}).build());
  const auto follower = follow("0");
  EXPECT_EQ(take(*follower).text, "a\n");
  log.roll().build();
  EXPECT_EQ(take(*follower).text, "");
  log.batch({"b"}).roll().batch({"c"}).roll().build();
  EXPECT_EQ(take(*follower).text, "b\nc\n");
  log.batch({"d"}).build();
  EXPECT_EQ(take(*follower).text, "d\n");
}

TEST_F(FollowerTest, RetentionBehindTheReaderIsNotNoticed) {
  LogBuilder log(dir_);
  open_log(log.batch({"a"}).build());
  const auto follower = follow("0");
  EXPECT_EQ(take(*follower).text, "a\n");
  log.roll().batch({"b"}).drop_oldest().build();
  EXPECT_EQ(take(*follower).text, "b\n");
  log.roll().drop_oldest().build();  // all is gone
  EXPECT_EQ(take(*follower).text, "");
  log.batch({"c"}).build();
  EXPECT_EQ(take(*follower).text, "c\n");
  EXPECT_THAT(this->log(), IsEmpty());
}

TEST_F(FollowerTest, WhomRetentionPassesGoesOnAtTheLogStartAndTheLogSaysWhatWasMissed) {
  LogBuilder log(dir_);
  open_log(log.batch({"a", "b"}).build());
  const auto follower = follow("1");
  EXPECT_EQ(take(*follower, 2).text, "b\n");
  log.batch({"c"}).roll().batch({"d"}).roll().batch({"e", "f"}).build();
  log.drop_oldest().drop_oldest();
  EXPECT_EQ(take(*follower).text, "e\nf\n");
  ASSERT_EQ(this->log().size(), 1U);
  EXPECT_THAT(this->log()[0], HasSubstr("orders-3"));
  EXPECT_THAT(this->log()[0], HasSubstr("offsets 2 to 3 and goes on at 4"));
  EXPECT_EQ(followers_->counters().missed_offsets, 2U);
}

TEST_F(FollowerTest, CompactionLeavesGapsAndNothingIsGivenTwice) {
  LogBuilder log(dir_);
  log.batch({"a", "b"}).batch({"c", "d"}).roll().batch({"e"});
  open_log(log.build());
  const auto before = follow("0");
  const auto within = follow("0");
  EXPECT_EQ(take(*within).text, "a\nb\nc\nd\ne\n");
  std::string half;
  ASSERT_TRUE(before->read(2, [&](std::span<const Bytes> parts) {
    half = parts[0];
    return true;
  }));
  EXPECT_EQ(half, "a\n");
  // The cleaner writes another file and renames it.
  LogBuilder cleaned(temp_ / "cleaned");
  cleaned.offset(0).emptied_batch(2).batch({TestRecord("d").at_offset(3)});
  const std::string path = dir_ + "/00000000000000000000.log";
  tests::write_file(path + ".cleaned", cleaned.log());
  std::filesystem::rename(path + ".cleaned", path);
  const std::string rest = take(*before).text;
  EXPECT_THAT(rest, testing::EndsWith("d\ne\n"));
  EXPECT_EQ(take(*within).text, "");
  log.batch({"f"});
  tests::write_file(log.log_path(), log.log());
  EXPECT_EQ(take(*within).text, "f\n");
  EXPECT_EQ(take(*before).text, "f\n");
  EXPECT_THAT(this->log(), IsEmpty());
}

// The number of a file that went comes again: it tells nothing.
TEST_F(FollowerTest, AFileInThePlaceOfAnotherIsAnotherEvenIfItsInodeIsTheSame) {
  LogBuilder log(dir_);
  log.batch({"a", "b"}).batch({"c", "d"}).batch({"e", "f"}).roll().batch({"g"});
  open_log(log.build());
  const auto follower = follow("0");
  std::string half;
  ASSERT_TRUE(follower->read(8, [&](std::span<const Bytes> parts) {
    for (const Bytes part : parts) half += part;
    return true;
  }));
  EXPECT_EQ(half, "a\nb\nc\nd\n");
  // Once nobody has the old file open, most file systems give its number to the next one.
  LogBuilder cleaned(temp_ / "cleaned");
  cleaned.offset(0).batch({TestRecord("a").at_offset(0)}).offset(2);
  cleaned.clock(LogBuilder::kFirstTime + 2).batch({"c", "d"}).batch({"e", "f"});
  const std::string path = dir_ + "/00000000000000000000.log";
  std::filesystem::remove(path);
  one_->view->log->refresh();
  tests::write_file(path, cleaned.log());
  const Given rest = take(*follower);
  EXPECT_EQ(rest.error, std::nullopt);
  EXPECT_EQ(rest.text, "e\nf\ng\n");
}

// --- Records that are replaced -----------------------------------------------------------------

TEST_F(FollowerTest, ATruncationOfWhatWasGivenEndsTheFollower) {
  LogBuilder log(dir_);
  open_log(log.batch({"a"}).batch({"b"}).build());
  const auto follower = follow("0");
  EXPECT_EQ(take(*follower).text, "a\nb\n");
  LogBuilder other(temp_ / "other");
  replace_log(log, other.batch({"a"}));
  EXPECT_EQ(take(*follower).error, Errc::kOutOfRange);
  replace_log(log, other.leader_epoch(1).batch({"another b"}).batch({"c"}));
  EXPECT_EQ(take(*follower).error, Errc::kOutOfRange);
  EXPECT_TRUE(follower->readable());
  EXPECT_THAT(this->log(), ElementsAre(HasSubstr("truncated")));
  EXPECT_EQ(take(*follow("1")).text, "another b\nc\n");
}

TEST_F(FollowerTest, RecordsThatTookThePlaceOfOthersUnseenAreNotMixedWithThem) {
  LogBuilder log(dir_);
  open_log(log.batch({"a"}).batch({"b"}).build());
  const auto follower = follow("0");
  const auto shares = follow("0");
  EXPECT_EQ(take(*follower).text, "a\nb\n");
  LogBuilder other(temp_ / "other");
  replace_log(log, other.batch({"a"}).leader_epoch(1).batch({"B"}).batch({"c"}));
  EXPECT_EQ(take(*follower).error, Errc::kOutOfRange);
  EXPECT_EQ(take(*follow("0")).text, "a\nB\nc\n");
  EXPECT_EQ(take(*shares).text, "a\nB\nc\n");
}

// A sole replica's log that is recovered and written on keeps its epoch: only compaction leaves a
// batch its producer and its sequence, and makes it no newer. It leaves records out, and writes no
// others.
TEST_F(FollowerTest, WhatIsWrittenAnewInTheSameEpochIsNoCompaction) {
  const auto newer = [](LogBuilder& other) {
    other.producer(7, 2).batch({"a"}).clock(LogBuilder::kFirstTime + 500).batch({"B", "C"});
  };
  const auto another_producer = [](LogBuilder& other) {
    other.clock(0).producer(8, 2).batch({"a"}).batch({"B", "C"});
  };
  const auto another_producer_epoch = [](LogBuilder& other) {
    other.clock(0).producer(7, 3).batch({"a"}).batch({"B", "C"});
  };
  const auto another_sequence = [](LogBuilder& other) {
    other.clock(0).batch({"a"}).producer(7, 2).batch({"B", "C"});
  };
  const auto other_records = [](LogBuilder& other) {
    other.producer(7, 2).batch({"a"}).batch({"B", "C"});
  };
  const auto compacted = [](LogBuilder& other) {
    other.producer(7, 2).batch({"a"}).batch({TestRecord("c").at_offset(2)});
  };
  using Write = void (*)(LogBuilder&);
  int number = 0;
  for (const auto& [write, is_replaced] : {std::pair<Write, bool>{newer, true},
                                           {another_producer, true},
                                           {another_producer_epoch, true},
                                           {another_sequence, true},
                                           {other_records, true},
                                           {compacted, false}}) {
    SCOPED_TRACE(number);
    LogBuilder log(temp_ / std::to_string(number) + "/orders-3");
    open_log(log.producer(7, 2).batch({"a"}).batch({"b", "c"}).build());
    const auto follower = follow("0");
    EXPECT_EQ(take(*follower).text, "a\nb\nc\n");
    LogBuilder other(temp_ / "other" + std::to_string(number++));
    write(other);
    tests::write_file(log.log_path() + ".swap", other.log());
    std::filesystem::rename(log.log_path() + ".swap", log.log_path());
    const auto expected = is_replaced ? std::optional(Errc::kOutOfRange) : std::nullopt;
    EXPECT_EQ(take(*follower).error, expected);
  }
}

// A sealed segment that is active again may be opened anew: the open file tells nothing then.
TEST_F(FollowerTest, ATruncationBehindANewestSegmentThatIsEmptyEndsTheFollower) {
  for (const bool rolls_anew : {false, true}) {
    SCOPED_TRACE(rolls_anew);
    LogBuilder log(temp_ / (rolls_anew ? "rolls" : "grows") + "/orders-3");
    log.batch({"a"}).batch({"b"});
    const std::string sealed = log.log_path();
    open_log(log.roll().build());
    const auto follower = follow("0");
    EXPECT_EQ(take(*follower).text, "a\nb\n");
    std::filesystem::remove(log.log_path());
    LogBuilder other(temp_ / (rolls_anew ? "other" : "another"));
    other.batch({"a"}).batch({"B"});
    if (!rolls_anew) other.batch({"C"});
    tests::write_file(sealed, other.log());
    if (rolls_anew) tests::write_file(log.log_path(), other.roll().batch({"C"}).log());
    ASSERT_EQ(take(*follower).error, Errc::kOutOfRange);
    EXPECT_THAT(this->log().back(), HasSubstr("truncated"));
    EXPECT_EQ(take(*follow("1")).text, "B\nC\n");
  }
}

TEST_F(FollowerTest, WhatIsWrittenAnewIsNotFollowedByWhatWasRemovedWithTheNextSegment) {
  LogBuilder log(dir_);
  log.batch({"a"}).batch({"b"}).batch({"c"});
  const std::string sealed = log.log_path();
  open_log(log.roll().batch({"d"}).build());
  EXPECT_EQ(take(*follow("0")).text, "a\nb\nc\nd\n");  // both files stay open
  const auto follower = follow("0");
  std::filesystem::remove(log.log_path());
  LogBuilder other(temp_ / "other");
  tests::write_file(sealed, other.batch({"a"}).leader_epoch(1).batch({"B"}).log());
  EXPECT_EQ(take(*follower).text, "a\nB\n");
}

TEST_F(FollowerTest, ATruncationToWhereTheFollowerStandsTakesNothingFromIt) {
  LogBuilder log(dir_);
  open_log(log.batch({"a"}).build());
  const auto follower = follow("0");
  const auto end = follow("end");
  EXPECT_EQ(take(*follower).text, "a\n");
  const std::string kept = log.log();
  log.batch({"b"}).build();
  tests::write_file(log.log_path(), kept);
  EXPECT_EQ(take(*follower).text, "");
  LogBuilder other(temp_ / "other");
  replace_log(log, other.batch({"a"}).batch({"B"}));
  EXPECT_EQ(take(*follower).text, "B\n");
  EXPECT_EQ(take(*end).text, "B\n");
}

TEST_F(FollowerTest, WhatTakesThePlaceOfAMarkerIsGivenFromWhereTheMarkerBegan) {
  LogBuilder log(dir_);
  log.producer(7).transactional_batch({"a"});
  const std::string kept = log.log();
  open_log(log.build());
  const auto zero = follow("0");
  const auto end = follow("end");
  EXPECT_EQ(take(*zero).text, "a\n");
  EXPECT_EQ(take(*end).text, "");
  log.commit(7).emptied_batch(3).build();
  EXPECT_EQ(take(*zero).text, "");
  EXPECT_EQ(take(*end).text, "");
  Bell bell;
  ASSERT_TRUE(zero->wait(zero->version(), bell.rope()));
  // As many offsets as before: by the log's end nobody can tell.
  LogBuilder other(temp_ / "other");
  other.offset(1).leader_epoch(1).batch({"B", "c", "d"}).batch({"e"});
  tests::write_file(log.log_path(), kept + other.log());
  publish();
  bell.wait();
  EXPECT_EQ(take(*zero).text, "B\nc\nd\ne\n");
  EXPECT_EQ(take(*end).text, "B\nc\nd\ne\n");
  EXPECT_THAT(this->log(), IsEmpty());
}

TEST_F(FollowerTest, WhatWasGivenToOneSaysNothingOfAnotherAtTheSamePlace) {
  LogBuilder log(dir_);
  log.producer(7).transactional_batch({"a"});
  open_log(log.build());
  const auto zero = follow("0");
  const auto end = follow("end");
  EXPECT_EQ(take(*zero).text, "a\n");
  log.commit(7).build();
  EXPECT_EQ(take(*zero).text, "");
  EXPECT_EQ(take(*end).text, "");
  LogBuilder other(temp_ / "other");
  replace_log(log, other.leader_epoch(1).batch({"A"}).batch({"B"}).batch({"c"}));
  EXPECT_EQ(take(*zero).error, Errc::kOutOfRange);
  EXPECT_EQ(take(*end).text, "B\nc\n");
}

// Two partitions of a log directory, of which the one goes.
class DeletedTopicTest : public FollowerTest {
 protected:
  static constexpr const char* kMark = ".0123456789abcdef0123456789abcdef-";

  DeletedTopicTest() {
    LogBuilder(temp_ / "data/beside-0").batch({"x"}).build();
    log_of_topic_.batch({"a"}).roll().batch({"b"}).build();
    source_ = storage::LogDir::open({temp_ / "data"}, tests::test_backend(), {}).value();
    partitions_ = std::make_unique<Partitions>(source_);
    streams_ = std::make_unique<Streams>(Streams::Options{}, source_->problems());
    make_followers(source_);
  }

  std::shared_ptr<Follower> follow_in(const std::string& partition, const std::string& name) {
    const auto view = partitions_->view(partitions_->find(partition)->id).value();
    return followers_->open(view, Form::kValues, *parse_follow_start(name), TimestampMs{kNow})
        .value();
  }
  void rename_topic(const std::string& state) {
    std::filesystem::rename(temp_ / "data/orders-3", temp_ / "data/orders-3" + kMark + state);
    publish_partitions();
  }
  void publish_partitions() {
    source_->refresh();
    source_->changes().publish({LogChanges::Change::Kind::kPartitions, 0});
  }
  void expect_end(Follower& follower, const std::string& text) {
    const Given given = take(follower);
    EXPECT_EQ(given.text, text);
    EXPECT_EQ(given.error, Errc::kOutOfRange);
    EXPECT_TRUE(follower.readable());
  }

  LogBuilder log_of_topic_{temp_ / "data/orders-3"};
  std::shared_ptr<const storage::LogDir> source_;
  std::unique_ptr<Partitions> partitions_;
};

TEST_F(DeletedTopicTest, ItsFollowersEndOnceTheyHaveWhatThereIs) {
  const auto all = follow_in("orders-3", "0");
  const auto rest = follow_in("orders-3", "0");
  const auto end = follow_in("orders-3", "end");
  const auto later = follow_in("orders-3", "99");
  const auto time = follow_in("orders-3", "2099-01-01T00:00:00Z");
  std::string first;
  ASSERT_TRUE(rest->read(2, [&](std::span<const Bytes> parts) {
    first = parts[0];
    return true;
  }));
  EXPECT_EQ(first, "a\n");
  EXPECT_EQ(take(*all).text, "a\nb\n");
  Bell bells[4];
  int bell = 0;
  for (const auto& follower : {all, end, later, time}) {
    EXPECT_EQ(take(*follower).error, std::nullopt);
    ASSERT_TRUE(follower->wait(follower->version(), bells[bell++].rope()));
  }
  rename_topic("delete");
  for (Bell& rings : bells) rings.wait();
  for (const auto& follower : {all, end, later, time}) expect_end(*follower, "");
  expect_end(*rest, "b\n");
  EXPECT_THAT(log(),
              testing::AllOf(testing::SizeIs(5),
                             testing::Each("orders-3: its topic was deleted: a follower ends")));
}

TEST_F(DeletedTopicTest, WhoOpensAFollowerInWhatIsToBeDeletedGetsWhatThereIs) {
  rename_topic("delete");
  const std::string name = std::string("orders-3") + kMark + "delete";
  expect_end(*follow_in(name, "0"), "a\nb\n");
  expect_end(*follow_in(name, "end"), "");
}

TEST_F(DeletedTopicTest, AReplicaThatMovesOrStraysGoesOn) {
  for (const std::string state : {"future", "stray"}) {
    const auto follower = follow_in("orders-3", "end");
    EXPECT_EQ(take(*follower).text, "");
    rename_topic(state);
    EXPECT_EQ(take(*follower).error, std::nullopt);
    const std::string moved = temp_ / "data/orders-3" + kMark + state;
    log_of_topic_.batch({state});
    tests::write_file(moved + log_of_topic_.log_path().substr(log_of_topic_.dir().size()),
                      log_of_topic_.log());
    EXPECT_EQ(take(*follower).text, state + "\n");
    std::filesystem::rename(moved, temp_ / "data/orders-3");
    publish_partitions();
  }
  EXPECT_THAT(log(), IsEmpty());
}

TEST_F(DeletedTopicTest, ADirectoryThatIsRemovedIsGone) {
  const auto all = follow_in("orders-3", "0");
  const auto end = follow_in("orders-3", "end");
  EXPECT_EQ(take(*all).text, "a\nb\n");
  EXPECT_EQ(take(*end).text, "");
  std::filesystem::remove_all(temp_ / "data/orders-3");
  publish_partitions();
  expect_end(*all, "");
  expect_end(*end, "");
  EXPECT_THAT(log(), testing::Each("orders-3 is gone: a follower ends"));
}

TEST_F(DeletedTopicTest, OneWhoseFilesGoOneByOneWasNotTruncated) {
  for (const std::int64_t first : {0, 1}) {
    const auto all = follow_in("orders-3", "0");
    EXPECT_EQ(take(*all).text, "a\nb\n");
    std::filesystem::remove(temp_ / "data/orders-3/" + storage::segment_base_name(Offset{first}) +
                            ".log");
    publish_partitions();
    take(*all);
    std::filesystem::remove_all(temp_ / "data/orders-3");
    publish_partitions();
    expect_end(*all, "");
    LogBuilder(temp_ / "data/orders-3").batch({"a"}).roll().batch({"b"}).build();
    publish_partitions();
  }
  EXPECT_THAT(log(), testing::AllOf(testing::SizeIs(2),
                                    testing::Each(testing::AnyOf(HasSubstr("is gone"),
                                                                 HasSubstr("was removed")))));
}

// --- Damage ------------------------------------------------------------------------------------

TEST_F(FollowerTest, WhatComesBeforeDamageIsGivenAndThenTheDamageEachTime) {
  LogBuilder log(dir_);
  log.batch({"a"}).batch({"b"});
  const std::int64_t inside = log.log_bytes() - 2;
  open_log(log.batch({"c"}).flip_byte(inside).build());
  const auto follower = follow("0");
  const Given given = take(*follower);
  EXPECT_EQ(given.text, "a\n");
  EXPECT_EQ(given.error, Errc::kCorrupt);
  EXPECT_TRUE(follower->readable());
  EXPECT_EQ(take(*follower).error, Errc::kCorrupt);
  ASSERT_EQ(one_->source->problems().list().size(), 1U);
  EXPECT_THAT(one_->source->problems().list()[0].what, HasSubstr("go on from offset 2"));
  EXPECT_EQ(take(*follow("2")).text, "c\n");
}

// A base offset is in no CRC.
TEST_F(FollowerTest, ABaseOffsetThatLiesIsDamage) {
  for (const auto& [byte, mask] :
       {std::pair{7, 0x08}, {7, 0x01}, {7, 0x02}, {6, 0x01}, {0, 0x80}}) {
    SCOPED_TRACE(std::to_string(byte) + "^" + std::to_string(mask));
    TempDir temp;
    LogBuilder log(temp / "orders-3");
    log.batch({"a", "b"}).batch({"c", "d", "e"}).batch({"f", "g"}).batch({"h"});
    log.flip_byte(log.positions()[1] + byte, mask).roll().batch({"i"}).build();
    open_log(log.dir());
    for (const std::size_t size : {3, 1000}) {
      const Given given = take(*follow("0"), size);
      EXPECT_EQ(given.text, "a\nb\n");
      EXPECT_EQ(given.error, Errc::kCorrupt);
    }
    EXPECT_EQ(take(*follow("3")).error, Errc::kCorrupt);
    EXPECT_EQ(take(*follow("5")).text, "f\ng\nh\ni\n");
    const auto problems = one_->source->problems().list();
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_THAT(problems[0].what, HasSubstr("go on from offset 5"));
  }
}

TEST_F(FollowerTest, WhatASealedSegmentLostIsNotPassedOver) {
  LogBuilder log(dir_);
  open_log(log.batch({"a"}).batch({"b", "c"}).chop_bytes(3).roll().batch({"d"}).build());
  const auto follower = follow("0");
  const Given given = take(*follower);
  EXPECT_EQ(given.text, "a\n");
  EXPECT_EQ(given.error, Errc::kCorrupt);
  EXPECT_EQ(take(*follower).error, Errc::kCorrupt);
  EXPECT_EQ(take(*follow("3")).text, "d\n");
}

// Where segments overlap a search by offset comes to the later one: so does who follows.
TEST_F(FollowerTest, OfSegmentsThatOverlapEachRecordComesOnce) {
  for (const int records : {1, 2, 4}) {  // 4: a batch reaches over the border
    SCOPED_TRACE(records);
    TempDir temp;
    std::filesystem::create_directories(temp / "orders-3");
    std::string wanted;
    const auto write = [&](const char* name, std::int64_t from, std::int64_t to,
                           int batch_records) {
      LogBuilder log(temp / name);
      log.offset(from);
      while (log.next_offset() < to) {
        std::vector<TestRecord> batch;
        for (int i = 0; i < batch_records; ++i)
          batch.emplace_back(name + std::to_string(log.next_offset() + i));
        log.batch(batch);
      }
      tests::write_file(temp / "orders-3/" + storage::segment_base_name(Offset{from}) + ".log",
                        log.log());
    };
    write("a", 0, 12, records);
    write("b", 6, 16, 2);
    for (int i = 0; i < 16; ++i) wanted += (i < 6 ? "a" : "b") + std::to_string(i) + "\n";
    open_log(temp / "orders-3");
    EXPECT_EQ(take(*follow("0")).text, wanted);
    EXPECT_EQ(take(*follow("5"), 2).text, wanted.substr(15));
    EXPECT_EQ(take(*follow("7")).text, wanted.substr(21));
  }
}

// --- Waiting -----------------------------------------------------------------------------------

TEST_F(FollowerTest, AnAppendWakesWhoWaits) {
  LogBuilder log(dir_);
  open_log(log.batch({"a"}).build());
  const auto follower = follow("end");
  const auto version = follower->version();
  EXPECT_EQ(take(*follower).text, "");
  Bell bell;
  ASSERT_TRUE(follower->wait(version, bell.rope()));
  EXPECT_EQ(followers_->counters().waiting, 1);
  log.batch({"b"}).build();
  publish();
  bell.wait();
  EXPECT_EQ(followers_->counters().waiting, 0);
  EXPECT_EQ(take(*follower).text, "b\n");
}

TEST_F(FollowerTest, WhatComesBetweenTheLookAndTheWaitIsNotSleptOver) {
  LogBuilder log(dir_);
  open_log(log.batch({"a"}).build());
  const auto follower = follow("end");
  const auto version = follower->version();
  EXPECT_EQ(take(*follower).text, "");
  log.batch({"b"}).build();
  publish();
  Bell bell;
  EXPECT_FALSE(follower->wait(version, bell.rope()));
  EXPECT_EQ(take(*follower).text, "b\n");
}

TEST_F(FollowerTest, ACancelledWaitIsNeverWoken) {
  LogBuilder log(dir_);
  open_log(log.batch({"a"}).build());
  const auto follower = follow("0");
  const auto other = follow("0");
  take(*follower);
  take(*other);
  Bell bell;
  Bell bell_of_other;
  const auto ticket = follower->wait(follower->version(), bell.rope());
  ASSERT_TRUE(other->wait(other->version(), bell_of_other.rope()));
  EXPECT_TRUE(follower->cancel(*ticket));
  EXPECT_FALSE(follower->cancel(*ticket));
  log.batch({"b"}).build();
  publish();
  bell_of_other.wait();
  EXPECT_EQ(bell.rung(), 0);
}

TEST_F(FollowerTest, ATruncationWakesWhoWaitsBehindIt) {
  LogBuilder log(dir_);
  open_log(log.batch({"a"}).batch({"b"}).build());
  const auto follower = follow("0");
  take(*follower);
  Bell bell;
  ASSERT_TRUE(follower->wait(follower->version(), bell.rope()));
  LogBuilder other(temp_ / "other");
  replace_log(log, other.batch({"a"}));
  publish(LogChanges::Change::Kind::kSegments);
  bell.wait();
  EXPECT_EQ(take(*follower).error, Errc::kOutOfRange);
}

TEST_F(FollowerTest, WhoPollsIsToldOfMoreEvenIfTheyDidNotReadWhatThereIs) {
  LogBuilder log(dir_);
  open_log(log.batch({"a"}).build());
  const auto follower = follow("0");
  Bell bell;
  follower->wait_to_poll(bell.rope());
  EXPECT_TRUE(follower->readable());
  log.batch({"b"}).build();
  publish();
  bell.wait();
  EXPECT_EQ(take(*follower).text, "a\nb\n");
  EXPECT_FALSE(follower->readable());
  // A second one takes the place of the first.
  Bell first;
  Bell second;
  follower->wait_to_poll(first.rope());
  follower->wait_to_poll(second.rope());
  EXPECT_EQ(followers_->counters().waiting, 1);
  publish();
  second.wait();
  EXPECT_EQ(first.rung(), 0);
}

TEST_F(FollowerTest, TheEndOfTheMountWakesAllAndIsTheEndOfTheirFiles) {
  LogBuilder log(dir_);
  open_log(log.batch({"a"}).build());
  const auto one = follow("end");
  const auto two = follow("0");
  take(*two);
  Bell bells[2];
  ASSERT_TRUE(one->wait(one->version(), bells[0].rope()));
  ASSERT_TRUE(two->wait(two->version(), bells[1].rope()));
  followers_->stop();
  bells[0].wait();
  bells[1].wait();
  EXPECT_TRUE(take(*one).ended);
  EXPECT_TRUE(take(*two).ended);
  EXPECT_TRUE(one->readable());
  EXPECT_FALSE(one->wait(one->version(), bells[0].rope()));
}

TEST_F(FollowerTest, WhoIsNoLongerThereIsNotCounted) {
  open_log(LogBuilder(dir_).batch({"a"}).build());
  {
    const auto follower = follow("end");
    Bell bell;
    follower->wait_to_poll(bell.rope());
    EXPECT_EQ(followers_->counters().followers, 1);
  }
  EXPECT_EQ(followers_->counters().followers, 0);
  EXPECT_EQ(followers_->counters().waiting, 0);
  publish();
}

// --- Everything at once ------------------------------------------------------------------------

// Follows until `wanted` bytes have come, the way a mount does: reads, and waits where there is
// nothing.
std::string follow_to(Follower& follower, std::size_t wanted, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text;
  while (text.size() < wanted) {
    const auto version = follower.version();
    const bool reader_is_there = random() % 8 != 0;
    const auto outcome = follower.read(1 + random() % 3000, [&](std::span<const Bytes> parts) {
      for (const Bytes part : parts)
        if (reader_is_there) text += part;
      return reader_is_there;
    });
    EXPECT_TRUE(outcome) << outcome.error().what;
    if (!outcome) break;
    if (*outcome == Outcome::kDelivered) continue;
    Bell bell;
    if (const auto ticket = follower.wait(version, bell.rope())) bell.wait();
  }
  return text;
}

TEST_F(FollowerTest, EveryFollowerGetsEveryRecordOnceAndInOrderBesideABusyWriter) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::filesystem::create_directories(dir_);
  constexpr int kBatches = 400;
  std::vector<std::string> batches;
  std::vector<std::size_t> segment_of;
  std::string wanted;
  std::int64_t offset = 0;
  std::vector<std::int64_t> bases{0};
  for (int i = 0; i < kBatches; ++i) {
    if (random() % 20 == 0) bases.push_back(offset);
    LogBuilder one(temp_ / "one");
    one.offset(offset).codec(static_cast<storage::Codec>(random() % 5));
    std::vector<TestRecord> records;
    for (std::uint64_t n = 1 + random() % 20; n > 0; --n) {
      std::string value = std::to_string(offset++) + std::string(random() % 300, '.');
      wanted += value + "\n";
      records.emplace_back(std::move(value));
    }
    batches.push_back(one.batch(records).log());
    segment_of.push_back(bases.size() - 1);
  }
  const auto path = [&](std::size_t segment) {
    std::string digits = std::to_string(bases[segment]);
    return dir_ + "/" + std::string(20 - digits.size(), '0') + digits + ".log";
  };
  tests::write_file(path(0), "");
  open_log(dir_);

  std::vector<std::string> got(6);
  std::vector<std::thread> readers;
  for (std::size_t i = 0; i < got.size(); ++i) {
    readers.emplace_back(
        [&, i, follower = follow("0")] { got[i] = follow_to(*follower, wanted.size(), seed + i); });
  }
  for (std::size_t i = 0; i < batches.size(); ++i) {
    std::FILE* file = std::fopen(path(segment_of[i]).c_str(), "ab");
    // Half of it first, now and then: who looks in between must not take it for damage.
    const std::size_t half = random() % 3 == 0 ? random() % batches[i].size() : 0;
    std::fwrite(batches[i].data(), 1, half, file);
    std::fflush(file);
    if (half > 0) publish();
    std::fwrite(batches[i].data() + half, 1, batches[i].size() - half, file);
    std::fclose(file);
    publish();
  }
  for (std::thread& reader : readers) reader.join();
  for (const std::string& text : got) EXPECT_TRUE(text == wanted);
  EXPECT_THAT(one_->source->problems().list(), IsEmpty());
  EXPECT_THAT(log(), IsEmpty());
}

}  // namespace
}  // namespace offsetfs::fs
