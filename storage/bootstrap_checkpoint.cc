#include "storage/bootstrap_checkpoint.h"

#include <array>
#include <string_view>

#include "storage/batch_builder.h"
#include "storage/byte_reader.h"
#include "storage/varint.h"

namespace offsetfs::storage {
namespace {

enum RecordType : std::uint8_t { kTopic = 2, kPartition = 3, kConfig = 4, kFeatureLevel = 12 };
constexpr std::int16_t kSnapshotHeader = 3;
constexpr std::int16_t kSnapshotFooter = 4;

struct Feature {
  std::string_view name;
  std::int16_t level;
};
constexpr Feature kFeatures[] = {
    {"metadata.version", 30}, {"eligible.leader.replicas.version", 1},
    {"group.version", 1},     {"share.version", 1},
    {"streams.version", 1},   {"transaction.version", 2},
};

// A raft node refuses batches beyond 8 MiB.
constexpr std::size_t kBatchBytes = 1 << 20;

class FlexibleWriter {
 public:
  FlexibleWriter(RecordType type, std::uint8_t version) {
    for (const std::uint8_t field : {std::uint8_t{1}, std::uint8_t{type}, version})
      append_uvarint(bytes_, field);
  }
  template <std::integral T>
  FlexibleWriter& integer(T value) {
    std::array<char, sizeof(T)> at;
    store_big_endian(at.data(), value);
    bytes_.append(at.data(), at.size());
    return *this;
  }
  FlexibleWriter& string(std::string_view text) {
    count(text.size());
    bytes_ += text;
    return *this;
  }
  FlexibleWriter& uuid(const Uuid& uuid) {
    for (const auto byte : uuid.bytes) bytes_ += static_cast<char>(byte);
    return *this;
  }
  FlexibleWriter& count(std::size_t elements) {  // of a string or an array
    append_uvarint(bytes_, static_cast<std::uint32_t>(elements + 1));
    return *this;
  }
  Bytes finish() {  // no tags
    bytes_ += '\0';
    return bytes_;
  }

 private:
  std::string bytes_;
};

class Snapshot {
 public:
  explicit Snapshot(TimestampMs now) : now_(now) {}

  void control(std::int16_t type, Bytes value) {
    std::array<char, 4> key{};
    store_big_endian(key.data() + 2, type);
    BatchBuilder::Options options = next_options();
    options.is_control = true;
    builder_.start(options);
    builder_.add(now_, Bytes(key.data(), key.size()), value);
    take();
  }
  void data(Bytes value) {
    if (!is_open_) builder_.start(next_options());
    is_open_ = true;
    builder_.add(now_, std::nullopt, value);
    if (builder_.size_bytes() >= kBatchBytes) end_data();
  }
  void end_data() {
    if (is_open_) take();
    is_open_ = false;
  }
  std::string take_bytes() { return std::move(bytes_); }

 private:
  BatchBuilder::Options next_options() const {
    BatchBuilder::Options options;
    options.base_offset = next_;
    options.leader_epoch = LeaderEpoch{0};
    return options;
  }
  void take() {
    next_ = next_ + builder_.records_count();
    const auto batch = builder_.finish();
    bytes_.append(batch.data(), batch.size());
  }

  const TimestampMs now_;
  BatchBuilder builder_;
  bool is_open_ = false;
  Offset next_{};
  std::string bytes_;
};

void write_topic(Snapshot& snapshot, const BootstrapTopic& topic, std::int32_t node_id,
                 const Uuid& directory_id) {
  constexpr std::int8_t kTopicResource = 2;
  snapshot.data(FlexibleWriter(kTopic, 0).string(topic.name).uuid(topic.topic_id).finish());
  for (const auto& [name, value] : topic.settings)
    snapshot.data(FlexibleWriter(kConfig, 0)
                      .integer(kTopicResource)
                      .string(topic.name)
                      .string(name)
                      .string(value)
                      .finish());
  for (const auto& partition : topic.partitions)
    snapshot.data(FlexibleWriter(kPartition, 1)
                      .integer(partition.partition)
                      .uuid(topic.topic_id)
                      .count(1)
                      .integer(node_id)  // replicas
                      .count(1)
                      .integer(node_id)  // in sync
                      .count(0)
                      .count(0)
                      .integer(node_id)  // leader
                      .integer(partition.leader_epoch.value)
                      .integer(std::int32_t{0})
                      .count(1)
                      .uuid(directory_id)
                      .finish());
}

}  // namespace

std::string render_bootstrap_checkpoint(std::span<const BootstrapTopic> topics,
                                        std::int32_t node_id, const Uuid& directory_id,
                                        TimestampMs now) {
  Snapshot snapshot(now);
  std::array<char, 11> header{};
  store_big_endian(header.data() + 2, now.value);
  snapshot.control(kSnapshotHeader, {header.data(), header.size()});
  for (const auto& feature : kFeatures)
    snapshot.data(
        FlexibleWriter(kFeatureLevel, 0).string(feature.name).integer(feature.level).finish());
  for (const auto& topic : topics) write_topic(snapshot, topic, node_id, directory_id);
  snapshot.end_data();
  const std::array<char, 3> footer{};
  snapshot.control(kSnapshotFooter, {footer.data(), footer.size()});
  return snapshot.take_bytes();
}

}  // namespace offsetfs::storage
