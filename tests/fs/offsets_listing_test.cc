#include "fs/offsets_listing.h"

#include <cerrno>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fs/mount_options.h"
#include "tests/fs/one_partition.h"
#include "tests/support/log_builder.h"
#include "tests/support/temp_dir.h"

namespace offsetfs::fs {
namespace {

using storage::Errc;
using testing::ElementsAre;
using testing::IsEmpty;
using tests::keyed;
using tests::LogBuilder;
using tests::OnePartition;
using tests::TempDir;
using Names = std::vector<std::string>;

constexpr std::int64_t kNoLimit = FileSystemOptions::kListAll;

// What a reader is given: names, the cookie to go on with, and how it ended.
struct Given {
  Names names;
  std::vector<std::int64_t> sizes;  // where facts were asked for; -1 where there were none
  std::int64_t cookie = 0;
  storage::Result<void> ended;
};

Given read_some(DirectoryListing& listing, std::int64_t cookie, std::size_t most,
                bool with_facts = false) {
  Given given;
  given.cookie = cookie;
  given.ended = listing.list(cookie, with_facts, [&](const ListedName& name) {
    if (given.names.size() == most) return false;
    given.names.emplace_back(name.name);
    given.sizes.push_back(name.facts != nullptr ? name.facts->size_bytes : -1);
    given.cookie = name.cookie;
    return true;
  });
  return given;
}

Given read_all(DirectoryListing& listing) { return read_some(listing, 0, SIZE_MAX); }

std::unique_ptr<OffsetsListing> list(const OnePartition& one, std::int64_t limit = kNoLimit,
                                     bool show_control = false) {
  return std::make_unique<OffsetsListing>(one.view, limit, show_control);
}

class OffsetsListingTest : public testing::Test {
 protected:
  TempDir temp_;
  const std::string dir_ = temp_ / "orders-3";
};

TEST_F(OffsetsListingTest, GivesEveryRecordOfEverySegmentInOrder) {
  LogBuilder(dir_).batch({"a", "b"}).roll().batch({"c"}).batch({"d"}).build();
  const OnePartition one(dir_);
  const Given given = read_all(*list(one));
  EXPECT_TRUE(given.ended);
  EXPECT_THAT(given.names, ElementsAre("0", "1", "2", "3"));
}

TEST_F(OffsetsListingTest, AnEmptyLogGivesNothing) {
  LogBuilder(dir_).build();
  const OnePartition one(dir_);
  EXPECT_THAT(read_all(*list(one)).names, IsEmpty());
}

TEST_F(OffsetsListingTest, LeavesOutGapsAndMarkersUnlessToldToShowThem) {
  LogBuilder(dir_)
      .batch({keyed("k", "a").at_offset(0), keyed("l", "b").at_offset(7)})
      .producer(5)
      .transactional_batch({"c"})
      .commit(5)
      .emptied_batch(3)
      .batch({"d"})
      .build();
  const OnePartition one(dir_);
  EXPECT_THAT(read_all(*list(one)).names, ElementsAre("0", "7", "8", "13"));
  EXPECT_THAT(read_all(*list(one, kNoLimit, true)).names, ElementsAre("0", "7", "8", "9", "13"));
}

TEST_F(OffsetsListingTest, KnowsTheMessagesInsideLegacyWrappers) {
  LogBuilder(dir_)
      .legacy_batch(0, {"a", "b"})
      .codec(storage::Codec::kGzip)
      .legacy_batch(0, {"c", "d"})
      .legacy_batch(1, {"e", "f"})
      .build();
  const OnePartition one(dir_);
  EXPECT_THAT(read_all(*list(one)).names, ElementsAre("0", "1", "2", "3", "4", "5"));
}

TEST_F(OffsetsListingTest, GoesOnAtEveryCookieInPiecesOfEverySize) {
  LogBuilder log(dir_);
  log.batch({"a", "b", "c"}).offset(10).batch({"d"}).roll();
  log.batch({tests::TestRecord("e").at_offset(11), tests::TestRecord("f").at_offset(15)});
  log.batch({"g", "h"}).build();
  const OnePartition one(dir_);
  const Names all = read_all(*list(one)).names;
  ASSERT_EQ(all.size(), 8U);
  for (std::size_t most = 1; most <= all.size() + 1; ++most) {
    const auto listing = list(one);
    Names names;
    std::int64_t cookie = 0;
    for (;;) {
      const Given given = read_some(*listing, cookie, most);
      ASSERT_TRUE(given.ended);
      if (given.names.empty()) break;
      names.insert(names.end(), given.names.begin(), given.names.end());
      cookie = given.cookie;
    }
    EXPECT_EQ(names, all) << "pieces of " << most;
  }
}

TEST_F(OffsetsListingTest, SeekingGoesToTheFirstNameAtOrAfterAnOffset) {
  LogBuilder log(dir_);
  for (int segment = 0; segment < 5; ++segment) log.fill(10, 7, 100).roll();
  log.build();
  const OnePartition one(dir_);
  const auto listing = list(one);
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const std::int64_t cookie = std::uniform_int_distribution<std::int64_t>(1, 349)(random);
    EXPECT_THAT(read_some(*listing, cookie, 1).names, ElementsAre(std::to_string(cookie)));
  }
  EXPECT_THAT(read_some(*listing, 350, 1).names, IsEmpty());
  EXPECT_THAT(read_some(*listing, std::int64_t{1} << 59, 1).names, IsEmpty());
}

TEST_F(OffsetsListingTest, EndsWithAnErrorAfterTheLimitAndNotAtIt) {
  LogBuilder(dir_).batch({"a", "b", "c"}).build();
  const OnePartition one(dir_);
  EXPECT_TRUE(read_all(*list(one, 3)).ended);

  const Given cut = read_all(*list(one, 2));
  EXPECT_THAT(cut.names, ElementsAre("0", "1"));
  ASSERT_FALSE(cut.ended);
  EXPECT_EQ(cut.ended.error().sys_errno, EFBIG);
}

TEST_F(OffsetsListingTest, TheLimitCountsWhatTheReaderGotAndTheErrorComesAgain) {
  LogBuilder(dir_).fill(10, 10, 10).build();
  const OnePartition one(dir_);
  const auto listing = list(one, 50);
  Given given = read_some(*listing, 0, 30);
  // Of these the reader took 20, and asks for the rest again.
  given = read_some(*listing, 20, 25);
  EXPECT_THAT(given.names.back(), "44");
  given = read_some(*listing, given.cookie, SIZE_MAX);
  EXPECT_EQ(given.names.size(), 5U);
  EXPECT_FALSE(given.ended);
  given = read_some(*listing, given.cookie, SIZE_MAX);
  EXPECT_THAT(given.names, IsEmpty());
  EXPECT_EQ(given.ended.error().sys_errno, EFBIG);
  // From the front it counts anew.
  EXPECT_EQ(read_some(*listing, 0, SIZE_MAX).names.size(), 50U);
}

TEST_F(OffsetsListingTest, MeetsWhatIsAppendedWhileItRuns) {
  LogBuilder log(dir_);
  log.batch({"a", "b"}).build();
  const OnePartition one(dir_);
  const auto listing = list(one);
  Given given = read_some(*listing, 0, SIZE_MAX);
  log.batch({"c"}).roll().batch({"d"}).build();
  one.view->log->refresh();
  EXPECT_THAT(read_some(*listing, given.cookie, SIZE_MAX).names, ElementsAre("2", "3"));
}

TEST_F(OffsetsListingTest, NoSurvivorIsLostOrDoubledWhenSegmentsAreDeleted) {
  LogBuilder log(dir_);
  for (int segment = 0; segment < 5; ++segment) log.fill(10, 10, 100).roll();
  log.build();
  const OnePartition one(dir_);
  const auto listing = list(one);
  Given given = read_some(*listing, 0, 50);
  for (const auto& file : std::filesystem::directory_iterator(dir_)) {
    const std::string name = file.path().filename();
    if (name < "00000000000000000300.") std::filesystem::remove(file.path());
  }
  one.view->log->refresh();
  given = read_some(*listing, given.cookie, SIZE_MAX);
  ASSERT_TRUE(given.ended);
  EXPECT_EQ(given.names.front(), "300");
  EXPECT_EQ(given.names.back(), "499");
  EXPECT_EQ(given.names.size(), 200U);
}

TEST_F(OffsetsListingTest, DamageIsPassedOverAndSaidBehindTheLastName) {
  LogBuilder log(dir_);
  log.batch({"a", "b"}).batch({"c", "d"});
  const std::int64_t damaged = log.positions().back();
  log.batch({"e", "f"}).build();
  tests::flip_byte_of_file(log.log_path(), damaged + 16);  // its magic: no header any more
  const OnePartition one(dir_);
  const Given given = read_all(*list(one));
  EXPECT_THAT(given.names, ElementsAre("0", "1", "4", "5"));
  ASSERT_FALSE(given.ended);
  EXPECT_EQ(given.ended.error().code, Errc::kCorrupt);
}

TEST_F(OffsetsListingTest, FactsComeWithTheNamesWhereTheyAreAskedFor) {
  LogBuilder(dir_)
      .batch({"a", "bc", tests::tombstone("k")})
      .batch({"def", "g"})
      .flip_byte(-1)  // its CRC is wrong now
      .batch({"hijk"})
      .build();
  const OnePartition one(dir_);
  const auto listing = list(one);
  EXPECT_THAT(read_some(*listing, 0, 2, true).sizes, ElementsAre(1, 2));
  const Given rest = read_some(*listing, 2, SIZE_MAX, true);
  EXPECT_THAT(rest.names, ElementsAre("2", "3", "4", "5"));
  EXPECT_THAT(rest.sizes, ElementsAre(0, -1, -1, 4));
}

}  // namespace
}  // namespace offsetfs::fs
