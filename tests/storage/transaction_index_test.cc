#include "storage/transaction_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/byte_reader.h"
#include "tests/support/memory_file.h"

namespace offsetfs::storage {
namespace {

using testing::HasSubstr;
using tests::MemoryFile;

// A real one: producer 1000, first offset 0, marker 3, last stable offset 2.
const std::string kEntry(
    "\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x03\xe8"
    "\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x03"
    "\x00\x00\x00\x00\x00\x00\x00\x02",
    34);

TransactionIndex index_of(std::string bytes, Offset base_offset = Offset{0}) {
  return TransactionIndex(std::make_unique<MemoryFile>(std::move(bytes)), base_offset);
}

TEST(TransactionIndexTest, TheSampleEntryIsDecoded) {
  const AbortedTransaction expected{1000, Offset{0}, Offset{3}, Offset{2}};
  EXPECT_EQ(index_of(kEntry).entries().value(), std::vector{expected});
  EXPECT_EQ(index_of(kEntry + kEntry).entries().value(), (std::vector{expected, expected}));
  EXPECT_TRUE(index_of("").entries().value().empty());
}

TEST(TransactionIndexTest, AnEntryCutShortIsTheEnd) {
  for (std::size_t size = 0; size < kEntry.size(); ++size) {
    EXPECT_EQ(index_of(kEntry + kEntry.substr(0, size)).entries().value().size(), 1);
  }
}

TEST(TransactionIndexTest, ManyEntriesAreReadPieceByPiece) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) {
    auto entry = kEntry;
    store_big_endian(entry.data() + 2, std::int64_t{i});
    bytes += entry;
  }
  const auto index = index_of(bytes);
  const auto entries = index.entries().value();
  ASSERT_EQ(entries.size(), 1000);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(entries[i].producer_id, i);
  int seen = 0;
  ASSERT_TRUE(index.for_each([&](const auto&) { return ++seen < 500; }));
  EXPECT_EQ(seen, 500);
}

TEST(TransactionIndexTest, AnUnknownVersionAndAMarkerBelowTheSegmentAreTold) {
  auto newer = kEntry;
  newer[1] = 1;
  const auto unsupported = index_of(kEntry + newer).entries();
  ASSERT_FALSE(unsupported);
  EXPECT_EQ(unsupported.error().code, Errc::kUnsupported);
  EXPECT_THAT(unsupported.error().what, HasSubstr("entry at 34: version 1"));

  const auto below = index_of(kEntry, Offset{4}).entries();
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().code, Errc::kCorrupt);
  EXPECT_TRUE(index_of(kEntry, Offset{3}).entries());
}

}  // namespace
}  // namespace offsetfs::storage
