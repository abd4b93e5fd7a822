#include "tests/support/log_model.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "storage/byte_reader.h"
#include "storage/check.h"
#include "tests/support/log_builder.h"

namespace offsetfs::tests {

namespace {

using storage::Codec;

std::int64_t pick(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

bool one_in(std::mt19937_64& random, int n) { return pick(random, 1, n) == 1; }

class Writer {
 public:
  Writer(const std::string& dir, std::mt19937_64& random, const RandomLog& shape)
      : random_(random), shape_(shape), builder_(dir) {
    builder_.index_interval_bytes(pick(random_, 200, 6000)).offset(pick(random_, 0, 50));
    model_.start = builder_.next_offset();
  }

  LogModel write() {
    for (int segment = 0; segment < shape_.segments; ++segment) {
      if (segment > 0) builder_.roll();
      magic_ = shape_.legacy && one_in(random_, 3) ? static_cast<int>(pick(random_, 0, 1)) : 2;
      for (int i = 0; i < shape_.batches_a_segment; ++i) add_something();
    }
    if (one_in(random_, 2)) builder_.living(static_cast<std::int64_t>(64 << 10));
    builder_.build();
    model_.end = builder_.next_offset();
    return std::move(model_);
  }

 private:
  void add_something() {
    if (!model_.batches.empty() && one_in(random_, 8))
      builder_.offset(builder_.next_offset() + pick(random_, 1, 9));
    const std::size_t before = builder_.positions().size();
    if (magic_ == 2 && one_in(random_, 12)) {
      add_marker();
    } else if (magic_ == 2 && one_in(random_, 12)) {
      builder_.emptied_batch(pick(random_, 1, 5));
    } else {
      add_records();
    }
    note_batches(before);
  }

  void add_marker() {
    const std::int64_t offset = builder_.next_offset();
    const std::int64_t time = next_time();
    builder_.clock(time).commit(7);
    model_.entries[offset] = {"", time, true, model_.batches.size()};
  }

  void add_records() {
    static constexpr Codec kCodecs[] = {Codec::kNone,   Codec::kNone, Codec::kGzip,
                                        Codec::kSnappy, Codec::kLz4,  Codec::kZstd};
    const Codec codec = kCodecs[pick(random_, 0, magic_ == 2 ? 5 : 4)];
    builder_.codec(codec);
    std::vector<TestRecord> records;
    std::int64_t offset = builder_.next_offset();
    const std::int64_t count = pick(random_, 1, 12);
    for (std::int64_t i = 0; i < count; ++i) {
      if (i > 0 && magic_ == 2 && one_in(random_, 10)) offset += pick(random_, 1, 3);
      std::string value = "record " + std::to_string(offset) + " ";
      value.append(static_cast<std::size_t>(pick(random_, 0, shape_.value_bytes)), '.');
      for (char& c : value) {
        if (c == '.') c = static_cast<char>('a' + pick(random_, 0, 25));
      }
      const std::int64_t time = next_time();
      const bool alone = magic_ != 2 && codec == Codec::kNone;  // each message is an entry
      model_.entries[offset] = {value, magic_ == 0 ? -1 : time, false,
                                model_.batches.size() + (alone ? static_cast<std::size_t>(i) : 0)};
      records.push_back(TestRecord(std::move(value)).at_time(time).at_offset(offset));
      ++offset;
    }
    magic_ == 2 ? builder_.batch(records) : builder_.legacy_batch(magic_, records);
  }

  void note_batches(std::size_t before) {
    const std::vector<std::int64_t>& positions = builder_.positions();
    for (std::size_t i = before; i < positions.size(); ++i) {
      const std::int64_t end = i + 1 < positions.size() ? positions[i + 1] : builder_.log_bytes();
      storage::BatchHeader header;
      CHECK(storage::parse_batch_header(
                storage::Bytes(builder_.log()).substr(static_cast<std::size_t>(positions[i])),
                header, nullptr) == storage::HeaderStatus::kOk);
      model_.batches.push_back({builder_.log_path(), positions[i], end - positions[i],
                                builder_.base_offset(), header.magic, header.max_timestamp.value,
                                false});
    }
  }

  std::int64_t next_time() {
    clock_ += pick(random_, 0, 20);
    if (shape_.ordered_times) return clock_;
    if (one_in(random_, 10)) return clock_ + pick(random_, 0, 3000);
    return one_in(random_, 10) ? clock_ - pick(random_, 0, 3000) : clock_;
  }

  std::mt19937_64& random_;
  const RandomLog& shape_;
  LogBuilder builder_;
  LogModel model_;
  int magic_ = 2;
  std::int64_t clock_ = LogBuilder::kFirstTime;
};

std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

template <class T>
void append(std::string& out, T value) {
  out.append(sizeof value, '\0');
  storage::store_big_endian(out.data() + out.size() - sizeof value, value);
}

// Entries that ascend, and say things that aren't so.
std::string plausible_lies(int entry_bytes, std::int64_t log_bytes, std::mt19937_64& random) {
  std::string bytes;
  std::int64_t offset = 0;
  std::int64_t position = 0;
  std::int64_t time = LogBuilder::kFirstTime;
  while (position < log_bytes) {
    offset += pick(random, 1, 30);
    position += pick(random, 1, 3000);
    time += pick(random, 1, 500);
    if (entry_bytes == 12) append(bytes, time);
    append(bytes, static_cast<std::int32_t>(offset));
    if (entry_bytes == 8) append(bytes, static_cast<std::int32_t>(position));
  }
  return bytes;
}

}  // namespace

std::optional<std::int64_t> LogModel::visible_from(std::int64_t offset) const {
  for (auto at = entries.lower_bound(std::max(offset, start)); at != entries.end(); ++at) {
    if (!at->second.control) return at->first;
  }
  return std::nullopt;
}

std::optional<std::int64_t> LogModel::last_visible() const {
  for (auto at = entries.rbegin(); at != entries.rend() && at->first >= start; ++at) {
    if (!at->second.control) return at->first;
  }
  return std::nullopt;
}

std::optional<std::int64_t> LogModel::first_at_time(std::int64_t time) const {
  for (auto at = entries.lower_bound(start); at != entries.end(); ++at) {
    if (at->second.timestamp >= time) return at->first;
  }
  return std::nullopt;
}

LogModel write_random_log(const std::string& partition_dir, std::mt19937_64& random,
                          const RandomLog& shape) {
  return Writer(partition_dir, random, shape).write();
}

std::string damage_index(const std::string& path, int entry_bytes, std::int64_t log_bytes,
                         std::mt19937_64& random) {
  std::string bytes = read_bytes(path);
  const auto size = static_cast<std::int64_t>(bytes.size());
  switch (pick(random, 0, 8)) {
    case 0: std::filesystem::remove(path); return "removed";
    case 1:
      bytes.resize(static_cast<std::size_t>(pick(random, 0, size)));
      write_bytes(path, bytes);
      return "cut to " + std::to_string(bytes.size()) + " bytes";
    case 2: write_bytes(path, bytes + std::string(10000, '\0')); return "padded";
    case 3: write_bytes(path, std::string(bytes.size(), '\0')); return "zeros";
    case 4:
      for (char& c : bytes) c = static_cast<char>(pick(random, -128, 127));
      write_bytes(path, bytes);
      return "noise";
    case 5: write_bytes(path, plausible_lies(entry_bytes, log_bytes, random)); return "lies";
    case 6:
      write_bytes(path, bytes + plausible_lies(entry_bytes, log_bytes, random));
      return "lies behind the truth";
    case 7: {  // each entry says what the next should: batches begin there, but too late
      bytes.erase(0, std::min<std::size_t>(bytes.size(), entry_bytes == 8 ? 4 : 8));
      write_bytes(path, bytes);
      return "shifted by a field";
    }
    default:
      // True positions under offsets that are too low: a search would begin behind its target.
      for (std::size_t i = 0; i + static_cast<std::size_t>(entry_bytes) <= bytes.size();
           i += static_cast<std::size_t>(entry_bytes)) {
        const std::size_t field = entry_bytes == 8 ? i : i + 8;
        const auto offset = storage::load_big_endian<std::int32_t>(bytes.data() + field);
        storage::store_big_endian(bytes.data() + field, offset / 2);
      }
      write_bytes(path, bytes);
      return "offsets halved";
  }
}

void damage_batch(LogModel& model, std::size_t batch, std::mt19937_64& random) {
  LogModel::Batch& damaged = model.batches[batch];
  // Inside of a wrapper whole messages lie: with its length gone they would be found. And the last
  // batch of a file with a length beyond it is a torn tail.
  const bool last = batch + 1 == model.batches.size() ||
                    model.batches[batch + 1].segment_base_offset != damaged.segment_base_offset;
  const bool length = damaged.magic == 2 && !last && one_in(random, 3);
  const std::int64_t at = damaged.position + (length ? pick(random, 8, 11)
                                                     : pick(random, damaged.magic == 2 ? 21 : 18,
                                                            damaged.size_bytes - 1));
  std::fstream file(damaged.file, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(at);
  const char before = static_cast<char>(file.get());
  file.seekp(at);
  file.put(static_cast<char>(before ^ static_cast<char>(1 << pick(random, 0, 7))));
  damaged.damaged = true;
}

}  // namespace offsetfs::tests
