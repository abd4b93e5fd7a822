// Writes large partition logs for the benchmarks, as a broker would leave them: uncompressed (or
// not) batches of the size asked for, rolled segments, sparse indexes by Kafka's rule.
//
//   make_log DIRECTORY [topic=T] [partitions=P] [records=N] [record_bytes=B] [batch_bytes=B]
//            [segment_bytes=B] [segment_records=N] [codec=none|gzip|snappy|lz4|zstd]
//            [value=words|json]
//
// DIRECTORY/T-0 ... T-(P-1) get N records each. A record of B bytes is B bytes of the batch, its
// own lengths and deltas included; its key is null. Times count a millisecond a record.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/batch_builder.h"
#include "storage/codec.h"
#include "storage/segment_files.h"

namespace offsetfs {
namespace {

using storage::Bytes;
using storage::SegmentFile;

constexpr std::int64_t kFirstTime = 1'700'000'000'000;
constexpr std::int64_t kIndexIntervalBytes = 4096;
constexpr std::size_t kRecordOverhead = 10;  // length 2, attributes, time delta 1-2, offset delta
                                             // 1-2, null key 1, value length 2, no headers 1

struct Plan {
  std::string directory;
  std::string topic = "bench";
  std::int64_t partitions = 1;
  std::int64_t records = 1'000'000;
  std::size_t record_bytes = 215;
  std::size_t batch_bytes = 16384;
  std::int64_t segment_bytes = 1LL << 30;
  std::int64_t segment_records = INT64_MAX;
  storage::Codec codec = storage::Codec::kNone;
  bool json_values = false;
};

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "make_log: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

template <class Number>
void append_big_endian(std::string& out, Number number) {
  for (int shift = static_cast<int>(sizeof number) * 8 - 8; shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(number >> shift & 0xff));
}

void write_file(const std::string& path, Bytes content) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0 || ::write(fd, content.data(), content.size()) != static_cast<ssize_t>(content.size()))
    give_up(path);
  ::close(fd);
}

// One segment as it is written. Kafka's LogSegment.append puts an index entry before a batch once
// more than index.interval.bytes went by since the last one; a roll adds the last time entry.
class SegmentWriter {
 public:
  SegmentWriter(const std::string& directory, std::int64_t base_offset)
      : stem_(directory + "/"), base_offset_(base_offset) {
    const std::string path = name(SegmentFile::kLog);
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd_ < 0) give_up(path);
  }
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  std::int64_t size_bytes() const { return position_; }

  void append(Bytes batch, std::int64_t last_offset, std::int64_t max_timestamp) {
    if (since_entry_ > kIndexIntervalBytes) {
      append_big_endian(index_, static_cast<std::int32_t>(last_offset - base_offset_));
      append_big_endian(index_, static_cast<std::int32_t>(position_));
      add_time_entry(max_timestamp, last_offset);
      since_entry_ = 0;
    }
    pending_.append(batch);
    if (pending_.size() > kFlushBytes) flush();
    position_ += static_cast<std::int64_t>(batch.size());
    since_entry_ += static_cast<std::int64_t>(batch.size());
    last_offset_ = last_offset;
    max_timestamp_ = max_timestamp;
  }

  void close() {
    flush();
    ::close(fd_);
    if (max_timestamp_ > last_time_entry_) add_time_entry(max_timestamp_, last_offset_);
    write_file(name(SegmentFile::kOffsetIndex), index_);
    write_file(name(SegmentFile::kTimeIndex), timeindex_);
  }

 private:
  static constexpr std::size_t kFlushBytes = 4U << 20;

  std::string name(SegmentFile file) const {
    storage::SegmentFileName name;
    name.base_offset = {base_offset_};
    name.file = file;
    return stem_ + storage::segment_file_name(name);
  }
  void add_time_entry(std::int64_t timestamp, std::int64_t offset) {
    append_big_endian(timeindex_, timestamp);
    append_big_endian(timeindex_, static_cast<std::int32_t>(offset - base_offset_));
    last_time_entry_ = timestamp;
  }
  void flush() {
    for (Bytes left = pending_; !left.empty();) {
      const ssize_t wrote = ::write(fd_, left.data(), left.size());
      if (wrote < 0) give_up(name(SegmentFile::kLog));
      left.remove_prefix(static_cast<std::size_t>(wrote));
    }
    pending_.clear();
  }

  const std::string stem_;
  const std::int64_t base_offset_;
  int fd_ = -1;
  std::int64_t position_ = 0;
  std::int64_t since_entry_ = 0;
  std::int64_t last_offset_ = -1;
  std::int64_t max_timestamp_ = -1;
  std::int64_t last_time_entry_ = -1;
  std::string pending_, index_, timeindex_;
};

// Text that looks like a producer's: words, or a small JSON object whose quotes must be escaped.
class Values {
 public:
  Values(std::size_t size, bool json) : size_(size), json_(json) {}

  Bytes next(std::int64_t offset) {
    value_.clear();
    if (json_) value_ = "{\"id\":" + std::to_string(offset) + ",\"text\":\"";
    const std::size_t end = json_ && size_ > 2 ? size_ - 2 : size_;
    while (value_.size() < end) {
      state_ = state_ * 6364136223846793005U + 1442695040888963407U;
      value_.append("w").append(std::to_string(state_ >> 55)).append(" ");
    }
    value_.resize(end);
    if (json_) value_ += "\"}";
    value_.resize(size_);
    return value_;
  }

 private:
  const std::size_t size_;
  const bool json_;
  std::uint64_t state_ = 42;
  std::string value_;
};

void write_partition(const Plan& plan, const std::string& directory) {
  if (::mkdir(directory.c_str(), 0755) != 0) give_up(directory);
  Values values(plan.record_bytes > kRecordOverhead ? plan.record_bytes - kRecordOverhead : 0,
                plan.json_values);
  storage::BatchBuilder builder;
  std::int64_t offset = 0;
  while (offset < plan.records) {
    SegmentWriter segment(directory, offset);
    const std::int64_t base_offset = offset;
    while (offset < plan.records && offset - base_offset < plan.segment_records &&
           segment.size_bytes() + static_cast<std::int64_t>(plan.batch_bytes) <=
               plan.segment_bytes) {
      storage::BatchBuilder::Options options;
      options.codec = plan.codec;
      options.base_offset = {offset};
      options.leader_epoch = {0};
      builder.start(options);
      do {
        builder.add({kFirstTime + offset}, std::nullopt, values.next(offset));
        ++offset;
      } while (offset < plan.records && offset - base_offset < plan.segment_records &&
               builder.size_bytes() + plan.record_bytes <= plan.batch_bytes);
      const auto batch = builder.finish();
      segment.append({batch.data(), batch.size()}, offset - 1, kFirstTime + offset - 1);
    }
    segment.close();
  }
}

storage::Codec codec_or_end(const std::string& name) {
  if (const auto codec = storage::codec_named(name)) return *codec;
  std::fprintf(stderr, "make_log: no codec %s\n", name.c_str());
  std::exit(2);
}

Plan plan_of(int argc, char** argv) {
  std::map<std::string, std::string> given;
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto equals = argument.find('=');
    given[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  const auto number = [&](const char* name, auto& into) {
    if (given.contains(name))
      into = static_cast<std::remove_reference_t<decltype(into)>>(std::stoll(given[name]));
  };
  Plan plan;
  plan.directory = argv[1];
  if (given.contains("topic")) plan.topic = given["topic"];
  number("partitions", plan.partitions);
  number("records", plan.records);
  number("record_bytes", plan.record_bytes);
  number("batch_bytes", plan.batch_bytes);
  number("segment_bytes", plan.segment_bytes);
  number("segment_records", plan.segment_records);
  if (given.contains("codec")) plan.codec = codec_or_end(given["codec"]);
  plan.json_values = given["value"] == "json";
  return plan;
}

}  // namespace
}  // namespace offsetfs

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: make_log DIRECTORY [NAME=VALUE ...]; see the top of make_log.cc\n");
    return 2;
  }
  const auto plan = offsetfs::plan_of(argc, argv);
  if (::mkdir(plan.directory.c_str(), 0755) != 0 && errno != EEXIST)
    offsetfs::give_up(plan.directory);
  for (std::int64_t partition = 0; partition < plan.partitions; ++partition)
    offsetfs::write_partition(plan,
                              plan.directory + "/" + plan.topic + "-" + std::to_string(partition));
  return 0;
}
