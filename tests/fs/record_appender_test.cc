#include "fs/record_appender.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fs/renderer.h"
#include "storage/record_batch.h"
#include "tests/support/crashing_dir.h"
#include "tests/support/written_log.h"

namespace offsetfs::fs {
namespace {

using storage::Codec;
using storage::Errc;
using storage::LogWriter;
using tests::CrashingDir;

constexpr std::int64_t kNow = 1700000000000;
constexpr const char* kFirstLog = "00000000000000000000.log";

class RecordAppenderTest : public testing::Test {
 protected:
  RecordAppenderTest() { open(); }

  void open(std::int64_t max_message_bytes = 1 << 20, bool compact = false) {
    auto options = tests::writer_options(120000);
    options.config.cleanup_policy.compact = compact;
    options.config.max_message_bytes = max_message_bytes;
    auto writer = LogWriter::open(dir_, nullptr, {"orders", 0}, options, nullptr);
    ASSERT_TRUE(writer) << writer.error().what;
    log_ = std::make_shared<WrittenLog>(std::move(*writer), nullptr);
  }

  std::shared_ptr<RecordAppender> writer(RecordAppender::Options options,
                                         std::shared_ptr<LingerTimer> timer = nullptr) const {
    if (options.name.empty()) options.name = "append";
    options.now = [] { return storage::TimestampMs{kNow}; };
    return std::make_shared<RecordAppender>(log_, std::move(timer), std::move(options));
  }
  std::shared_ptr<RecordAppender> lines() const { return writer({}); }
  std::shared_ptr<RecordAppender> objects() const {
    RecordAppender::Options options;
    options.name = "append.jsonl";
    options.form = Form::kJsonl;
    return writer(options);
  }

  std::size_t batches() const { return tests::split_batches(dir_->content(kFirstLog)).size(); }
  // A line of `form` a record, of the first segment.
  std::string shown(Form form = Form::kValues) const {
    const auto renderer = make_renderer(form, {"orders", 0, {}});
    std::string text;
    for (const auto& bytes : tests::split_batches(dir_->content(kFirstLog))) {
      const auto batch = storage::DecodedBatch::decode(storage::Bytes(bytes));
      EXPECT_TRUE(batch) << (batch ? "" : batch.error().what);
      auto records = (*batch)->records();
      storage::Record record;
      while (records.next(record) == storage::RecordReader::Step::kRecord)
        renderer->append(record, text);
    }
    return text;
  }

  std::shared_ptr<CrashingDir> dir_ = std::make_shared<CrashingDir>(1);
  std::shared_ptr<WrittenLog> log_;
};

void expect_taken(const storage::Result<std::size_t>& written, std::size_t bytes) {
  ASSERT_TRUE(written) << written.error().what;
  EXPECT_EQ(*written, bytes);
}

void expect_refused(const storage::Result<std::size_t>& written, int sys_errno,
                    const std::string& what) {
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::kIo);
  EXPECT_EQ(written.error().sys_errno, sys_errno);
  EXPECT_EQ(written.error().what, what);
}

TEST_F(RecordAppenderTest, EachLineIsARecordAndAWriteIsOneBatch) {
  expect_taken(lines()->write("one\ntwo\n\nfour\n"), 14);
  EXPECT_EQ(shown(), "one\ntwo\n\nfour\n");
  EXPECT_EQ(batches(), 1U);
  EXPECT_EQ(log_->writer().log_end_offset(), storage::Offset{4});
}

TEST_F(RecordAppenderTest, ALineMayComeInAnyPieces) {
  const std::string text = "one\ntwo\n\nfour and some more\n";
  for (std::size_t piece = 1; piece < text.size(); ++piece) {
    dir_ = std::make_shared<CrashingDir>(1);
    open();
    const auto appender = lines();
    for (std::size_t at = 0; at < text.size(); at += piece) {
      const std::string part = text.substr(at, piece);
      expect_taken(appender->write(part), part.size());
    }
    EXPECT_FALSE(appender->has_unfinished_line());
    EXPECT_EQ(shown(), text) << piece;
  }
}

TEST_F(RecordAppenderTest, AnUnfinishedLineWaitsForItsEnd) {
  const auto appender = lines();
  expect_taken(appender->write("one\ntw"), 6);
  ASSERT_TRUE(appender->sync());
  EXPECT_EQ(shown(), "one\n");
  EXPECT_TRUE(appender->has_unfinished_line());
  ASSERT_TRUE(appender->finish_line());
  EXPECT_EQ(shown(), "one\ntw\n");
  ASSERT_TRUE(appender->finish_line());
  EXPECT_EQ(shown(), "one\ntw\n");
}

TEST_F(RecordAppenderTest, KeysAreSplitOffAndALineWithoutSeparatorIsRefused) {
  RecordAppender::Options options;
  options.key_separator = ":";
  const auto appender = writer(options);
  expect_taken(appender->write("a:1\nb:2:3\n"), 10);
  EXPECT_EQ(shown(Form::kKeys), "a\nb\n");
  EXPECT_EQ(shown(), "1\n2:3\n");
  expect_refused(
      appender->write("c\n"), EINVAL,
      "append, line 3: no key separator ':' in it, so no telling the key from the value");
}

TEST_F(RecordAppenderTest, AnObjectWithoutKeyForACompactedLogIsABadLineAndTakesNoOtherWithIt) {
  open(1 << 20, /*compact=*/true);
  const auto appender = objects();
  const std::string a = R"({"key":"a","payload":"1"})"
                        "\n";
  const std::string c = R"({"payload":"3","key":"c"})"
                        "\n";
  for (const std::string bad : {R"({"payload":"2"})"
                                "\n",
                                R"({"key":null,"payload":"2"})"
                                "\n"}) {
    expect_taken(appender->write(a + bad + c), a.size());
    const auto refused = appender->write(bad + c);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().sys_errno, EINVAL);
    EXPECT_NE(refused.error().what.find(": Compacted topic cannot accept message without key: "
                                        "\"key\" is not there, or null"),
              std::string::npos)
        << refused.error().what;
    expect_taken(appender->write(c), c.size());
  }
  expect_refused(appender->write(R"({"payload":"2"})"
                                 "\n"),
                 EINVAL,
                 "append.jsonl, line 5: Compacted topic cannot accept message without key: "
                 "\"key\" is not there, or null");
  EXPECT_EQ(shown(Form::kKeys), "a\nc\na\nc\n");
}

TEST_F(RecordAppenderTest, WhatLingersIsNotLostToALineWithoutKey) {
  open(1 << 20, /*compact=*/true);
  RecordAppender::Options options;
  options.form = Form::kJsonl;
  const auto appender = writer(options, std::make_shared<LingerTimer>(3'600'000));
  ASSERT_TRUE(appender->write(R"({"key":"a","payload":"1"})"
                              "\n"));
  EXPECT_FALSE(appender->write(R"({"payload":"2"})"
                               "\n"));
  ASSERT_TRUE(appender->write(R"({"key":"c","payload":"3"})"
                              "\n"));
  EXPECT_TRUE(appender->sync());
  EXPECT_EQ(shown(Form::kKeys), "a\nc\n");
}

TEST_F(RecordAppenderTest, APlainLineForACompactedLogIsRefusedWithTheCure) {
  open(1 << 20, /*compact=*/true);
  expect_refused(
      lines()->write("one\n"), EINVAL,
      "append, line 1: Compacted topic cannot accept message without key: give "
      "--key-separator, or -o append,key_separator=TEXT, and the key in front of TEXT in "
      "each line");
}

TEST_F(RecordAppenderTest, BatchesEndAtBatchBytesAndALargeRecordIsAloneInOne) {
  RecordAppender::Options options;
  options.batch_bytes = 1000;
  const auto appender = writer(options);
  std::string text;
  for (int i = 0; i < 30; ++i) text += std::string(90, 'x') + "\n";
  text += std::string(5000, 'y') + "\nz\n";
  expect_taken(appender->write(text), text.size());
  EXPECT_EQ(shown(), text);
  for (const auto& batch : tests::split_batches(dir_->content(kFirstLog)))
    EXPECT_TRUE(batch.size() <= 1000 || batch.size() > 5000) << batch.size();
  EXPECT_EQ(batches(), 4U + 1U + 1U);
}

TEST_F(RecordAppenderTest, BatchesAreCompressed) {
  for (const Codec codec : {Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    dir_ = std::make_shared<CrashingDir>(1);
    open();
    RecordAppender::Options options;
    options.codec = codec;
    std::string text;
    for (int i = 0; i < 100; ++i) text += "the same again and again\n";
    expect_taken(writer(options)->write(text), text.size());
    EXPECT_EQ(shown(), text);
    EXPECT_LT(dir_->content(kFirstLog).size(), text.size() / 2);
  }
}

TEST_F(RecordAppenderTest, ABadObjectFailsWithItsPlaceAndNothingOfItIsWritten) {
  const auto appender = objects();
  expect_refused(appender->write("{\"payload\":1}\n{\"payload\":\"b\"}\n"), EINVAL,
                 "append.jsonl, line 1: column 12: \"payload\": expected a string or null, found a "
                 "number");
  EXPECT_EQ(shown(), "");
}

TEST_F(RecordAppenderTest, LinesBeforeABadOneAreAShortWriteAndTheNextWriteFails) {
  const auto appender = objects();
  const std::string good = "{\"payload\":\"a\"}\n\n{\"payload\":\"b\"}\n";
  const std::string bad = "{\"payload\":1}\n{\"payload\":\"c\"}\n";
  expect_taken(appender->write(good + bad), good.size());
  EXPECT_EQ(shown(), "a\nb\n");
  expect_refused(appender->write(bad), EINVAL,
                 "append.jsonl, line 4: column 12: \"payload\": expected a string or null, found a "
                 "number");
  // Whoever passes over it goes on behind it.
  expect_taken(appender->write("{\"payload\":\"c\"}\n"), 16);
  EXPECT_EQ(shown(), "a\nb\nc\n");
}

TEST_F(RecordAppenderTest, ABadObjectThatAnEarlierWriteBeganIsToldOfAtTheNextCall) {
  const auto appender = objects();
  expect_taken(appender->write("{\"pay"), 5);
  expect_taken(appender->write("load\":1}\n{\"payload\":\"b\"}\n"), 9);
  const auto told = appender->flush();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().sys_errno, EINVAL);
  EXPECT_TRUE(told.error().what.starts_with("append.jsonl, line 1: column 12:"))
      << told.error().what;
  EXPECT_TRUE(appender->flush());
  expect_taken(appender->write("{\"payload\":\"b\"}\n"), 16);
  EXPECT_EQ(shown(), "b\n");
}

TEST_F(RecordAppenderTest, AnUnfinishedObjectThatIsNoneFailsAtTheClose) {
  const auto appender = objects();
  expect_taken(appender->write("{\"payload\":\"a\"}\n{\"payload\":"), 27);
  const auto closed = appender->finish_line();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().sys_errno, EINVAL);
  EXPECT_TRUE(closed.error().what.starts_with("append.jsonl, line 2: column 12: no JSON"))
      << closed.error().what;
  EXPECT_EQ(shown(), "a\n");
}

TEST_F(RecordAppenderTest, ALineThatIsTooLongIsRefusedToItsEndHoweverItComes) {
  RecordAppender::Options options;
  options.most_line_bytes = 100;
  const auto appender = writer(options);
  const std::string chunk(60, 'x');
  expect_taken(appender->write("ok\n" + chunk), 63);
  for (int i = 0; i < 3; ++i) {
    const auto refused = appender->write(chunk);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().sys_errno, EMSGSIZE);
    EXPECT_FALSE(appender->has_unfinished_line());
  }
  expect_refused(appender->write("its end\nnext\n"), EMSGSIZE,
                 "append, line 2: the rest of a line that was too long");
  expect_taken(appender->write("next\n"), 5);
  EXPECT_EQ(shown(), "ok\nnext\n");
  expect_refused(appender->write(std::string(101, 'y') + "\n"), EMSGSIZE,
                 "append, line 4: 101 bytes, more than the 100 that a line may have");
}

TEST_F(RecordAppenderTest, ARecordLargerThanTheLogTakesIsRefusedAndItsNeighboursAreNot) {
  dir_ = std::make_shared<CrashingDir>(1);
  open(/*max_message_bytes=*/1000);
  const auto appender = lines();
  const std::string large = std::string(2000, 'x') + "\n";
  expect_taken(appender->write("a\n" + large + "b\n"), 2);
  const auto refused = appender->write(large + "b\n");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sys_errno, EMSGSIZE);
  expect_taken(appender->write("b\n"), 2);
  EXPECT_EQ(shown(), "a\nb\n");
}

TEST_F(RecordAppenderTest, ALineWhoseBatchIsTooLargeIsNamed) {
  dir_ = std::make_shared<CrashingDir>(1);
  open(/*max_message_bytes=*/1000);
  const auto appender = lines();
  const std::string large = std::string(990, 'x') + "\n";  // a line may be so long
  expect_taken(appender->write("a\n" + large), 2);
  const auto refused = appender->write(large);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sys_errno, EMSGSIZE);
  EXPECT_TRUE(refused.error().what.starts_with("append, line 2: not appended: The record batch"))
      << refused.error().what;
}

TEST_F(RecordAppenderTest, OnAFullDiskWhatDidNotFitIsToldAndTheLogIsWhole) {
  RecordAppender::Options options;
  options.batch_bytes = 500;
  for (std::int64_t room = 0; room < 2300; room += 50) {
    dir_ = std::make_shared<CrashingDir>(1);
    open();
    const auto appender = writer(options);
    std::string text;
    for (int i = 0; i < 20; ++i) text += std::to_string(1000 + i) + std::string(90, 'x') + "\n";
    dir_->fail_after(room, ENOSPC);
    // As cat does it: goes on behind a short write, stops at an error.
    std::size_t taken = 0;
    int sys_errno = 0;
    while (taken < text.size() && sys_errno == 0) {
      const auto written = appender->write(storage::Bytes(text).substr(taken));
      written ? taken += * written : sys_errno = written.error().sys_errno;
    }
    EXPECT_EQ(sys_errno, ENOSPC) << room;
    dir_->fail_after(-1, 0);
    EXPECT_EQ(shown(), text.substr(0, taken)) << room;
    // There is room again, and the same writer goes on.
    expect_taken(appender->write(storage::Bytes(text).substr(taken)), text.size() - taken);
    EXPECT_EQ(shown(), text) << room;
  }
}

TEST_F(RecordAppenderTest, SyncMakesDurableWhatWasWritten) {
  const auto appender = lines();
  expect_taken(appender->write("one\n"), 4);
  ASSERT_TRUE(appender->sync());
  expect_taken(appender->write("two\n"), 4);
  dir_->cut_power();
  open();
  EXPECT_TRUE(shown().starts_with("one\n")) << shown();
}

TEST_F(RecordAppenderTest, ADurableWriteNeedsNoSync) {
  RecordAppender::Options options;
  options.is_durable = true;
  const auto appender = writer(options);
  expect_taken(appender->write("one\ntwo\nth"), 10);
  dir_->cut_power();
  open();
  EXPECT_EQ(shown(), "one\ntwo\n");
}

TEST_F(RecordAppenderTest, ADurableWriteThatEndsShortIsDurableAsFarAsItWent) {
  RecordAppender::Options options;
  options.is_durable = true;
  // A line that may be so long, but makes a batch that may not.
  const std::string large(990, 'x');
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    dir_ = std::make_shared<CrashingDir>(seed);
    open(/*max_message_bytes=*/1000);
    expect_taken(writer(options)->write("one\ntwo\n" + large + "\n"), 8);
    dir_->cut_power();
    open();
    EXPECT_EQ(shown(), "one\ntwo\n") << seed;
  }
}

TEST_F(RecordAppenderTest, ASyncThatFailedOnceIsNeverASuccessAgain) {
  const auto appender = lines();
  expect_taken(appender->write("one\n"), 4);
  dir_->stop_after(0);
  EXPECT_FALSE(appender->sync());
  dir_->stop_after(-1);
  const auto again = appender->sync();
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().what.find("may be lost"), std::string::npos) << again.error().what;
}

TEST_F(RecordAppenderTest, LingeringWritesShareABatchAndAFlushEndsIt) {
  const auto timer = std::make_shared<LingerTimer>(3'600'000);
  const auto appender = writer({}, timer);
  for (const char* line : {"one\n", "two\n", "three\n"}) ASSERT_TRUE(appender->write(line));
  EXPECT_EQ(batches(), 0U);
  ASSERT_TRUE(appender->flush());
  EXPECT_EQ(batches(), 1U);
  EXPECT_EQ(shown(), "one\ntwo\nthree\n");
}

TEST_F(RecordAppenderTest, ABatchGoesToTheLogByItselfWhenItsLingerIsOver) {
  const auto timer = std::make_shared<LingerTimer>(1);
  const auto appender = writer({}, timer);
  for (std::int64_t i = 1; i <= 20; ++i) {
    ASSERT_TRUE(appender->write("line\n"));
    while (log_->writer().log_end_offset() < storage::Offset{i})
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(log_->writer().log_end_offset(), storage::Offset{20});
}

TEST_F(RecordAppenderTest, WhatLingeredAndCouldNotBeAppendedIsToldOnce) {
  const auto timer = std::make_shared<LingerTimer>(3'600'000);
  const auto appender = writer({}, timer);
  ASSERT_TRUE(appender->write("one\n"));
  dir_->fail_after(0, ENOSPC);
  const auto told = appender->flush();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().sys_errno, ENOSPC);
  EXPECT_TRUE(told.error().what.starts_with("append, line 1: not appended: ")) << told.error().what;
  dir_->fail_after(-1, 0);
  EXPECT_TRUE(appender->flush());
  ASSERT_TRUE(appender->write("two\n"));
  ASSERT_TRUE(appender->flush());
  EXPECT_EQ(shown(), "two\n");
}

TEST_F(RecordAppenderTest, WritersNeverInterleaveWithinALine) {
  constexpr int kWriters = 4;
  constexpr int kLines = 300;
  std::vector<std::thread> threads;
  for (int w = 0; w < kWriters; ++w)
    threads.emplace_back([&, w] {
      std::mt19937 random(static_cast<unsigned>(w));
      const auto appender = lines();
      std::string text;
      for (int i = 0; i < kLines; ++i)
        text += std::string(1 + random() % 40, static_cast<char>('a' + w)) + " " +
                std::to_string(i) + "\n";
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t size = std::min<std::size_t>(1 + random() % 100, text.size() - at);
        const auto written = appender->write(storage::Bytes(text).substr(at, size));
        ASSERT_TRUE(written);
        at += *written;
      }
    });
  for (auto& thread : threads) thread.join();
  std::map<char, int> next;
  std::string all = shown();
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find('\n', at);
    const std::string line = all.substr(at, end - at);
    const char letter = line[0];
    const std::size_t space = line.find_first_not_of(letter);
    EXPECT_EQ(line.substr(space), " " + std::to_string(next[letter]++)) << line;
    at = end + 1;
  }
  for (const auto& [letter, count] : next) EXPECT_EQ(count, kLines) << letter;
}

TEST_F(RecordAppenderTest, SyncsOfManyWritersShareTheirWaits) {
  std::vector<std::thread> threads;
  for (int w = 0; w < 4; ++w)
    threads.emplace_back([&] {
      const auto appender = lines();
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(appender->write("line\n"));
        EXPECT_TRUE(appender->sync());
      }
    });
  for (auto& thread : threads) thread.join();
  dir_->cut_power();
  open();
  EXPECT_EQ(log_->writer().log_end_offset(), storage::Offset{200});
}

}  // namespace
}  // namespace offsetfs::fs
