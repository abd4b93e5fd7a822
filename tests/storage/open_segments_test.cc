#include "storage/open_segments.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "storage/dir.h"
#include "tests/support/log_builder.h"
#include "tests/support/open_logs.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_backend.h"

namespace offsetfs::tests {
namespace {

using storage::Offset;
using storage::OpenSegments;
using storage::Segment;

class OpenSegmentsTest : public testing::Test {
 protected:
  OpenSegmentsTest() {
    LogBuilder builder(temp_.path());
    for (int i = 0; i < 5; ++i) builder.batch({"a"}).roll();
    builder.build();
    dir_ = storage::SourceDir::open(temp_.path(), test_backend()).value();
  }

  std::shared_ptr<const Segment> get(OpenSegments& segments, std::int64_t base_offset) {
    return segments
        .get({1, Offset{base_offset}},
             [&] {
               ++opened_;
               storage::SegmentEntry entry;
               entry.base_offset = Offset{base_offset};
               return Segment::open(dir_, "", entry);
             })
        .value();
  }

  TempDir temp_;
  std::shared_ptr<const storage::SourceDir> dir_;
  int opened_ = 0;
};

TEST_F(OpenSegmentsTest, AtMostSoManyStayOpenAndTheLatestUsedAreThose) {
  OpenSegments segments(2);
  get(segments, 0);
  get(segments, 1);
  get(segments, 0);
  get(segments, 2);
  EXPECT_EQ(segments.open(), 2U);
  EXPECT_EQ(opened_, 3);
  get(segments, 0);
  EXPECT_EQ(opened_, 3);
  get(segments, 1);
  EXPECT_EQ(opened_, 4);
}

TEST_F(OpenSegmentsTest, ASegmentInUseOutlivesItsPlace) {
  OpenSegments segments(1);
  const auto first = get(segments, 0);
  get(segments, 1);
  std::filesystem::remove(temp_ / "00000000000000000000.log");
  EXPECT_EQ(first->find_batch(Offset{0}, storage::Position{first->opened_info().size_bytes})
                ->header.last_offset,
            Offset{0});
}

TEST_F(OpenSegmentsTest, WhatIsForgottenIsOpenedAgain) {
  OpenSegments segments(8);
  get(segments, 0);
  get(segments, 1);
  segments.forget({1, Offset{0}});
  get(segments, 0);
  EXPECT_EQ(opened_, 3);
  segments.forget_owner(1);
  EXPECT_EQ(segments.open(), 0U);
}

// The limit is the process's: a child of its own has it.
TEST(OpenFilesTest, TwoHundredDescriptorsDoForThreeHundredPartitions) {
  const TempDir temp;
  for (int i = 0; i < 300; ++i) {
    LogBuilder(temp / ("p-" + std::to_string(i))).batch({"a"}).roll().batch({"b"}).build();
  }
  const auto read_all = [&] {
    const rlimit limit{200, 200};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) std::_Exit(2);
    storage::LogDir::Options options;
    options.descriptors = 200;
    const auto source = open_source({temp.path()}, options);
    std::vector<std::shared_ptr<const storage::PartitionLog>> logs;  // all in use at once
    for (const auto partitions = source->partitions(); const auto& partition : *partitions) {
      logs.push_back(source->open(partition.id).value());
      for (const std::int64_t offset : {1, 0}) {
        const auto found = logs.back()->find(Offset{offset});
        if (!found || found->record.value != (offset == 0 ? "a" : "b")) std::_Exit(1);
      }
    }
    std::_Exit(logs.size() == 300 ? 0 : 3);
  };
  EXPECT_EXIT(read_all(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace offsetfs::tests
