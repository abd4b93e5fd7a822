#pragma once

#include <optional>
#include <string>

#include "storage/log_config.h"
#include "storage/result.h"
#include "storage/topic_partition.h"
#include "storage/uuid.h"

namespace offsetfs::storage {

// A log that is to be made.
struct NewLog {
  std::string log_dir;  // made if it is not there, in a directory that is
  TopicPartition topic_partition;
  std::optional<Uuid>
      topic_id;         // nothing: that of the topic's other partitions there, or a new one
  ConfigMap settings;   // topic settings, checked (check_setting)
  bool force = false;   // even under a broker's meta.properties
  bool broker = false;  // log_dir becomes a node of its own (broker_dir.h); one that is stays so
};

// Makes the directory of a partition as a broker makes it, holding one empty segment, and with its
// settings beside it (log_settings.h): to be opened by LogWriter, or by a broker that knows the
// topic's id. The path of it. In a node of ours that was never started the log becomes one of the
// node's. A creation that was cut short, by an error or a kill -9 at any moment, is finished by the
// next.
//
// kInvalid: no such name or settings; kBusy: another writer holds the log directory, or the log is
// there already; kReadOnly: a broker's directory; kIo. Each with a cure.
Result<std::string> create_log(const NewLog& log);

// The same node, of the logs that are in `log_dir` already. That is made if it is not there.
Result<void> make_broker_of(const std::string& log_dir);

// What Kafka says of a topic's name; kInvalid.
Result<void> check_topic_name(const std::string& topic);

}  // namespace offsetfs::storage
