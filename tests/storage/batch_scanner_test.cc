#include "storage/batch_scanner.h"

#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/byte_reader.h"
#include "tests/support/golden_batches.h"
#include "tests/support/memory_file.h"

namespace offsetfs::storage {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using Step = BatchScanner::Step;
using tests::MemoryFile;

std::string joined(const std::vector<std::string>& entries) {
  return std::accumulate(entries.begin(), entries.end(), std::string());
}

BatchScanner::Options sealed() {
  BatchScanner::Options options;
  options.tail_may_be_torn = false;
  return options;
}

// How a walk went: the entries it gave, and how it ended.
struct Walk {
  std::vector<std::string> entries;
  Step end = Step::kEnd;
  Position position{};
  Error error;
  Position damage_end{};
};

Walk walk(const MemoryFile& file, BatchScanner::Options options = {}) {
  BatchScanner scanner(file, {0}, file.end(), options);
  Walk walk;
  while ((walk.end = scanner.next()) == Step::kBatch)
    walk.entries.emplace_back(scanner.batch().entry);
  walk.position = scanner.position();
  walk.error = scanner.error();
  walk.damage_end = scanner.damage_end();
  EXPECT_EQ(scanner.next(), walk.end) << "an end that is asked again is the same";
  return walk;
}

TEST(BatchScannerTest, EntriesOfAnyMagicAreGivenInFileOrderWhateverThePieces) {
  const std::vector<std::string> entries = tests::golden_batches();
  for (const std::size_t piece_bytes : {1, 61, 100, 150, 4096}) {
    BatchScanner::Options options = sealed();
    options.piece_bytes = piece_bytes;
    const Walk all = walk(MemoryFile(joined(entries)), options);
    EXPECT_THAT(all.entries, ElementsAreArray(entries));
    EXPECT_EQ(all.end, Step::kEnd);
  }
}

TEST(BatchScannerTest, EachByteIsReadOnce) {
  const MemoryFile file(joined(tests::golden_batches()));
  for (const std::size_t piece_bytes : {100, 128, 4096}) {
    const std::int64_t before = file.bytes_read();
    BatchScanner::Options options;
    options.piece_bytes = piece_bytes;
    EXPECT_EQ(walk(file, options).end, Step::kEnd);
    EXPECT_EQ(file.bytes_read() - before, file.end().value);
  }
}

TEST(BatchScannerTest, HeadersAloneLeapOverTheBodies) {
  // Ten batches of 64 KiB, of which the headers alone are asked.
  std::string body = tests::golden_two_records();
  body.resize(64 << 10, 'x');
  store_big_endian(body.data() + 8, static_cast<std::int32_t>(body.size() - 12));
  const MemoryFile file(joined(std::vector<std::string>(10, body)));
  BatchScanner::Options options;
  options.headers_only = true;
  const Walk all = walk(file, options);
  EXPECT_EQ(all.end, Step::kEnd);
  EXPECT_THAT(all.entries, ElementsAreArray(std::vector<std::string>(10)));
  EXPECT_LE(file.bytes_read(), 10 * 512);
}

TEST(BatchScannerTest, HeadersOfSmallBatchesAreReadThroughInGrowingPieces) {
  const MemoryFile file(joined(std::vector<std::string>(5000, tests::golden_two_records())));
  BatchScanner::Options options;
  options.headers_only = true;
  EXPECT_EQ(walk(file, options).entries.size(), 5000U);
  EXPECT_LE(file.reads(), 7);
}

TEST(BatchScannerTest, AnAppendCutShortIsATornTailOfALivingFileAndDamageInASealedOne) {
  const std::string whole = tests::golden_two_records() + tests::golden_commit_marker();
  // From the first byte of the marker's offset that isn't 0 on: before it there are only zeros.
  for (std::size_t size = 81 + 8; size < whole.size(); ++size) {
    const MemoryFile file(whole.substr(0, size));
    const Walk living = walk(file);
    EXPECT_EQ(living.end, Step::kTornTail) << size;
    EXPECT_EQ(living.entries.size(), 1U);
    EXPECT_EQ(living.position, Position{81});

    const Walk dead = walk(file, sealed());
    EXPECT_EQ(dead.end, Step::kDamaged) << size;
    EXPECT_EQ(dead.error.code, Errc::kCorrupt);
    EXPECT_THAT(dead.error.what, HasSubstr("memory.log: at position 81"));
    EXPECT_EQ(dead.damage_end, Position{-1});
  }
}

TEST(BatchScannerTest, ZerosUpToTheEndAreSpaceThatWasNeverWritten) {
  for (const std::size_t zeros : {1, 16, 17, 61, 5000}) {
    const MemoryFile file(tests::golden_two_records() + std::string(zeros, '\0'));
    EXPECT_EQ(walk(file).end, Step::kTornTail) << zeros;
    EXPECT_EQ(walk(file, sealed()).end, Step::kTornTail) << zeros;
    EXPECT_EQ(walk(file).position, Position{81});
  }
}

TEST(BatchScannerTest, DataBehindZerosMakesThemDamage) {
  const MemoryFile file(tests::golden_two_records() + std::string(5000, '\0') +
                        tests::golden_commit_marker());
  for (const auto& options : {BatchScanner::Options{}, sealed()}) {
    const Walk all = walk(file, options);
    EXPECT_EQ(all.end, Step::kDamaged);
    EXPECT_EQ(all.error.code, Errc::kCorrupt);
    EXPECT_THAT(all.error.what, HasSubstr("at position 81: zeros"));
  }
}

TEST(BatchScannerTest, ABadSumAtTheVeryEndOfALivingFileIsABatchBeingWritten) {
  std::string content = tests::golden_two_records() + tests::golden_commit_marker();
  content.back() ^= 1;
  EXPECT_EQ(walk(MemoryFile(content)).end, Step::kTornTail);
  EXPECT_EQ(walk(MemoryFile(content + std::string(900, '\0'))).end, Step::kTornTail)
      << "the end of a preallocated file is where the zeros begin";

  const Walk dead = walk(MemoryFile(content), sealed());
  EXPECT_EQ(dead.end, Step::kDamaged);
  EXPECT_THAT(dead.error.what, HasSubstr("at position 81: CRC stored 0x1fb1fa28, computed 0x"));
  EXPECT_EQ(dead.damage_end, Position{81 + 78});
}

TEST(BatchScannerTest, ABadSumInTheMiddleCostsItsBatchAndTheWalkGoesOnBehindIt) {
  std::vector<std::string> entries = tests::golden_batches();
  const MemoryFile good(joined(entries));
  entries[1].back() ^= 1;
  const MemoryFile file(joined(entries));
  BatchScanner scanner(file, {0}, file.end());
  EXPECT_EQ(scanner.next(), Step::kBatch);
  EXPECT_EQ(scanner.next(), Step::kDamaged);
  EXPECT_EQ(scanner.error().code, Errc::kCorrupt);
  ASSERT_EQ(scanner.damage_end(), Position{81 + 78});
  scanner.resume_at(scanner.damage_end());
  for (std::size_t i = 2; i < entries.size(); ++i) {
    ASSERT_EQ(scanner.next(), Step::kBatch);
    EXPECT_EQ(scanner.batch().entry, entries[i]);
  }
  EXPECT_EQ(scanner.next(), Step::kEnd);
}

TEST(BatchScannerTest, WhereTheLengthIsTheDamageNobodyKnowsHowFarItReaches) {
  std::string content = joined(tests::golden_batches());
  store_big_endian<std::int32_t>(content.data() + 81 + 8, 66 + 5);
  const Walk all = walk(MemoryFile(content));
  EXPECT_EQ(all.end, Step::kDamaged);
  EXPECT_EQ(all.position, Position{81});
  EXPECT_EQ(all.damage_end, Position{-1});
}

TEST(BatchScannerTest, AFormatOfTheFutureIsUnsupportedAndNeverATornTail) {
  for (const int magic : {3, 127, -1, -128}) {
    std::string content = tests::golden_two_records() + tests::golden_commit_marker();
    content[81 + 16] = static_cast<char>(magic);
    for (const auto& options : {BatchScanner::Options{}, sealed()}) {
      const Walk all = walk(MemoryFile(content), options);
      EXPECT_EQ(all.end, Step::kDamaged);
      EXPECT_EQ(all.error.code, Errc::kUnsupported);
      EXPECT_THAT(all.error.what, HasSubstr("magic " + std::to_string(magic)));
    }
  }
}

TEST(BatchScannerTest, ASizeOfTwoGigabytesAllocatesNothing) {
  std::string content = tests::golden_two_records();
  store_big_endian(content.data() + 8, std::numeric_limits<std::int32_t>::max());
  const MemoryFile file(content + tests::golden_two_records());
  EXPECT_EQ(walk(file).end, Step::kTornTail);
  EXPECT_EQ(walk(file, sealed()).end, Step::kDamaged);
  EXPECT_LE(file.bytes_read(), 4 * file.end().value);
}

TEST(BatchScannerTest, ABatchBeyondTheLimitIsLeftAloneAndTheWalkGoesOnBehindIt) {
  const MemoryFile file(tests::golden_two_records() + tests::golden_commit_marker());
  BatchScanner::Options options;
  options.max_batch_bytes = 80;
  BatchScanner scanner(file, {0}, file.end(), options);
  EXPECT_EQ(scanner.next(), Step::kDamaged);
  EXPECT_EQ(scanner.error().code, Errc::kTooLarge);
  ASSERT_EQ(scanner.damage_end(), Position{81});
  scanner.resume_at(scanner.damage_end());
  EXPECT_EQ(scanner.next(), Step::kBatch);
  EXPECT_EQ(scanner.next(), Step::kEnd);
}

TEST(BatchScannerTest, AReadThatFailsIsNoDamageAndCanBeTriedAgain) {
  MemoryFile file(joined(tests::golden_batches()));
  file.fail_at(100);
  BatchScanner::Options options;
  options.piece_bytes = 90;
  BatchScanner scanner(file, {0}, file.end(), options);
  EXPECT_EQ(scanner.next(), Step::kBatch);
  EXPECT_EQ(scanner.next(), Step::kIo);
  EXPECT_EQ(scanner.error().sys_errno, EIO);
  EXPECT_EQ(scanner.position(), Position{81});
  file.fail_at(-1);
  EXPECT_EQ(scanner.next(), Step::kBatch);
  EXPECT_EQ(scanner.batch().entry, tests::golden_commit_marker());
}

TEST(BatchScannerTest, AFileCutDownBehindOurBackEndsTheWalk) {
  MemoryFile file(joined(tests::golden_batches()));
  BatchScanner::Options options;
  options.piece_bytes = 90;
  BatchScanner scanner(file, {0}, file.end(), options);
  EXPECT_EQ(scanner.next(), Step::kBatch);
  file.content().resize(100);
  EXPECT_EQ(scanner.next(), Step::kTornTail);
  EXPECT_EQ(scanner.position(), Position{81});
}

TEST(BatchScannerTest, TheWalkKeepsToItsRange) {
  const MemoryFile file(joined(tests::golden_batches()));
  BatchScanner scanner(file, {81}, {81 + 78});
  EXPECT_EQ(scanner.next(), Step::kBatch);
  EXPECT_EQ(scanner.batch().entry, tests::golden_commit_marker());
  EXPECT_EQ(scanner.batch().position, Position{81});
  EXPECT_EQ(scanner.next(), Step::kEnd);
  EXPECT_EQ(file.bytes_read(), 78);
}

// Whatever one byte becomes, what is still given is what was written, but for the bytes of a header
// that the format itself leaves outside its sum (offset, leader epoch).
TEST(BatchScannerTest, NoFlippedByteIsEverServedAsRight) {
  const std::vector<std::string> entries = tests::golden_batches();
  const std::string content = joined(entries);
  std::vector<bool> unsummed(content.size(), false);
  std::size_t begin = 0;
  for (const std::string& entry : entries) {
    for (std::size_t i = 0; i < 8; ++i) unsummed[begin + i] = true;
    for (std::size_t i = 12; entry[16] == 2 && i < 16; ++i) unsummed[begin + i] = true;
    begin += entry.size();
  }
  for (std::size_t at = 0; at < content.size(); ++at) {
    if (unsummed[at]) continue;
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string flipped = content;
      flipped[at] = static_cast<char>(flipped[at] ^ mask);
      for (const auto& options : {BatchScanner::Options{}, sealed()}) {
        const Walk all = walk(MemoryFile(flipped), options);
        ASSERT_NE(all.end, Step::kEnd) << "byte " << at;
        ASSERT_LT(all.entries.size(), entries.size());
        for (std::size_t i = 0; i < all.entries.size(); ++i)
          ASSERT_EQ(all.entries[i], entries[i]) << "byte " << at;
      }
    }
  }
}

}  // namespace
}  // namespace offsetfs::storage
