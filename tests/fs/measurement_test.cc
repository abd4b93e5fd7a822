#include "fs/measurement.h"

#include <algorithm>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "fs/record_lines.h"
#include "tests/support/memory_file.h"
#include "tests/support/random_log.h"

namespace offsetfs::fs {
namespace {

using storage::Position;

// Every line is the offset: each tells where it belongs.
class OffsetRenderer : public RecordRenderer {
 public:
  std::size_t size(const storage::Record& record) const override {
    return std::to_string(record.offset.value).size() + 1;
  }
  void append(const storage::Record& record, std::string& out) const override {
    out += std::to_string(record.offset.value) + '\n';
  }
};

class MeasurementTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  void SetUp() override {
    RecordProperty("seed", std::to_string(GetParam()));
    log_ = tests::make_random_log(random_, 200);
    for (const auto& record : log_.records) {
      if (!record.control) whole_ += std::to_string(record.offset.value) + '\n';
    }
  }

  std::shared_ptr<Measurement> make(const std::vector<Position>& boundaries) {
    file_ = std::make_unique<tests::MemoryFile>(log_.bytes);
    StreamPiece piece;
    piece.file = file_.get();
    piece.end = file_->end();
    std::vector<Stretch> stretches{{0, Position{0}, piece.end}};
    for (const Position boundary : boundaries) {
      stretches.back().end = boundary;
      stretches.push_back({0, boundary, piece.end});
    }
    points_ = std::make_shared<ResumePoints>();
    return std::make_shared<Measurement>(
        std::make_shared<SinglePiece>(piece),
        std::make_shared<RecordLines>(std::make_unique<OffsetRenderer>(), RecordFilter{}), points_,
        storage::DecodeLimits{}, stretches, 0);
  }

  // What `boundaries` any index could name: some of them batches' places, some of them lies.
  std::vector<Position> random_boundaries(bool lies) {
    std::vector<Position> boundaries;
    for (int i = 0; i < 12; ++i) {
      const auto& entry = log_.entries[random_() % log_.entries.size()];
      Position boundary = entry.position;
      if (lies && random_() % 2 == 0)
        boundary = boundary + static_cast<std::int64_t>(random_() % entry.size_bytes);
      boundaries.push_back(boundary);
    }
    std::sort(boundaries.begin(), boundaries.end());
    boundaries.erase(std::unique(boundaries.begin(), boundaries.end()), boundaries.end());
    std::erase(boundaries, Position{0});
    return boundaries;
  }

  std::mt19937_64 random_{GetParam()};
  tests::RandomLog log_;
  std::string whole_;
  std::unique_ptr<tests::MemoryFile> file_;
  std::shared_ptr<ResumePoints> points_;
};
INSTANTIATE_TEST_SUITE_P(Seeds, MeasurementTest, testing::Range<std::uint64_t>(1, 13),
                         [](const auto& seed) { return "seed" + std::to_string(seed.param); });

TEST_P(MeasurementTest, StretchesAndLiesOfTheIndexGiveWhatOneWalkGives) {
  const auto job = make(random_boundaries(/*lies=*/true));
  const auto measured = job->run({});
  ASSERT_TRUE(measured) << measured.error().what;
  EXPECT_EQ(measured->output_bytes, static_cast<std::int64_t>(whole_.size()));
  EXPECT_EQ(measured->reached, file_->end());
  EXPECT_FALSE(measured->damage);
}

TEST_P(MeasurementTest, WorkersSideBySideGiveWhatOneGives) {
  const auto job = make(random_boundaries(/*lies=*/true));
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&] {
      while (job->work()) {
      }
    });
  }
  const auto measured = job->wait({});
  for (std::thread& worker : workers) worker.join();
  ASSERT_TRUE(measured) << measured.error().what;
  EXPECT_EQ(measured->output_bytes, static_cast<std::int64_t>(whole_.size()));
}

TEST_P(MeasurementTest, DamageIsFoundWhereItIsWhateverTheStretches) {
  const std::size_t damaged = random_() % log_.entries.size();
  const auto& entry = log_.entries[damaged];
  log_.bytes[static_cast<std::size_t>(entry.position.value) + entry.size_bytes - 1] ^= 1;
  std::size_t before = 0;
  for (std::size_t i = 0; i < entry.first_record; ++i) {
    if (!log_.records[i].control) before += std::to_string(log_.records[i].offset.value).size() + 1;
  }
  const auto job = make(random_boundaries(/*lies=*/true));
  const auto measured = job->run({});
  ASSERT_TRUE(measured) << measured.error().what;
  ASSERT_TRUE(measured->damage);
  EXPECT_EQ(measured->damage->position, entry.position);
  EXPECT_EQ(measured->output_bytes, static_cast<std::int64_t>(before));
}

TEST_P(MeasurementTest, FailedReadIsAnErrorAndNoSize) {
  const auto job = make(random_boundaries(/*lies=*/false));
  file_->fail_at(static_cast<std::int64_t>(random_() % log_.bytes.size()));
  const auto measured = job->run({});
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().sys_errno, EIO);
}

}  // namespace
}  // namespace offsetfs::fs
