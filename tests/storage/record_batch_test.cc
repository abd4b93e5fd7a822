#include "storage/record_batch.h"

#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/batch_builder.h"
#include "storage/byte_reader.h"
#include "storage/codec.h"
#include "storage/crc32c.h"
#include "storage/varint.h"
#include "tests/support/golden_batches.h"
#include "tests/support/hex.h"
#include "tests/support/legacy_builder.h"

namespace offsetfs::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::nullopt_t kNull = std::nullopt;

// A record that owns its bytes, in a form that prints well when it differs.
struct Seen {
  std::int64_t offset = 0;
  std::int64_t timestamp = 0;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::string> headers;  // "key=value", "key" alone for a null value
  friend bool operator==(const Seen&, const Seen&) = default;
  friend void PrintTo(const Seen& seen, std::ostream* out) {
    *out << seen.offset << "@" << seen.timestamp << " " << seen.key.value_or("(null)") << "="
         << seen.value.value_or("(null)") << ::testing::PrintToString(seen.headers);
  }
};

Seen seen(const Record& record) {
  Seen copy{record.offset.value, record.timestamp.value, {}, {}, {}};
  if (record.key) copy.key = std::string(*record.key);
  if (record.value) copy.value = std::string(*record.value);
  for (RecordHeaders headers = record.headers; !headers.empty();) {
    const RecordHeader header = headers.pop_front();
    std::string& text = copy.headers.emplace_back(header.key);
    if (header.value) text.append("=").append(*header.value);
  }
  return copy;
}

std::shared_ptr<const DecodedBatch> decoded(const std::string& entry) {
  auto batch = DecodedBatch::decode(entry);
  if (!batch) {
    ADD_FAILURE() << batch.error().what;
    return nullptr;
  }
  return *batch;
}

std::vector<Seen> records_of(const std::string& entry) {
  const auto batch = decoded(entry);
  std::vector<Seen> records;
  if (batch == nullptr) return records;
  RecordReader reader = batch->records();
  Record record;
  RecordReader::Step step = reader.next(record);
  for (; step == RecordReader::Step::kRecord; step = reader.next(record))
    records.push_back(seen(record));
  EXPECT_EQ(step, RecordReader::Step::kEnd) << reader.why();
  EXPECT_EQ(static_cast<std::int32_t>(records.size()), reader.records_count());
  if (!records.empty()) {
    EXPECT_EQ(records[0].offset, reader.first_offset().value);
  }
  return records;
}

TEST(RecordBatchTest, AProducersRecordsComeBackWithHeadersNullsAndEmpties) {
  EXPECT_THAT(records_of(tests::golden_two_records()),
              ElementsAre(Seen{0, 1700000000000, "k", "v", {"h=x"}},
                          Seen{1, 1700000000005, kNull, "", {}}));
}

TEST(RecordBatchTest, AMarkerIsARecordWhoseKeySaysCommit) {
  EXPECT_THAT(
      records_of(tests::golden_commit_marker()),
      ElementsAre(
          Seen{42, 1700000000100, std::string("\0\0\0\1", 4), std::string("\0\0\0\0\0\7", 6), {}}));
}

TEST(RecordBatchTest, ADeleteHorizonDoesNotMoveTheTimesOfRecords) {
  EXPECT_THAT(records_of(tests::golden_tombstone()),
              ElementsAre(Seen{50, 5000, "a", "x", {}}, Seen{51, 5001, "b", kNull, {}}));
}

TEST(RecordBatchTest, AnEmptiedBatchHasNoRecords) {
  EXPECT_THAT(records_of(tests::golden_empty_batch()), ElementsAre());
  EXPECT_EQ(decoded(tests::golden_empty_batch())->records().first_offset(), Offset{60});
}

TEST(RecordBatchTest, AMessageOfMagic1IsABatchOfOne) {
  EXPECT_THAT(records_of(tests::golden_v1_tombstone()),
              ElementsAre(Seen{7, 1700000000000, "k", kNull, {}}));
}

TEST(RecordBatchTest, CompressedBatchesOpenLikePlainOnes) {
  EXPECT_THAT(records_of(tests::golden_snappy()), ElementsAre(Seen{0, 100, "k", "v", {}}));
  EXPECT_THAT(records_of(tests::golden_zstd()), ElementsAre(Seen{0, 100, "k", "v", {}}));
  EXPECT_THAT(records_of(tests::golden_lz4()),
              ElementsAre(Seen{200, 9000, "k", "v", {}}, Seen{201, 9001, "k", "v", {}},
                          Seen{202, 9002, "k", "v", {}}));
}

TEST(RecordBatchTest, TheOldWrongHeaderSumOfLz4IsTakenFromMagic0) {
  EXPECT_THAT(records_of(tests::golden_lz4_magic_0()),
              ElementsAre(Seen{200, -1, "k", "v", {}}, Seen{201, -1, "k", "v", {}},
                          Seen{202, -1, "k", "v", {}}));
}

TEST(RecordBatchTest, ABadChecksumNamesWhatWasExpectedAndFound) {
  std::string entry = tests::golden_two_records();
  entry.back() ^= 1;
  const auto batch = DecodedBatch::decode(entry);
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().code, Errc::kCorrupt);
  EXPECT_THAT(batch.error().what, HasSubstr("CRC stored 0xc41f1730, computed 0x"));
}

// --- What breaks the format, under a good CRC
// ------------------------------------------------------

// A v2 batch around a records section that the test made itself.
std::string around(const std::string& section, std::int32_t records_count,
                   std::int32_t last_offset_delta, Codec codec = Codec::kNone) {
  std::string entry = tests::golden_two_records().substr(0, 61);
  compress(codec, section, entry);
  store_big_endian(entry.data() + 8, static_cast<std::int32_t>(entry.size() - 12));
  store_big_endian(entry.data() + 21, static_cast<std::int16_t>(codec));
  store_big_endian(entry.data() + 23, last_offset_delta);
  store_big_endian(entry.data() + 57, records_count);
  store_big_endian(entry.data() + 17, crc32c(Bytes(entry).substr(21)));
  return entry;
}

// How reading ends: "" where it goes well, else the reason.
std::string fault_in(const std::string& entry, const DecodeLimits& limits = {}) {
  const auto batch = DecodedBatch::decode(entry, limits);
  if (!batch) return batch.error().what;
  RecordReader reader = (*batch)->records();
  Record record;
  RecordReader::Step step = reader.next(record);
  while (step == RecordReader::Step::kRecord) step = reader.next(record);
  if (step == RecordReader::Step::kEnd) return "";
  EXPECT_EQ(reader.next(record), RecordReader::Step::kCorrupt) << "the cursor stays there";
  EXPECT_NE(reader.why(), "");
  return reader.why();
}

// length 7: attributes, timestamp delta 0, offset delta 0, key "k", value null, no headers
const std::string kRecord = tests::unhex("0e000000026b0100");

TEST(RecordBatchTest, ARecordMustFillItsLengthExactly) {
  EXPECT_EQ(fault_in(around(kRecord, 1, 0)), "");
  for (const char* broken : {
           "0c000000026b0100",    // one byte short
           "10000000026b010000",  // one byte over
           "7e000000026b0100",    // past the section
           "01000000026b0100",    // negative
           "0e000000046b0100",    // the key reaches over the value's length
           "0e000000036b0100",    // a length of -2
           "0e000000026b0102",    // a header that isn't there
           "0e000000026b0101",    // -1 headers
           "ffffffff7f0000",      // 2^31 - 1 and nothing behind it
           "8080808080800000",    // a number without an end
           "",
       })
    EXPECT_NE(fault_in(around(tests::unhex(broken), 1, 0)), "") << broken;
}

TEST(RecordBatchTest, HeadersMustBeThereAndTheirKeysMayNotBeNull) {
  const auto with_headers = [](const std::string& headers) {
    const std::string body = tests::unhex("000000026b01" + headers);
    std::string section;
    append_varint(section, static_cast<std::int32_t>(body.size()));
    return fault_in(around(section + body, 1, 0));
  };
  EXPECT_EQ(with_headers("02026802780"
                         "0")
                .substr(0, 6),
            "record")
      << "a byte too many";
  EXPECT_EQ(with_headers("0202680278"), "");
  EXPECT_EQ(with_headers("02026801"), "") << "a null value";
  EXPECT_EQ(with_headers("020000"), "") << "empty key, empty value";
  EXPECT_NE(with_headers("020100"), "") << "a null key";
  EXPECT_NE(with_headers("0402680278"), "") << "one header of two";
  EXPECT_NE(with_headers("feffffff0f"), "") << "2^31 - 1 headers";
}

TEST(RecordBatchTest, TheCountInTheHeaderIsKeptToBothWays) {
  const std::string second = tests::unhex("0e000002026b0100");
  EXPECT_EQ(fault_in(around(kRecord + second, 2, 1)), "");
  EXPECT_THAT(fault_in(around(kRecord, 2, 1)), HasSubstr("record 1 of 2"));
  EXPECT_THAT(fault_in(around(kRecord + second, 1, 1)), HasSubstr("8 bytes follow"));
  EXPECT_THAT(fault_in(around(kRecord + second, 1, 1, Codec::kZstd)), HasSubstr("8 bytes follow"));
}

TEST(RecordBatchTest, OffsetsAscendAndStayWithinTheBatch) {
  const std::string second = tests::unhex("0e000002026b0100");
  EXPECT_THAT(fault_in(around(second + kRecord, 2, 1)), HasSubstr("offset delta 0 is out of"));
  EXPECT_THAT(fault_in(around(kRecord + kRecord, 2, 1)), HasSubstr("offset delta 0 is out of"));
  EXPECT_THAT(fault_in(around(tests::unhex("0e000008026b0100"), 1, 3)),
              HasSubstr("offset delta 4 is out of"));
  EXPECT_THAT(fault_in(around(tests::unhex("0e000001026b0100"), 1, 3)),
              HasSubstr("offset delta -1 is out of"));
}

TEST(RecordBatchTest, CodecsThatNoKafkaKnowsAreUnsupported) {
  for (const int codec : {5, 6, 7}) {
    std::string entry = around(kRecord, 1, 0);
    store_big_endian(entry.data() + 21, static_cast<std::int16_t>(codec));
    store_big_endian(entry.data() + 17, crc32c(Bytes(entry).substr(21)));
    const auto batch = DecodedBatch::decode(entry);
    ASSERT_FALSE(batch);
    EXPECT_EQ(batch.error().code, Errc::kUnsupported);
  }
}

TEST(RecordBatchTest, ABatchLargerThanTheLimitIsRefused) {
  DecodeLimits limits;
  limits.decompressed_bytes = 1000;
  for (const Codec codec : {Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    BatchBuilder::Options options;
    options.codec = codec;
    BatchBuilder builder(options);
    builder.add({1}, kNull, std::string(100000, 'x'));
    const auto batch = DecodedBatch::decode(builder.build(), limits);
    ASSERT_FALSE(batch);
    EXPECT_EQ(batch.error().code, Errc::kTooLarge);
  }
}

TEST(RecordBatchTest, CutAnywhereABatchIsRefused) {
  for (const std::string& entry : tests::golden_batches())
    for (std::size_t size = 0; size < entry.size(); ++size) {
      const auto batch = DecodedBatch::decode(entry.substr(0, size));
      ASSERT_FALSE(batch) << size;
      EXPECT_EQ(batch.error().code, Errc::kCorrupt);
    }
}

// With the checksum made good again, only the format itself can tell: nothing may crash or run on,
// and what is given stays within the batch.
TEST(RecordBatchTest, FlippedBytesUnderAGoodSumAreHarmless) {
  for (const std::string& golden : tests::golden_batches()) {
    for (std::size_t at = 16; at < golden.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string entry = golden;
        entry[at] = static_cast<char>(entry[at] ^ (1 << bit));
        BatchHeader header;
        if (parse_batch_header(entry, header, nullptr) != HeaderStatus::kOk) continue;
        store_big_endian(entry.data() + (header.is_v2() ? 17 : 12),
                         compute_batch_crc(header, entry));
        const auto batch = DecodedBatch::decode(entry);
        if (!batch) continue;
        RecordReader reader = (*batch)->records();
        Record record;
        std::int32_t count = 0;
        for (; reader.next(record) == RecordReader::Step::kRecord; ++count) {
          EXPECT_GE(record.offset, reader.first_offset());
          EXPECT_LE(record.offset, (*batch)->header().last_offset);
          (void)seen(record);
        }
        EXPECT_LE(count, reader.records_count());
      }
    }
  }
}

TEST(RecordBatchTest, TimesAndSequencesWrapAsKafkasDo) {
  BatchBuilder::Options options;
  options.producer_id = 1;
  options.base_sequence = std::numeric_limits<std::int32_t>::max();
  BatchBuilder builder(options);
  builder.add({std::numeric_limits<std::int64_t>::max()}, kNull, "a");
  builder.add({-1}, kNull, "b");
  const auto batch = decoded(builder.build());
  RecordReader reader = batch->records();
  Record record;
  ASSERT_EQ(reader.next(record), RecordReader::Step::kRecord);
  EXPECT_EQ(record.sequence, std::numeric_limits<std::int32_t>::max());
  ASSERT_EQ(reader.next(record), RecordReader::Step::kRecord);
  EXPECT_EQ(record.sequence, 0);
  EXPECT_EQ(record.timestamp, TimestampMs{-1});

  // A time of 2^63 - 1 and a delta of 10: no overflow that the sanitizer would see.
  std::string entry = around(tests::unhex("0e001400026b0100"), 1, 0);
  store_big_endian(entry.data() + 27, std::numeric_limits<std::int64_t>::max());
  store_big_endian(entry.data() + 17, crc32c(Bytes(entry).substr(21)));
  EXPECT_EQ(fault_in(entry), "");
}

// --- Round trips
// -----------------------------------------------------------------------------------

std::string random_bytes(std::mt19937_64& random) {
  // Lengths at which a varint grows are met often.
  constexpr std::size_t kEdges[] = {0, 1, 63, 64, 65, 8191, 8192, 8193, 70000};
  const std::size_t size =
      random() % 40 == 0 ? kEdges[random() % std::size(kEdges)] : random() % 30;
  std::string bytes(size, '\0');
  const bool text = random() % 2 == 0;
  for (char& byte : bytes) byte = static_cast<char>(text ? 'a' + random() % 4 : random());
  return bytes;
}

std::optional<std::string> random_nullable(std::mt19937_64& random) {
  if (random() % 5 == 0) return std::nullopt;
  return random_bytes(random);
}

std::optional<Bytes> view(const std::optional<std::string>& bytes) {
  if (!bytes) return std::nullopt;
  return *bytes;
}

TEST(RecordBatchTest, WhateverIsBuiltIsReadBackThroughEveryCodec) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  BatchBuilder builder;
  for (int round = 0; round < 400; ++round) {
    BatchBuilder::Options options;
    options.codec = static_cast<Codec>(random() % 5);
    options.base_offset = {static_cast<std::int64_t>(random() >> (1 + random() % 62)) / 2};
    if (random() % 4 == 0) options.delete_horizon = TimestampMs{1800000000000};
    builder.start(options);
    std::vector<Seen> written;
    Offset offset = options.base_offset;
    for (auto left = 1 + random() % 50; left > 0; --left) {
      Seen next{offset.value, 0, random_nullable(random), random_nullable(random), {}};
      next.timestamp =
          random() % 10 == 0 ? -1 : 1700000000000 + static_cast<std::int64_t>(random() % 100000000);
      std::vector<std::pair<std::string, std::optional<std::string>>> headers;
      for (auto count = random() % 4 == 0 ? random() % 4 : 0; count > 0; --count)
        headers.emplace_back(random_bytes(random), random_nullable(random));
      std::vector<RecordHeader> views;
      for (const auto& [key, value] : headers) {
        views.push_back({key, view(value)});
        next.headers.push_back(value ? key + "=" + *value : key);
      }
      builder.add_at(offset, {next.timestamp}, view(next.key), view(next.value), views);
      written.push_back(std::move(next));
      offset = offset + 1 + static_cast<std::int64_t>(random() % 8 == 0 ? random() % 100000 : 0);
    }
    ASSERT_EQ(records_of(builder.build()), written) << "round " << round;
  }
}

TEST(RecordBatchTest, ASeekComesBackToAnyRecord) {
  for (const Codec codec : {Codec::kNone, Codec::kLz4}) {
    BatchBuilder::Options options;
    options.codec = codec;
    BatchBuilder builder(options);
    for (int i = 0; i < 20; ++i) builder.add({i}, std::to_string(i), "v");
    const auto batch = decoded(builder.build());
    RecordReader reader = batch->records();
    std::vector<std::uint32_t> positions;
    Record record;
    for (int i = 0; i < 20; ++i) {
      positions.push_back(reader.record_position());
      ASSERT_EQ(reader.next(record), RecordReader::Step::kRecord);
    }
    for (int i = 19; i >= 0; --i) {
      reader.seek(positions[static_cast<std::size_t>(i)], i);
      EXPECT_EQ(reader.ordinal(), i);
      ASSERT_EQ(reader.next(record), RecordReader::Step::kRecord);
      EXPECT_EQ(record.offset, Offset{i});
      EXPECT_EQ(record.key, std::to_string(i));
    }
  }
}

TEST(RecordBatchTest, ASeekToNowhereIsFoundOut) {
  BatchBuilder builder;
  builder.add({1}, "key", "value");
  const auto batch = decoded(builder.build());
  RecordReader reader = batch->records();
  Record record;
  reader.seek(std::numeric_limits<std::uint32_t>::max(), 0);
  EXPECT_EQ(reader.next(record), RecordReader::Step::kCorrupt);
  reader.seek(0, 17);
  EXPECT_EQ(reader.next(record), RecordReader::Step::kCorrupt) << "nothing read, all counted";
}

TEST(RecordBatchTest, ADecodedBatchKeepsWhatItNeedsAndSaysHowMuch) {
  BatchBuilder::Options options;
  options.codec = Codec::kGzip;
  BatchBuilder builder(options);
  builder.add({1}, kNull, std::string(100000, 'x'));
  const auto batch = decoded(builder.build());
  EXPECT_GE(batch->memory_bytes(), 100000U);
  EXPECT_LE(batch->memory_bytes(), 102000U);
}

// --- Magic 0 and 1
// ---------------------------------------------------------------------------------

constexpr Codec kLegacyCodecs[] = {Codec::kGzip, Codec::kSnappy, Codec::kLz4};

TEST(LegacyBatchTest, PlainMessagesOfEitherMagic) {
  EXPECT_THAT(records_of(tests::legacy_message(0, 7, {"k", "v", 5})),
              ElementsAre(Seen{7, -1, "k", "v", {}}));
  EXPECT_THAT(records_of(tests::legacy_message(1, 7, {kNull, "", 5})),
              ElementsAre(Seen{7, 5, kNull, "", {}}));
  const auto batch = decoded(tests::legacy_message(1, 7, {kNull, "", 5}, 8));
  RecordReader reader = batch->records();
  Record record;
  ASSERT_EQ(reader.next(record), RecordReader::Step::kRecord);
  EXPECT_EQ(record.timestamp_type, TimestampType::kLogAppendTime);
  EXPECT_EQ(reader.next(record), RecordReader::Step::kEnd);
}

TEST(LegacyBatchTest, WrappersOfEitherMagicThroughEveryCodec) {
  const std::vector<tests::LegacyRecord> records = {
      {"a", "1", 100}, {kNull, kNull, 90}, {"", "", 110}};
  for (const Codec codec : kLegacyCodecs) {
    tests::LegacyWrapper wrapper;
    wrapper.codec = codec;
    wrapper.first_offset = 40;
    wrapper.magic = 0;
    EXPECT_THAT(records_of(tests::legacy_batch(wrapper, records)),
                ElementsAre(Seen{40, -1, "a", "1", {}}, Seen{41, -1, kNull, kNull, {}},
                            Seen{42, -1, "", "", {}}));
    wrapper.magic = 1;
    EXPECT_THAT(records_of(tests::legacy_batch(wrapper, records)),
                ElementsAre(Seen{40, 100, "a", "1", {}}, Seen{41, 90, kNull, kNull, {}},
                            Seen{42, 110, "", "", {}}));
  }
}

TEST(LegacyBatchTest, AppendTimeOfTheWrapperCountsForAll) {
  tests::LegacyWrapper wrapper;
  wrapper.append_time = true;
  EXPECT_THAT(records_of(tests::legacy_batch(wrapper, {{"a", "1", 100}, {"b", "2", 900}})),
              ElementsAre(Seen{0, 900, "a", "1", {}}, Seen{1, 900, "b", "2", {}}));
}

TEST(LegacyBatchTest, AWrapperAtOffset0OfOldLibrdkafkaCountsFrom0) {
  tests::LegacyWrapper wrapper;
  wrapper.wrapper_offset = 0;
  EXPECT_THAT(records_of(tests::legacy_batch(wrapper, {{"a", "1", 1}, {"b", "2", 2}})),
              ElementsAre(Seen{0, 1, "a", "1", {}}, Seen{1, 2, "b", "2", {}}));
}

TEST(LegacyBatchTest, RelativeOffsetsMayHaveGapsAfterCompaction) {
  const std::string inner =
      tests::legacy_message(1, 2, {"a", "1", 1}) + tests::legacy_message(1, 5, {"b", "2", 2});
  const std::string entry = tests::legacy_wrapper({}, 105, 2, inner);
  EXPECT_THAT(records_of(entry),
              ElementsAre(Seen{102, 1, "a", "1", {}}, Seen{105, 2, "b", "2", {}}));
}

TEST(LegacyBatchTest, AnInnerMessageIsReadByItsOwnMagic) {
  tests::LegacyWrapper wrapper;
  wrapper.inner_magic = 0;
  EXPECT_THAT(records_of(tests::legacy_batch(wrapper, {{"a", "1", 100}})),
              ElementsAre(Seen{0, -1, "a", "1", {}}));
  wrapper.magic = 0;
  wrapper.inner_magic = 1;
  EXPECT_THAT(records_of(tests::legacy_batch(wrapper, {{"a", "1", 100}})),
              ElementsAre(Seen{0, 100, "a", "1", {}}));
}

TEST(LegacyBatchTest, ALastMessageThatIsCutOffIsDropped) {
  const std::string whole = tests::legacy_message(1, 0, {"a", "1", 1});
  const std::string next = tests::legacy_message(1, 1, {"b", "2", 2});
  for (std::size_t size = 0; size < next.size(); ++size) {
    const std::string entry = tests::legacy_wrapper({}, 7, 1, whole + next.substr(0, size));
    EXPECT_THAT(records_of(entry), ElementsAre(Seen{7, 1, "a", "1", {}})) << size;
  }
}

TEST(LegacyBatchTest, WhatAWrapperMayNotHold) {
  const auto message = [](std::int64_t offset) {
    return tests::legacy_message(1, offset, {"a", "1", 1});
  };
  EXPECT_THAT(fault_in(tests::legacy_wrapper({}, 7, 1, "")), HasSubstr("without messages"));
  EXPECT_THAT(fault_in(tests::legacy_wrapper({}, 7, 1, message(8))), HasSubstr("inner offset 8"));
  EXPECT_THAT(fault_in(tests::legacy_wrapper({}, 7, 1, message(1) + message(1))),
              HasSubstr("inner offset 1 after 1"));
  EXPECT_THAT(fault_in(tests::legacy_wrapper({}, 7, 1, std::string(40, '\0'))),
              HasSubstr("an inner message of 0 bytes"));
  EXPECT_THAT(fault_in(tests::legacy_wrapper({}, 7, 1, tests::legacy_message(2, 0, {"a", "", 1}))),
              HasSubstr("fields do not fit"));
  EXPECT_THAT(fault_in(tests::legacy_wrapper({}, 7, 1, tests::legacy_batch({}, {{"a", "", 1}}))),
              HasSubstr("a compressed message inside"));
  std::string flipped = message(0);
  flipped.back() ^= 1;
  EXPECT_THAT(fault_in(tests::legacy_wrapper({}, 7, 1, flipped)), HasSubstr("CRC stored"));
  EXPECT_THAT(fault_in(tests::legacy_message(1, 7, {kNull, kNull, 1}, 1)), HasSubstr("null"));
  EXPECT_THAT(fault_in(tests::legacy_message(1, 7, {kNull, "v", 1}, 4)), HasSubstr("codec 4"));
}

}  // namespace
}  // namespace offsetfs::storage
