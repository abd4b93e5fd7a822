#include "fs/segment_stream.h"

#include <random>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "fs/record_lines.h"
#include "storage/batch_builder.h"
#include "storage/pread_file.h"
#include "tests/support/random_log.h"
#include "tests/support/temp_dir.h"

namespace offsetfs::fs {
namespace {

using storage::Errc;
using storage::Offset;
using storage::Position;
using tests::RandomLog;

// Offset, key and value in brackets: a form that is none of the mount's, and needs no renderer of
// its own to be believed.
std::string line_of(const tests::PlainRecord& record) {
  return std::to_string(record.offset.value) + "[" + record.key.value_or("~") + "][" +
         record.value.value_or("~") + "]\n";
}

class BracketRenderer : public RecordRenderer {
 public:
  // `sizes`: counts how often a record was looked at for its size; may be null.
  explicit BracketRenderer(int* sizes = nullptr) : sizes_(sizes) {}

  std::size_t size(const storage::Record& record) const override {
    if (sizes_ != nullptr) ++*sizes_;
    std::string line;
    append(record, line);
    return line.size();
  }
  void append(const storage::Record& record, std::string& out) const override {
    out += std::to_string(record.offset.value);
    out += '[';
    out += record.key.value_or("~");
    out += "][";
    out += record.value.value_or("~");
    out += "]\n";
  }
  std::string header() const override { return "offset[key][value]\n"; }

 private:
  int* const sizes_;
};

std::string all_lines(const RandomLog& log, std::size_t records = SIZE_MAX) {
  std::string text = BracketRenderer().header();
  for (std::size_t i = 0; i < std::min(records, log.records.size()); ++i) {
    if (!log.records[i].control) text += line_of(log.records[i]);
  }
  return text;
}

// A `.log` on disk that tests can change under a stream.
class SegmentStreamTest : public testing::Test {
 protected:
  void write(const std::string& bytes) {
    if (!file_) {
      dir_.write("0.log", bytes);
      const std::string path = dir_ / "0.log";
      file_ = storage::PreadBackend().adopt(::open(path.c_str(), O_RDONLY), "0.log");
    } else {
      const int fd = ::open((dir_ / "0.log").c_str(), O_WRONLY);
      ASSERT_EQ(::ftruncate(fd, 0), 0);
      ASSERT_EQ(::pwrite(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
      ::close(fd);
    }
    end_ = Position{static_cast<std::int64_t>(bytes.size())};
  }

  SegmentStream::PieceNow piece_now() {
    return [this]() -> storage::Result<StreamPiece> {
      StreamPiece piece;
      piece.file = file_.get();
      piece.end = end_;
      piece.living = living_;
      return piece;
    };
  }

  std::unique_ptr<SegmentStream> make_stream() {
    return std::make_unique<SegmentStream>(
        std::make_shared<RecordLines>(std::make_unique<BracketRenderer>(), RecordFilter{}),
        resources_);
  }

  std::int64_t measured(SegmentStream& stream) {
    auto state = stream.measure(piece_now());
    EXPECT_TRUE(state) << state.error().what;
    return state ? state->size_bytes : -1;
  }

  std::string read(SegmentStream& stream, std::int64_t position, std::size_t size,
                   std::uint32_t generation = 0) {
    std::string out;
    auto read = stream.read(piece_now(), generation, position, size, out);
    EXPECT_TRUE(read) << read.error().what;
    return out;
  }

  Errc read_error(SegmentStream& stream, std::int64_t position, std::uint32_t generation = 0) {
    std::string out;
    auto read = stream.read(piece_now(), generation, position, 4096, out);
    EXPECT_FALSE(read) << out;
    return read ? Errc::kBusy : read.error().code;
  }

  tests::TempDir dir_;
  std::unique_ptr<storage::File> file_;
  Position end_{};
  bool living_ = false;
  storage::Problems problems_;
  StreamResources resources_{{}, 8U << 20, 2, problems_};
};

class SeededSegmentStreamTest : public SegmentStreamTest,
                                public testing::WithParamInterface<std::uint64_t> {
 protected:
  void SetUp() override { RecordProperty("seed", std::to_string(GetParam())); }
  std::mt19937_64 random_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Seeds, SeededSegmentStreamTest, testing::Range<std::uint64_t>(1, 7),
                         [](const auto& seed) { return "seed" + std::to_string(seed.param); });

TEST_P(SeededSegmentStreamTest, MeasuredSizeIsThatOfTheWholeContent) {
  const RandomLog log = tests::make_random_log(random_, 300);
  write(log.bytes);
  auto stream = make_stream();
  const std::string whole = all_lines(log);
  EXPECT_EQ(measured(*stream), static_cast<std::int64_t>(whole.size()));
  EXPECT_TRUE(read(*stream, 0, whole.size() + 100) == whole);
}

TEST_P(SeededSegmentStreamTest, EveryReadIsASliceOfTheWhole) {
  const RandomLog log = tests::make_random_log(random_, 300);
  write(log.bytes);
  auto stream = make_stream();
  const std::string whole = all_lines(log);
  measured(*stream);
  for (int i = 0; i < 400; ++i) {
    const std::size_t position = random_() % (whole.size() + 10);
    const std::size_t size = random_() % (i % 4 == 0 ? 400'000 : 5000);
    const std::string expected = position < whole.size() ? whole.substr(position, size) : "";
    ASSERT_TRUE(read(*stream, static_cast<std::int64_t>(position), size) == expected)
        << "position " << position << " size " << size;
  }
}

TEST_P(SeededSegmentStreamTest, ThinnedAndLostResumePointsChangeNoByte) {
  const RandomLog log = tests::make_random_log(random_, 300);
  write(log.bytes);
  auto stream = make_stream();
  const std::string whole = all_lines(log);
  measured(*stream);
  if (random_() % 2 == 0)
    while (stream->thin_points()) {
    }
  else
    stream->drop_points();
  for (int i = 0; i < 30; ++i) {
    const std::size_t position = random_() % whole.size();
    ASSERT_TRUE(read(*stream, static_cast<std::int64_t>(position), 3000) ==
                whole.substr(position, 3000));
  }
  EXPECT_EQ(measured(*stream), static_cast<std::int64_t>(whole.size()));
  EXPECT_FALSE(stream->lacks_points());
}

TEST_P(SeededSegmentStreamTest, AppendedBatchesAreMeasuredOn) {
  living_ = true;
  RandomLog log;
  auto stream = make_stream();
  write(log.bytes);
  for (int round = 0; round < 40; ++round) {
    append_random(log, random_, random_() % 20);
    write(log.bytes);
    const std::string whole = all_lines(log);
    if (round % 2 == 0) {
      ASSERT_EQ(measured(*stream), static_cast<std::int64_t>(whole.size()));
    }
    const std::size_t position = random_() % whole.size();
    ASSERT_TRUE(read(*stream, static_cast<std::int64_t>(position), whole.size()) ==
                whole.substr(position));
  }
  EXPECT_LE(resources_.scanned_bytes.load(), log.bytes.size());
}

TEST_P(SeededSegmentStreamTest, AnEndThatWasLookedForBeforeOthersMeasuredFurtherIsNoTruncation) {
  living_ = true;
  const RandomLog log = tests::make_random_log(random_, 200);
  write(log.bytes);
  auto stream = make_stream();
  const std::string whole = all_lines(log);
  measured(*stream);
  end_ = log.entries[100 + random_() % 100].position;
  EXPECT_EQ(measured(*stream), static_cast<std::int64_t>(whole.size()));
  EXPECT_EQ(stream->known()->generation, 0U);
  EXPECT_TRUE(read(*stream, 0, whole.size()) == whole);
}

TEST_P(SeededSegmentStreamTest, TruncatedLogIsStaleFromThereForThoseWhoHadItOpen) {
  living_ = true;
  RandomLog log = tests::make_random_log(random_, 200);
  write(log.bytes);
  auto stream = make_stream();
  measured(*stream);
  const std::size_t kept = 120 + random_() % 70;
  const std::string common = all_lines(log, log.entries[kept].first_record);

  RandomLog other;
  other.bytes = log.bytes.substr(0, static_cast<std::size_t>(log.entries[kept].position.value));
  other.records.assign(
      log.records.begin(),
      log.records.begin() + static_cast<std::ptrdiff_t>(log.entries[kept].first_record));
  other.next_offset = log.entries[kept - 1].last_offset + 1;
  const bool regrown = random_() % 2 == 0;
  if (regrown) append_random(other, random_, 150);
  write(other.bytes);

  const std::string whole = all_lines(other);
  EXPECT_EQ(measured(*stream), static_cast<std::int64_t>(whole.size()));
  const auto state = stream->known();
  EXPECT_EQ(state->generation, 1U);
  EXPECT_TRUE(read(*stream, 0, whole.size(), 1) == whole);
  // For the one before: right up to the batch before the cut at least when that was among the last.
  EXPECT_EQ(read_error(*stream, static_cast<std::int64_t>(common.size()), 0), Errc::kOutOfRange);
  std::string out;
  auto before = stream->read(piece_now(), 0, 0, common.size(), out);
  EXPECT_TRUE(!before || common.starts_with(out));
  if (log.entries.size() - kept < 60) {
    EXPECT_TRUE(out == common);
  }
}

TEST_P(SeededSegmentStreamTest, DamageEndsTheStreamBehindTheLastGoodRecord) {
  const RandomLog log = tests::make_random_log(random_, 60);
  for (std::size_t i = 0; i < log.entries.size(); ++i) {
    std::string bytes = log.bytes;
    const RandomLog::Entry& entry = log.entries[i];
    // The last byte of the last batch too: the segment is sealed, so that is damage.
    bytes[static_cast<std::size_t>(entry.position.value) + entry.size_bytes - 1] ^= 0x40;
    write(bytes);
    auto stream = make_stream();
    const std::string whole = all_lines(log, entry.first_record);
    auto state = stream->measure(piece_now());
    ASSERT_TRUE(state) << state.error().what;
    EXPECT_TRUE(state->damaged);
    EXPECT_EQ(state->size_bytes, static_cast<std::int64_t>(whole.size()));
    EXPECT_TRUE(read(*stream, 0, whole.size() + 1000) == whole) << "entry " << i;
    EXPECT_EQ(read_error(*stream, state->size_bytes), Errc::kCorrupt);
    const auto problems = problems_.list();
    ASSERT_EQ(problems.size(), i + 1);
    EXPECT_EQ(problems.back().position, entry.position.value);
  }
}

TEST_P(SeededSegmentStreamTest, ReadersAtOnceSeeTheSameBytes) {
  const RandomLog log = tests::make_random_log(random_, 300);
  write(log.bytes);
  auto stream = make_stream();
  const std::string whole = all_lines(log);
  std::vector<std::thread> readers;
  std::atomic<int> wrong = 0;
  for (unsigned t = 0; t < 4; ++t) {
    readers.emplace_back([&, t, seed = random_()] {
      std::mt19937_64 random(seed);
      auto state = stream->measure(piece_now());
      if (!state || state->size_bytes != static_cast<std::int64_t>(whole.size())) ++wrong;
      for (unsigned i = t; i * 20'000 < whole.size();
           i += 1 + static_cast<unsigned>(random() % 4)) {
        std::string out;
        auto done = stream->read(piece_now(), 0, i * 20'000, 20'000, out);
        if (!done || out != whole.substr(i * 20'000, 20'000)) ++wrong;
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(resources_.scanned_bytes.load(), log.bytes.size());
}

std::string batch_of(Offset base, int records, const std::string& value, storage::Codec codec) {
  storage::BatchBuilder::Options options;
  options.base_offset = base;
  options.codec = codec;
  storage::BatchBuilder builder(options);
  for (int i = 0; i < records; ++i) builder.add(storage::TimestampMs{1}, std::nullopt, value);
  return builder.build();
}

TEST_F(SegmentStreamTest, BigCompressedBatchIsDecodedOnceForManyReads) {
  std::string bytes;
  for (int i = 0; i < 3; ++i)
    bytes += batch_of(Offset{i * 20'000}, 20'000, std::string(100, 'v'), storage::Codec::kZstd);
  write(bytes);
  auto stream = make_stream();
  const std::int64_t size = measured(*stream);
  ASSERT_GT(size, 6'000'000);
  for (std::int64_t position = 0; position < size; position += 64 << 10)
    read(*stream, position, 64 << 10);
  EXPECT_EQ(resources_.batches_decoded.load(), 3U);
}

TEST_F(SegmentStreamTest, BatchThatOutweighsTheBudgetIsDecodedOnceAllTheSame) {
  std::string bytes = batch_of(Offset{0}, 200'000, std::string(100, 'v'), storage::Codec::kZstd);
  write(bytes);
  auto stream = make_stream();
  const std::int64_t size = measured(*stream);
  ASSERT_GT(size, 20'000'000);
  for (std::int64_t position = 0; position < size; position += 128 << 10)
    read(*stream, position, 128 << 10);
  EXPECT_EQ(resources_.batches_decoded.load(), 1U);
}

TEST_F(SegmentStreamTest, ABigRecordIsLookedAtOnceForManyReads) {
  write(batch_of(Offset{0}, 1, std::string(4 << 20, 'v'), storage::Codec::kNone));
  int sizes = 0;
  SegmentStream stream(
      std::make_shared<RecordLines>(std::make_unique<BracketRenderer>(&sizes), RecordFilter{}),
      resources_);
  const std::int64_t size = measured(stream);
  sizes = 0;
  std::string all;
  while (static_cast<std::int64_t>(all.size()) < size)
    all += read(stream, static_cast<std::int64_t>(all.size()), 128 << 10);
  EXPECT_EQ(all.size(), static_cast<std::size_t>(size));
  EXPECT_EQ(sizes, 1);
}

TEST_F(SegmentStreamTest, TornAndZeroTailsAreTheEnd) {
  living_ = true;
  const std::string good = batch_of(Offset{0}, 3, "abc", storage::Codec::kNone);
  const std::string next = batch_of(Offset{3}, 3, "def", storage::Codec::kNone);
  for (const std::string& tail :
       {next.substr(0, 10), next.substr(0, next.size() - 1), std::string(5000, '\0')}) {
    write(good + tail);
    auto stream = make_stream();
    auto state = stream->measure(piece_now());
    ASSERT_TRUE(state);
    EXPECT_FALSE(state->damaged);
    EXPECT_EQ(read(*stream, 0, 1000), "offset[key][value]\n0[~][abc]\n1[~][abc]\n2[~][abc]\n");
    EXPECT_EQ(read(*stream, state->size_bytes, 1000), "");
    write(good + next);
    EXPECT_EQ(measured(*stream), state->size_bytes + 30);
  }
  EXPECT_EQ(problems_.count(), 0U);
}

TEST_F(SegmentStreamTest, LastReadOfABigStreamTouchesOnlyItsEnd) {
  std::string bytes;
  for (int i = 0; i < 600; ++i)
    bytes += batch_of(Offset{i * 100}, 100, std::string(150, 'v'), storage::Codec::kNone);
  write(bytes);
  auto stream = make_stream();
  const std::int64_t size = measured(*stream);
  const auto before = resources_.batches_decoded.load();
  EXPECT_EQ(read(*stream, size - 100, 100).size(), 100U);
  EXPECT_LE(resources_.batches_decoded.load() - before, 10U);
}

// A file whose reads wait until they may go on.
class GatedFile final : public storage::File {
 public:
  explicit GatedFile(const storage::File& file) : File(file.name()), file_(file) {}
  storage::Result<std::size_t> read_at(Position position, std::span<char> buffer) const override {
    ++reads;
    reads.notify_all();
    open.wait(false);
    return file_.read_at(position, buffer);
  }
  storage::Result<void> read_many(std::span<Read>) const override { return {}; }
  storage::Result<storage::FileInfo> info() const override { return file_.info(); }

  mutable std::atomic<int> reads = 0;
  std::atomic<bool> open = false;

 private:
  const storage::File& file_;
};

class InterruptedSegmentStreamTest : public SegmentStreamTest {
 protected:
  // Large enough to be measured in the pool.
  void SetUp() override {
    const std::string batch =
        batch_of(Offset{0}, 1000, std::string(900, 'v'), storage::Codec::kNone);
    for (int i = 0; i < 20; ++i) bytes_ += batch;
    write(bytes_);
    gate_ = std::make_unique<GatedFile>(*file_);
  }
  SegmentStream::PieceNow gated() {
    return [this]() -> storage::Result<StreamPiece> {
      StreamPiece piece;
      piece.file = gate_.get();
      piece.end = end_;
      return piece;
    };
  }
  void let_through() {
    gate_->open = true;
    gate_->open.notify_all();
  }
  std::string bytes_;
  std::unique_ptr<GatedFile> gate_;
};

TEST_F(InterruptedSegmentStreamTest, TheOneWhoIsInterruptedGivesUpAndTheOthersGetTheirSize) {
  auto stream = make_stream();
  std::stop_source first, second;
  std::optional<storage::Result<SegmentStream::State>> first_result, second_result;
  std::thread one([&] { first_result = stream->measure(gated(), first.get_token()); });
  gate_->reads.wait(0);
  std::thread two([&] { second_result = stream->measure(gated(), second.get_token()); });
  first.request_stop();
  one.join();
  ASSERT_FALSE(*first_result);
  EXPECT_EQ(first_result->error().sys_errno, EINTR);
  let_through();
  two.join();
  ASSERT_TRUE(*second_result) << second_result->error().what;
  EXPECT_EQ((*second_result)->size_bytes, measured(*make_stream()));
}

TEST_F(InterruptedSegmentStreamTest, ScanThatNobodyWaitsForEnds) {
  auto stream = make_stream();
  std::stop_source stop;
  std::thread one([&] {
    auto result = stream->measure(gated(), stop.get_token());
    EXPECT_FALSE(result);
  });
  gate_->reads.wait(0);
  stop.request_stop();
  one.join();
  const int reads = gate_->reads;
  let_through();
  resources_.scans.stop();
  EXPECT_LE(gate_->reads, reads + 2);  // those under way
}

TEST_F(InterruptedSegmentStreamTest, StoppedPoolLetsGoOfThoseWhoWait) {
  auto stream = make_stream();
  std::thread one([&] {
    auto result = stream->measure(gated(), {});
    EXPECT_FALSE(result);
  });
  gate_->reads.wait(0);
  std::thread stopper([&] { resources_.scans.stop(); });
  one.join();
  let_through();
  stopper.join();
  EXPECT_FALSE(stream->measure(gated(), {}));
}

}  // namespace
}  // namespace offsetfs::fs
