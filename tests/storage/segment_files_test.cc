#include "storage/segment_files.h"

#include <limits>

#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

TEST(SegmentFileNames, EveryKindWithEverySuffixIsReadBackAsItWasWritten) {
  for (const std::int64_t base :
       {0LL, 1LL, 41LL, 1234567890123LL,
        static_cast<long long>(std::numeric_limits<std::int64_t>::max())}) {
    for (int file = 0; file < 5; ++file) {
      for (int suffix = 0; suffix < 4; ++suffix) {
        const SegmentFileName name{Offset{base}, static_cast<SegmentFile>(file),
                                   static_cast<SegmentSuffix>(suffix)};
        const auto parsed = parse_segment_file(segment_file_name(name));
        ASSERT_TRUE(parsed) << segment_file_name(name);
        EXPECT_EQ(parsed->base_offset, name.base_offset);
        EXPECT_EQ(parsed->file, name.file);
        EXPECT_EQ(parsed->suffix, name.suffix);
      }
    }
  }
}

TEST(SegmentFileNames, AreKafkasOwn) {
  EXPECT_EQ(segment_file_name({Offset{368769}, SegmentFile::kTimeIndex, SegmentSuffix::kNone}),
            "00000000000000368769.timeindex");
  EXPECT_EQ(segment_file_name({Offset{0}, SegmentFile::kProducerSnapshot, SegmentSuffix::kDeleted}),
            "00000000000000000000.snapshot.deleted");
  EXPECT_EQ(segment_base_name(Offset{7}), "00000000000000000007");
}

TEST(SegmentFileNames, StrangersAreNone) {
  for (const char* name : {
           "",
           ".",
           "..",
           "notes.txt",
           "leader-epoch-checkpoint",
           "partition.metadata",
           "00000000000000000000",
           "00000000000000000000.",
           "00000000000000000000.logs",
           "00000000000000000000.log.tmp",
           "00000000000000000000.log.deleted.swap",
           "00000000000000000000log",
           "0000000000000000000.log",
           "000000000000000000000.log",
           "0000000000000000000x.log",
           "-0000000000000000001.log",
           "+0000000000000000001.log",
           " 0000000000000000001.log",
           "99999999999999999999.log",
           "09223372036854775808.log",
           "00000000000000000000-0000000001.checkpoint",
           "00000000000000000000.LOG",
       }) {
    EXPECT_FALSE(parse_segment_file(name)) << name;
  }
  EXPECT_FALSE(parse_segment_file(std::string_view("00000000000000000000.log\0", 25)));
}

}  // namespace
}  // namespace offsetfs::storage
