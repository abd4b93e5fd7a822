#include "fs/attributes.h"

#include <ostream>

#include <gtest/gtest.h>

namespace offsetfs::fs {

static void PrintTo(const Access& access, std::ostream* out) {
  *out << std::oct << access.mode << std::dec << " " << access.uid << ":" << access.gid;
}

namespace {

TEST(AttributesTest, AViewHasNoWriteBitsAndOnlyDirectoriesAreSearched) {
  storage::FileInfo info;
  info.mode = S_IFREG | 04775;
  info.uid = 7;
  info.gid = 8;
  EXPECT_EQ(file_access(info), (Access{0444, 7, 8}));
  EXPECT_EQ(directory_access(info), (Access{0555, 7, 8}));
}

TEST(AttributesTest, OfTwoFilesOfOneOwnerTheNarrowerModeHolds) {
  EXPECT_EQ(narrowest({0444, 1, 2}, {0440, 1, 2}), (Access{0440, 1, 2}));
  EXPECT_EQ(narrowest({0440, 1, 2}, {0404, 1, 2}), (Access{0400, 1, 2}));
}

TEST(AttributesTest, FilesOfTwoGroupsAreForWhomOthersMay) {
  EXPECT_EQ(narrowest({0440, 1, 2}, {0440, 1, 3}), (Access{0400, 1, 0}));
  EXPECT_EQ(narrowest({0444, 1, 2}, {0444, 1, 3}), (Access{0444, 1, 0}));
}

// Every user that may read the view may read each of its files: for all modes, owners and groups.
bool may_read(const Access& access, uid_t uid, gid_t gid) {
  if (access.uid == uid) return (access.mode & 0400) != 0;
  if (access.gid == gid) return (access.mode & 0040) != 0;
  return (access.mode & 0004) != 0;
}

TEST(AttributesTest, NobodyGainsByAViewOfTwoFiles) {
  for (mode_t a_bits = 0; a_bits < 8; ++a_bits) {
    for (mode_t b_bits = 0; b_bits < 8; ++b_bits) {
      for (int owners = 0; owners < 4; ++owners) {
        const auto mode = [](mode_t bits) {
          return static_cast<mode_t>((bits & 4) << 6 | (bits & 2) << 4 | (bits & 1) << 2);
        };
        const Access a{mode(a_bits), 1, 11};
        const Access b{mode(b_bits), (owners & 1) != 0 ? 2U : 1U, (owners & 2) != 0 ? 12U : 11U};
        const Access both = narrowest(a, b);
        EXPECT_EQ(both, narrowest(b, a).mode == both.mode ? both : Access{}) << "not symmetric";
        for (const uid_t uid : {1U, 2U, 3U}) {
          for (const gid_t gid : {0U, 11U, 12U, 13U}) {
            if (!may_read(both, uid, gid)) continue;
            EXPECT_TRUE(may_read(a, uid, gid) && may_read(b, uid, gid))
                << std::oct << a.mode << " and " << b.mode << std::dec << " by " << uid << ":"
                << gid;
          }
        }
      }
    }
  }
}

TEST(AttributesTest, BlocksAreRoundedUpAndTimesKeepTheirFraction) {
  const struct stat st =
      make_stat(9, S_IFREG, {0440, 1, 2}, 513, to_timespec(storage::TimestampMs{1'500}));
  EXPECT_EQ(st.st_ino, 9U);
  EXPECT_EQ(st.st_mode, static_cast<mode_t>(S_IFREG | 0440));
  EXPECT_EQ(st.st_nlink, 1U);
  EXPECT_EQ(st.st_blocks, 2);
  EXPECT_EQ(st.st_mtim.tv_sec, 1);
  EXPECT_EQ(st.st_mtim.tv_nsec, 500'000'000);
  EXPECT_EQ(make_stat(9, S_IFDIR, {}, 0, {}).st_nlink, 2U);
}

TEST(AttributesTest, ATimeBefore1970IsWholeSecondsAndAFractionForwards) {
  EXPECT_EQ(to_timespec(storage::TimestampMs{-1}).tv_sec, -1);
  EXPECT_EQ(to_timespec(storage::TimestampMs{-1}).tv_nsec, 999'000'000);
  EXPECT_EQ(ns_to_timespec(-1).tv_nsec, 999'999'999);
  EXPECT_EQ(to_timespec(storage::TimestampMs{-1000}).tv_sec, -1);
  EXPECT_EQ(to_timespec(storage::TimestampMs{-1000}).tv_nsec, 0);
}

TEST(AttributesTest, ATimestampThatNoNanosecondsCanHoldKeepsItsSecond) {
  EXPECT_EQ(to_timespec(storage::TimestampMs{INT64_MAX}).tv_sec, INT64_MAX / 1000);
}

}  // namespace
}  // namespace offsetfs::fs
