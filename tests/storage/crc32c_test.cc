#include "storage/crc32c.h"

#include <string>

#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

TEST(Crc32cTest, TheStandardCheckStringGivesTheStandardSums) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32("123456789"), 0xCBF43926U);
}

TEST(Crc32cTest, NothingSumsToZero) {
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32(""), 0U);
}

TEST(Crc32cTest, PiecesGiveTheSumOfTheWhole) {
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes.push_back(static_cast<char>(i * 7 + i / 13));
  for (std::size_t cut = 0; cut <= bytes.size(); cut += 31)
    EXPECT_EQ(crc32c_extend(crc32c(Bytes(bytes).substr(0, cut)), Bytes(bytes).substr(cut)),
              crc32c(bytes));
}

}  // namespace
}  // namespace offsetfs::storage
