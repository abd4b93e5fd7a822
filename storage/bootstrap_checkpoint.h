#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/log_config.h"
#include "storage/units.h"
#include "storage/uuid.h"

namespace offsetfs::storage {

// `bootstrap.checkpoint`: what a KRaft node's metadata log begins with. The controller reads it at
// its very first start, while its metadata log is empty, and never again.
//
//   file   := header_batch  data_batch+  footer_batch     magic 2, offsets from 0, leader epoch 0
//   header := control record SNAPSHOT_HEADER, footer := SNAPSHOT_FOOTER     (control_record.h)
//   data   := null key, value := frame_version: uv (1)  type: uv  version: uv  fields  tags
//     2  Topic v0         name: string  topic_id: uuid
//     3  Partition v1     partition: i32  topic_id: uuid  replicas, isr, removing, adding: i32[]
//                         leader: i32  leader_epoch: i32  partition_epoch: i32  directories: uuid[]
//     4  Config v0        resource_type: i8 (2: a topic)  resource: string  name: string
//                         value: string
//     12 FeatureLevel v0  name: string  level: i16
//
// in the flexible encoding (flexible_reader.h). Without the Topic and Partition records a broker
// takes a partition's directory for a stray.
// Source: Kafka 4.3.1, BootstrapDirectory, Formatter, the schemas of its metadata module.

struct BootstrapPartition {
  std::int32_t partition = 0;
  LeaderEpoch leader_epoch{};  // not below those in its log
};
struct BootstrapTopic {
  std::string name;
  Uuid topic_id;
  ConfigMap settings;
  std::vector<BootstrapPartition> partitions;
};

// Features are those that `kafka-storage format` of 4.3.1 writes; the one replica of every
// partition is on the node.
std::string render_bootstrap_checkpoint(std::span<const BootstrapTopic> topics,
                                        std::int32_t node_id, const Uuid& directory_id,
                                        TimestampMs now);

}  // namespace offsetfs::storage
