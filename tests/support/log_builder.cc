#include "tests/support/log_builder.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include <fcntl.h>
#include <unistd.h>

#include "storage/byte_reader.h"
#include "storage/check.h"
#include "storage/record_batch.h"
#include "storage/unique_fd.h"
#include "tests/support/legacy_builder.h"

namespace offsetfs::tests {
namespace {

using storage::BatchBuilder;
using storage::BatchHeader;
using storage::RecordHeader;

template <class T>
void append(std::string& out, T value) {
  out.append(sizeof value, '\0');
  storage::store_big_endian(out.data() + out.size() - sizeof value, value);
}

std::string twenty_digits(std::int64_t offset) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%020lld", static_cast<long long>(offset));
  return digits;
}

std::optional<storage::Bytes> view(const std::optional<std::string>& bytes) {
  if (!bytes) return std::nullopt;
  return *bytes;
}

void add(BatchBuilder& builder, storage::Offset offset, const TestRecord& record,
         std::int64_t timestamp) {
  std::vector<RecordHeader> headers;
  for (const auto& [key, value] : record.headers) headers.push_back({key, view(value)});
  builder.add_at(offset, {timestamp}, view(record.key), view(record.value), headers);
}

// Grows or shrinks the file in place, and leaves the bytes that stay untouched.
void write_in_place(const std::string& path, const std::string& content, std::int64_t size) {
  const storage::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  CHECK(fd);
  const std::string before = read_file(path);
  const auto common = static_cast<std::size_t>(
      std::mismatch(before.begin(), before.end(), content.begin(), content.end()).second -
      content.begin());
  std::size_t done = common;
  while (done < content.size()) {
    const ssize_t written =
        ::pwrite(fd.get(), content.data() + done, content.size() - done, static_cast<off_t>(done));
    CHECK(written > 0);
    done += static_cast<std::size_t>(written);
  }
  // Only where it is needed: truncation to the same size would still touch the file's time.
  if (std::filesystem::file_size(path) != static_cast<std::uintmax_t>(size)) {
    CHECK(::ftruncate(fd.get(), size) == 0);
  }
}

}  // namespace

TestRecord keyed(std::string key, std::string value) {
  return {std::optional(std::move(key)), std::optional(std::move(value))};
}
TestRecord tombstone(std::string key) { return {std::optional(std::move(key)), std::nullopt}; }

LogBuilder::LogBuilder(std::string partition_dir) : dir_(std::move(partition_dir)) {}

LogBuilder& LogBuilder::codec(storage::Codec codec) {
  codec_ = codec;
  return *this;
}

LogBuilder& LogBuilder::leader_epoch(std::int32_t epoch) {
  leader_epoch_ = epoch;
  return *this;
}

LogBuilder& LogBuilder::offset(std::int64_t next) {
  CHECK(next >= next_offset_);
  if (segments_.size() == 1 && segments_[0].log.empty()) segments_[0].base_offset = next;
  next_offset_ = next;
  return *this;
}

LogBuilder& LogBuilder::clock(std::int64_t next_ms) {
  clock_ms_ = next_ms;
  return *this;
}

LogBuilder& LogBuilder::append_time(bool on) {
  append_time_ = on;
  return *this;
}

LogBuilder& LogBuilder::producer(std::int64_t id, std::int16_t epoch) {
  producer_id_ = id;
  producer_epoch_ = epoch;
  return *this;
}

LogBuilder& LogBuilder::index_interval_bytes(std::int64_t bytes) {
  index_interval_bytes_ = bytes;
  return *this;
}

LogBuilder& LogBuilder::batch(const std::vector<TestRecord>& records) {
  return append_batch(records, false);
}

LogBuilder& LogBuilder::batch(std::initializer_list<TestRecord> records) {
  return append_batch(records, false);
}

LogBuilder& LogBuilder::transactional_batch(const std::vector<TestRecord>& records) {
  CHECK(producer_id_ >= 0);
  open_transactions_.emplace(producer_id_, next_offset_);
  return append_batch(records, true);
}

LogBuilder& LogBuilder::commit(std::int64_t producer_id) {
  return append_marker(producer_id, true);
}
LogBuilder& LogBuilder::abort(std::int64_t producer_id) {
  return append_marker(producer_id, false);
}

LogBuilder& LogBuilder::emptied_batch(std::int64_t offsets) {
  CHECK(offsets > 0);
  BatchBuilder::Options emptied = options();
  emptied.last_offset = storage::Offset{next_offset_ + offsets - 1};
  emptied.max_timestamp = storage::TimestampMs{tick()};
  return raw(BatchBuilder(emptied).build());
}

LogBuilder& LogBuilder::legacy_batch(int magic, const std::vector<TestRecord>& records) {
  std::vector<LegacyRecord> legacy;
  for (const TestRecord& record : records)
    legacy.push_back({record.key, record.value, record.timestamp_ms.value_or(tick())});
  if (codec_ != storage::Codec::kNone) {
    LegacyWrapper wrapper;
    wrapper.magic = magic;
    wrapper.codec = codec_;
    wrapper.first_offset = next_offset_;
    wrapper.append_time = append_time_ && magic == 1;
    return raw(tests::legacy_batch(wrapper, legacy));
  }
  for (const LegacyRecord& record : legacy)
    raw(legacy_message(magic, next_offset_, record, append_time_ && magic == 1 ? 8 : 0));
  return *this;
}

LogBuilder& LogBuilder::fill(int batches, int records, std::size_t value_bytes) {
  for (int i = 0; i < batches; ++i) {
    std::vector<TestRecord> content;
    for (int j = 0; j < records; ++j) {
      std::string value = "record ";
      value += std::to_string(next_offset_ + j);
      value.resize(value_bytes, '.');
      content.emplace_back(std::move(value));
    }
    batch(content);
  }
  return *this;
}

LogBuilder& LogBuilder::raw(const std::string& entry) {
  BatchHeader header;
  if (parse_batch_header(entry, header, nullptr) == storage::HeaderStatus::kOk) {
    append_entry(entry, header);
  } else {
    segments_.back().log += entry;
  }
  return *this;
}

LogBuilder& LogBuilder::roll() {
  Segment& sealed = segments_.back();
  if (sealed.max_timestamp > sealed.last_time_entry) add_time_entry(sealed, sealed.timeindex);
  segments_.emplace_back().base_offset = next_offset_;
  return *this;
}

LogBuilder& LogBuilder::living(std::int64_t preallocated_index_bytes) {
  preallocated_index_bytes_ = preallocated_index_bytes;
  return *this;
}

LogBuilder& LogBuilder::without(const std::string& extension) {
  segments_.back().without.push_back(extension);
  return *this;
}

LogBuilder& LogBuilder::with_leader_epoch_checkpoint() {
  leader_epoch_checkpoint_ = true;
  return *this;
}

LogBuilder& LogBuilder::chop_bytes(std::size_t count) {
  std::string& log = segments_.back().log;
  CHECK(count <= log.size());
  log.resize(log.size() - count);
  return *this;
}

LogBuilder& LogBuilder::zero_tail(std::size_t count) {
  segments_.back().log.append(count, '\0');
  return *this;
}

LogBuilder& LogBuilder::garbage_tail(const std::string& bytes) {
  segments_.back().log += bytes;
  return *this;
}

LogBuilder& LogBuilder::flip_byte(std::int64_t position, int mask) {
  std::string& log = segments_.back().log;
  const auto size = static_cast<std::int64_t>(log.size());
  if (position < 0) position += size;
  CHECK(position >= 0 && position < size);
  char& byte = log[static_cast<std::size_t>(position)];
  byte = static_cast<char>(byte ^ mask);
  return *this;
}

LogBuilder& LogBuilder::drop_oldest() {
  CHECK(segments_.size() > 1);
  const std::string stem = dir_ + "/" + twenty_digits(segments_.front().base_offset);
  for (const char* extension : {".log", ".index", ".timeindex", ".txnindex"})
    std::filesystem::remove(stem + extension);
  segments_.erase(segments_.begin());
  return *this;
}

std::string LogBuilder::build() {
  std::filesystem::create_directories(dir_);
  for (const Segment& segment : segments_) write(segment, &segment == &segments_.back());
  if (leader_epoch_checkpoint_) {
    std::string text = "0\n" + std::to_string(leader_epochs_.size()) + "\n";
    for (const LeaderEpochStart& entry : leader_epochs_)
      text.append(std::to_string(entry.epoch))
          .append(" ")
          .append(std::to_string(entry.start_offset))
          .append("\n");
    write_file(dir_ + "/leader-epoch-checkpoint", text);
  }
  return dir_;
}

std::string LogBuilder::path(const std::string& extension) const {
  return dir_ + "/" + twenty_digits(base_offset()) + extension;
}
std::string LogBuilder::log_path() const { return path(".log"); }

BatchBuilder::Options LogBuilder::options() const {
  BatchBuilder::Options options;
  options.codec = codec_;
  options.base_offset = {next_offset_};
  options.leader_epoch = {leader_epoch_};
  options.producer_id = producer_id_;
  if (producer_id_ >= 0) {
    const auto sequence = next_sequence_.find(producer_id_);
    options.producer_epoch = producer_epoch_;
    options.base_sequence = sequence == next_sequence_.end() ? 0 : sequence->second;
  }
  return options;
}

LogBuilder& LogBuilder::append_batch(const std::vector<TestRecord>& records, bool transactional) {
  CHECK(!records.empty());
  BatchBuilder::Options batch_options = options();
  batch_options.is_transactional = transactional;
  BatchBuilder builder(batch_options);
  storage::Offset offset{next_offset_};
  for (const TestRecord& record : records) {
    if (record.offset) offset = {*record.offset};
    const std::int64_t timestamp = record.timestamp_ms ? *record.timestamp_ms : tick();
    add(builder, offset, record, timestamp);
    offset = offset + 1;
  }
  if (producer_id_ >= 0) {
    const std::int64_t next = batch_options.base_sequence + (offset.value - next_offset_);
    next_sequence_[producer_id_] =
        static_cast<std::int32_t>(next & std::numeric_limits<std::int32_t>::max());
  }
  const std::span<char> bytes = builder.finish();
  if (append_time_) storage::assign_append_time(bytes, {tick()});
  return raw(std::string(bytes.data(), bytes.size()));
}

LogBuilder& LogBuilder::append_marker(std::int64_t producer_id, bool is_commit) {
  storage::TransactionMarker marker;
  marker.is_commit = is_commit;
  marker.producer_id = producer_id;
  marker.producer_epoch = producer_epoch_;
  marker.timestamp = {tick()};
  const std::int64_t offset = next_offset_;
  raw(storage::build_marker(marker, {offset}, {leader_epoch_}));
  if (!is_commit) note_aborted(producer_id, offset);
  open_transactions_.erase(producer_id);
  return *this;
}

// entry := version: i16 = 0  producer id: i64  first offset: i64  last offset: i64 (the marker's)
//          last stable offset: i64
void LogBuilder::note_aborted(std::int64_t producer_id, std::int64_t marker_offset) {
  const auto opened = open_transactions_.find(producer_id);
  CHECK(opened != open_transactions_.end());
  std::int64_t last_stable_offset = marker_offset + 1;
  for (const auto& [other, first_offset] : open_transactions_)
    if (other != producer_id) last_stable_offset = std::min(last_stable_offset, first_offset);
  std::string& txnindex = segments_.back().txnindex;
  append(txnindex, std::int16_t{0});
  append(txnindex, producer_id);
  append(txnindex, opened->second);
  append(txnindex, marker_offset);
  append(txnindex, last_stable_offset);
}

// Kafka's LogSegment.append, step by step: the batch itself is not counted before the test, so the
// first batch of a segment never gets an entry.
void LogBuilder::append_entry(const std::string& entry, const BatchHeader& header) {
  Segment& segment = segments_.back();
  const auto position = static_cast<std::int64_t>(segment.log.size());
  segment.log += entry;
  segment.positions.push_back(position);
  next_offset_ = header.next_offset().value;
  if (leader_epochs_.empty() || leader_epochs_.back().epoch < header.leader_epoch.value)
    leader_epochs_.push_back({header.leader_epoch.value, header.base_offset.value});

  if (header.max_timestamp.value > segment.max_timestamp) {
    segment.max_timestamp = header.max_timestamp.value;
    segment.max_timestamp_offset = header.last_offset.value;
  }
  if (segment.since_index_entry > index_interval_bytes_) {
    append(segment.index,
           static_cast<std::int32_t>(header.last_offset.value - segment.base_offset));
    append(segment.index, static_cast<std::int32_t>(position));
    if (segment.max_timestamp > segment.last_time_entry) {
      add_time_entry(segment, segment.timeindex);
      segment.last_time_entry = segment.max_timestamp;
    }
    segment.since_index_entry = 0;
  }
  segment.since_index_entry += static_cast<std::int64_t>(entry.size());
}

void LogBuilder::add_time_entry(const Segment& segment, std::string& timeindex) {
  append(timeindex, segment.max_timestamp);
  append(timeindex, static_cast<std::int32_t>(segment.max_timestamp_offset - segment.base_offset));
}

void LogBuilder::write(const Segment& segment, bool active) const {
  const std::string stem = dir_ + "/" + twenty_digits(segment.base_offset);
  const bool living = active && preallocated_index_bytes_.has_value();
  const auto put = [&](const char* extension, const std::string& content,
                       std::int64_t entry_bytes) {
    if (std::count(segment.without.begin(), segment.without.end(), extension) != 0) return;
    auto size = static_cast<std::int64_t>(content.size());
    if (living && entry_bytes != 0)
      size = std::max(size, *preallocated_index_bytes_ / entry_bytes * entry_bytes);
    write_in_place(stem + extension, content, size);
  };
  std::string timeindex = segment.timeindex;
  if (active && !living && segment.max_timestamp > segment.last_time_entry)
    add_time_entry(segment, timeindex);
  put(".log", segment.log, 0);
  put(".index", segment.index, 8);
  put(".timeindex", timeindex, 12);
  if (!segment.txnindex.empty()) put(".txnindex", segment.txnindex, 0);
}

void flip_byte_of_file(const std::string& path, std::int64_t position, int mask) {
  std::string content = read_file(path);
  if (position < 0) position += static_cast<std::int64_t>(content.size());
  char& byte = content.at(static_cast<std::size_t>(position));
  byte = static_cast<char>(byte ^ mask);
  write_in_place(path, content, static_cast<std::int64_t>(content.size()));
}

void chop_file(const std::string& path, std::int64_t bytes) {
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path));
  CHECK(bytes <= size);
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(size - bytes));
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  CHECK(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << content;
  CHECK(out.flush());
}

}  // namespace offsetfs::tests
