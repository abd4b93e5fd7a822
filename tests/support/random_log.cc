#include "tests/support/random_log.h"

#include <algorithm>

#include "storage/batch_builder.h"
#include "storage/codec.h"
#include "storage/crc32c.h"

namespace offsetfs::tests {

using storage::BatchBuilder;
using storage::Bytes;
using storage::Codec;
using storage::Offset;
using storage::Position;
using storage::TimestampMs;

namespace {

constexpr std::int64_t kFirstTime = 1'700'000'000'000;

std::size_t pick(std::mt19937_64& random, std::size_t below) { return random() % below; }

void append_big_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(value >> shift));
}

void append_nullable(std::string& out, const std::optional<Bytes>& bytes) {
  append_big_endian(out, bytes ? bytes->size() : 0xffffffffU, 4);
  if (bytes) out.append(*bytes);
}

std::string message(int magic, std::int64_t offset, int attributes, TimestampMs timestamp,
                    const std::optional<Bytes>& key, const std::optional<Bytes>& value) {
  std::string body;
  body.push_back(static_cast<char>(magic));
  body.push_back(static_cast<char>(attributes));
  if (magic == 1) append_big_endian(body, static_cast<std::uint64_t>(timestamp.value), 8);
  append_nullable(body, key);
  append_nullable(body, value);
  std::string out;
  append_big_endian(out, static_cast<std::uint64_t>(offset), 8);
  append_big_endian(out, body.size() + 4, 4);
  append_big_endian(out, storage::crc32(body), 4);
  return out + body;
}

std::string random_text(std::mt19937_64& random, std::size_t size) {
  std::string text(size, '\0');
  for (char& c : text) c = "abcdefgh\n\t\"\\ 0123"[pick(random, 18)];
  return text;
}

std::optional<std::string> random_value(std::mt19937_64& random) {
  switch (pick(random, 40)) {
    case 0: return std::nullopt;
    case 1: return std::string();
    case 2: return random_text(random, 5000);
    case 3: return std::string(pick(random, 8) == 0 ? 300'000 : 70'000, 'x');
    default: return random_text(random, pick(random, 300));
  }
}

std::vector<PlainRecord> random_records(std::mt19937_64& random, Offset next, bool gaps) {
  std::vector<PlainRecord> records(1 + pick(random, 30));
  for (PlainRecord& record : records) {
    if (gaps) next = next + static_cast<std::int64_t>(pick(random, 3));
    record.offset = next;
    next = next + 1;
    record.timestamp = {kFirstTime + static_cast<std::int64_t>(pick(random, 1'000'000))};
    if (pick(random, 3) != 0) record.key = random_text(random, pick(random, 20));
    record.value = random_value(random);
  }
  return records;
}

void append_entry(RandomLog& log, const std::string& bytes, Offset last_offset,
                  std::vector<PlainRecord> records) {
  log.entries.push_back({Position{static_cast<std::int64_t>(log.bytes.size())}, bytes.size(),
                         log.records.size(), last_offset});
  log.bytes += bytes;
  log.next_offset = last_offset + 1;
  log.records.insert(log.records.end(), std::make_move_iterator(records.begin()),
                     std::make_move_iterator(records.end()));
}

void append_batch(RandomLog& log, std::mt19937_64& random, Codec codec) {
  const Offset base = log.next_offset;
  BatchBuilder::Options options;
  options.codec = codec;
  options.base_offset = base;
  if (pick(random, 4) == 0) options.delete_horizon = TimestampMs{kFirstTime - 5000};
  auto records = random_records(random, base, pick(random, 2) == 0);
  Offset last = records.back().offset;
  if (pick(random, 3) == 0) {
    last = last + 3;
    options.last_offset = last;
  }
  BatchBuilder builder(options);
  for (const PlainRecord& record : records)
    builder.add_at(record.offset, record.timestamp, record.key, record.value);
  append_entry(log, builder.build(), last, std::move(records));
}

void append_marker(RandomLog& log) {
  const Offset offset = log.next_offset;
  PlainRecord record;
  record.offset = offset;
  record.control = true;
  append_entry(log,
               storage::build_marker({.producer_id = 7, .timestamp = {kFirstTime}}, offset,
                                     storage::LeaderEpoch{1}),
               offset, {record});
}

void append_emptied(RandomLog& log) {
  BatchBuilder::Options options;
  options.base_offset = log.next_offset;
  options.last_offset = options.base_offset + 4;
  options.max_timestamp = TimestampMs{kFirstTime};
  BatchBuilder builder(options);
  append_entry(log, builder.build(), *options.last_offset, {});
}

void append_wrapper(RandomLog& log, std::mt19937_64& random, int magic, Codec codec) {
  auto records = random_records(random, log.next_offset, false);
  std::string inner;
  std::int64_t relative = 0;
  TimestampMs max_timestamp = storage::kNoTimestamp;
  for (const PlainRecord& record : records) {
    inner += message(magic, magic == 1 ? relative++ : record.offset.value, 0, record.timestamp,
                     record.key, record.value);
    max_timestamp = std::max(max_timestamp, record.timestamp);
  }
  std::string compressed;
  storage::compress(codec, inner, compressed,
                    magic == 0 ? storage::Lz4HeaderSum::kOldWrong : storage::Lz4HeaderSum::kRight);
  // Offset 0 would mean that the wrapper was never given one.
  const Offset last = records.back().offset;
  append_entry(log,
               message(magic, last.value, static_cast<int>(codec), max_timestamp, std::nullopt,
                       Bytes(compressed)),
               last, std::move(records));
}

}  // namespace

void append_message(RandomLog& log, int magic, const PlainRecord& record) {
  append_entry(log,
               message(magic, record.offset.value, 0, record.timestamp, record.key, record.value),
               record.offset, {record});
}

void append_random(RandomLog& log, std::mt19937_64& random, std::size_t entries) {
  for (std::size_t i = 0; i < entries; ++i) {
    switch (pick(random, 12)) {
      case 0: append_marker(log); break;
      case 1: append_emptied(log); break;
      case 2: append_batch(log, random, Codec::kGzip); break;
      case 3: append_batch(log, random, Codec::kSnappy); break;
      case 4: append_batch(log, random, Codec::kLz4); break;
      case 5: append_batch(log, random, Codec::kZstd); break;
      case 6: append_message(log, 0, random_records(random, log.next_offset, false).front()); break;
      case 7: append_message(log, 1, random_records(random, log.next_offset, false).front()); break;
      case 8: append_wrapper(log, random, 0, Codec::kGzip); break;
      case 9: append_wrapper(log, random, 1, Codec::kLz4); break;
      default: append_batch(log, random, Codec::kNone); break;
    }
  }
}

RandomLog make_random_log(std::mt19937_64& random, std::size_t entries, Offset first_offset) {
  RandomLog log;
  log.next_offset = first_offset;
  append_random(log, random, entries);
  return log;
}

}  // namespace offsetfs::tests
