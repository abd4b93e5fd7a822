#include "storage/uuid.h"

#include <random>

#include <gtest/gtest.h>

namespace offsetfs::storage {
namespace {

TEST(UuidTest, KafkasReservedIds) {
  EXPECT_EQ(Uuid{}.to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
  Uuid one;
  one.bytes[15] = 1;
  EXPECT_EQ(one.to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
  EXPECT_EQ(parse_uuid("AAAAAAAAAAAAAAAAAAAAAQ"), one);
  EXPECT_EQ(parse_uuid("AAAAAAAAAAAAAAAAAAAAAQ=="), one);
  EXPECT_TRUE(Uuid{}.is_zero());
  EXPECT_FALSE(one.is_zero());
}

TEST(UuidTest, EveryIdIsReadBack) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 1000; ++i) {
    Uuid uuid;
    for (auto& byte : uuid.bytes) byte = static_cast<std::uint8_t>(random());
    const auto text = uuid.to_string();
    EXPECT_EQ(text.size(), 22);
    EXPECT_EQ(parse_uuid(text), uuid) << text;
  }
}

TEST(UuidTest, OtherTextIsNone) {
  for (const char* text :
       {"", "AAAA", "AAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAA+A",
        "AAAAAAAAAAAAAAAAAAAA/A", "AAAAAAAAAAAAAAAAAAAA==", "AAAAAAAAAAAAAAAAAAAAAQ=",
        "00000000-0000-0000-0000-000000000001"}) {
    EXPECT_FALSE(parse_uuid(text)) << text;
  }
}

}  // namespace
}  // namespace offsetfs::storage
